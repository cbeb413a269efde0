"""What is refused because nobody would wait for it, or has the memory."""

MOST_DEVICES = 4_000_000  # of a cluster; the arrays of one algorithm then take about two gigabytes
MOST_CLUSTER_LINKS = 16 * MOST_DEVICES  # as many as a torus of eight dimensions has
MOST_MESSAGES = 50_000_000  # that are played one by one; they take about a minute
MOST_RECORDED = 2_500_000  # messages of which each is written down, with its spans
MOST_RELAYS = 20_000_000_000  # messages that share no link, of which a second plays hundreds of millions
MOST_LINKS = 1 << 26  # of all ways that are asked for at once; they take half a gigabyte


class TooLarge(ValueError):
    """What was asked for would take more time or memory than there is; it has not begun."""

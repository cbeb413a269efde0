"""What is refused because it would take too long, or more memory than there is."""

MOST_DEVICES = 4_000_000  # of a cluster; the arrays of one algorithm then take about two gigabytes
MOST_CLUSTER_LINKS = 16 * MOST_DEVICES  # as many as a torus of eight dimensions has
MOST_MESSAGES = 50_000_000  # that are played one by one; they take about a minute
MOST_RECORDED = 2_500_000  # messages that are recorded one by one, with their spans
MOST_RELAYS = 20_000_000_000  # messages that share no link; hundreds of millions are played in a second
MOST_LINKS = 1 << 26  # of all routes that are asked for at once; these take half a gigabyte


class TooLarge(ValueError):
    """What was asked for would take too much time or memory, and has not begun."""

"""Who sends to whom when replicas exchange values: each sends once and receives once."""

from collections.abc import Sequence


def sources_of(pairs: Sequence[tuple[int, int]], count: int) -> tuple[int, ...]:
    """From which replica each one gets its value; raise unless each sends once and receives once."""
    found: dict[int, int] = {}
    sending: dict[int, int] = {}
    for source, target in pairs:
        wrong = not (0 <= source < count and 0 <= target < count)
        if wrong or source in sending or target in found:
            why = (
                f"there are {count} replicas"
                if wrong
                else f"replica {source} already sends to {sending[source]}"
                if source in sending
                else f"replica {target} already receives from {found[target]}"
            )
            raise ValueError(
                f"permute() got the pair ({source}, {target}), but {why}; expected that each replica sends once and receives once. "
                f"Correct that pair; for a ring, pass [(i, (i + 1) % {count}) for i in range({count})]."
            )
        found[target], sending[source] = source, target
    if len(found) < count:
        idle = [number for number in range(count) if number not in found]
        raise ValueError(
            f"permute() got {len(found)} pairs for {count} replicas, and none whose target is {idle[0]}; expected that each "
            f"replica sends once and receives once. Add a pair for it, such as ({idle[0]}, {idle[0]})."
        )
    return tuple(found[target] for target in range(count))

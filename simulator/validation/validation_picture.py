"""Predicted against measured times, as a picture."""

import math
from collections.abc import Sequence

_SIZE, _EDGE = 560, 60
_COLOURS = {"core": "#2b6cb0", "other": "#c05621"}


def picture(points: Sequence[tuple[float, float, str]]) -> str:
    """Points on logarithmic axes, with the line on which they would be equal; given measured and predicted seconds, and a group."""
    times = [time for measured, predicted, _ in points for time in (measured, predicted)]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def place(seconds: float) -> float:
        return (math.log10(seconds) - low) / (high - low) * (_SIZE - _EDGE - 20)

    dots = [
        f'<circle cx="{_EDGE + place(measured):.1f}" cy="{_SIZE - _EDGE - place(predicted):.1f}" r="2.2" fill="{_COLOURS[group]}" '
        f'fill-opacity="0.55"/>'
        for measured, predicted, group in points
    ]
    ticks: list[str] = []
    for power in range(low, high + 1):
        at, text = place(10.0**power), _text(power)
        x, y = _EDGE + at, _SIZE - _EDGE - at
        ticks.append(f'<path class="grid" d="M{x:.1f} {_SIZE - _EDGE}V20M{_EDGE} {y:.1f}H{_SIZE - 20}"/>')
        ticks.append(f'<text x="{x:.1f}" y="{_SIZE - _EDGE + 18}" text-anchor="middle">{text}</text>')
        ticks.append(f'<text x="{_EDGE - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    end = place(10.0**high)
    style = (
        "text{font:12px sans-serif;fill:#444}.grid{stroke:#8884;fill:none}.equal{stroke:#888;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" width="{_SIZE}" role="img">',
            f"<title>Predicted and measured times of {len(points)} collectives</title><style>{style}</style>",
            *ticks,
            f'<path class="equal" d="M{_EDGE} {_SIZE - _EDGE}L{_EDGE + end:.1f} {_SIZE - _EDGE - end:.1f}"/>',
            *dots,
            f'<text x="{_SIZE / 2}" y="{_SIZE - 12}" text-anchor="middle">measured</text>',
            f'<text transform="translate(14 {_SIZE / 2}) rotate(-90)" text-anchor="middle">predicted</text>',
            f'<text x="{_EDGE + 12}" y="36"><tspan fill="{_COLOURS["core"]}">●</tspan> machines with public constants '
            f'<tspan fill="{_COLOURS["other"]}">●</tspan> others</text>',
            "</svg>",
        ]
    )


def _text(power: int) -> str:
    for unit, exponent in (("s", 0), ("ms", -3), ("us", -6)):
        if power >= exponent:
            return f"{10 ** (power - exponent)} {unit}"
    return f"1e{power} s"

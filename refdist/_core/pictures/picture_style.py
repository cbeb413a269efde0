"""How pictures look, on light and on dark pages."""

from refdist._core.base.html_tables import DARK, LIGHT

# They have a ground of their own, so that they hold in an image, too. Blue, green and violet tell what the copies of a variable
# have to do with each other; orange is for meetings, as in timelines.
_LIGHT = "--equal-edge:#2a5db0;--own-edge:#2f855a;--single-edge:#6b46c1"
_DARK = "--equal-edge:#5a8de0;--own-edge:#48a874;--single-edge:#9a76e0"
_BOTH = "--lane:#8c959f;--equal:#dbe9ff;--own:#d6f0dc;--single:#ebe2fb;--meeting:#e9a23b"
STYLE = f"""
.rd-picture{{{LIGHT};{_LIGHT};{_BOTH};font:12.5px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}}
@media (prefers-color-scheme:dark){{.rd-picture{{{DARK};{_DARK}}}}}
.rd-picture .ground{{fill:var(--ground);stroke:var(--edge)}}
.rd-picture text{{fill:var(--ink)}}
.rd-picture .title{{font-size:15px;font-weight:600}}
.rd-picture .strong{{font-weight:600}}
.rd-picture .faint{{fill:var(--faint);font-size:11px}}
.rd-picture .device{{fill:none;stroke:var(--lane)}}
.rd-picture .lane{{stroke:var(--lane);stroke-opacity:.45;stroke-dasharray:2 4}}
.rd-picture .over{{paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}}
.rd-picture .equal{{fill:var(--equal);stroke:var(--equal-edge)}}
.rd-picture .shards{{fill:var(--single);stroke:var(--single-edge)}}
.rd-picture .single{{fill:var(--single);stroke:var(--single-edge)}}
.rd-picture .own{{fill:var(--own);stroke:var(--own-edge)}}
.rd-picture .edge{{fill:var(--ground);stroke:var(--lane)}}
.rd-picture .meeting{{fill:var(--meeting)}}
.rd-picture .bar-equal{{fill:var(--equal-edge)}}
.rd-picture .bar-single,.rd-picture .bar-shards{{fill:var(--single-edge)}}
.rd-picture .bar-own{{fill:var(--own-edge)}}
.rd-picture text.in{{fill:#1f2328;font-size:11px}}
.rd-picture text.in-edge{{fill:var(--faint)}}
"""

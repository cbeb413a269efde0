"""How timelines look, on light and on dark pages."""

# Three colours that differ in lightness too, on a ground of their own: so they hold on any page, and in grey.
STYLE = """
.rd-timeline{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
.rd-timeline .ground{fill:#fff;stroke:#d0d7de}
.rd-timeline text{fill:#1f2328}
.rd-timeline .faint,.rd-timeline .tick{fill:#59636e}
.rd-timeline .tick{font-size:11px}
.rd-timeline .grid{stroke:#e3e7eb}
.rd-timeline .lane{fill:#f3f5f7}
.rd-timeline .compute{fill:#2a5db0}
.rd-timeline .collective{fill:#e9a23b}
.rd-timeline .wait{fill:#d3d9e0}
.rd-timeline .step,.rd-timeline .run{fill:#59636e;fill-opacity:.22}
.rd-timeline .label{font-size:10.5px;fill:#2b1c00}
.rd-timeline .label-compute{fill:#fff}
.rd-timeline .label-run,.rd-timeline .label-step{fill:#1f2328}
.rd-timeline .label-wait{fill:#3a434e}
.rd-timeline .arrow{stroke:#1f2328;stroke-opacity:.3}
@media (prefers-color-scheme:dark){
.rd-timeline .ground{fill:#0d1117;stroke:#30363d}
.rd-timeline text{fill:#e6edf3}
.rd-timeline .faint,.rd-timeline .tick{fill:#9198a1}
.rd-timeline .grid{stroke:#262c34}
.rd-timeline .lane{fill:#151b23}
.rd-timeline .compute{fill:#5a8de0}
.rd-timeline .collective{fill:#f2b64f}
.rd-timeline .wait{fill:#3b434e}
.rd-timeline .step,.rd-timeline .run{fill:#9198a1}
.rd-timeline .label{fill:#2b1c00}
.rd-timeline .label-compute{fill:#06101f}
.rd-timeline .label-run,.rd-timeline .label-step{fill:#e6edf3}
.rd-timeline .label-wait{fill:#c6ccd4}
.rd-timeline .arrow{stroke:#e6edf3;stroke-opacity:.4}
}
"""

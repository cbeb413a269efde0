"""How things look in notebooks: as those of refdist do."""

from refdist._core.base.html_tables import DARK, LIGHT, escaped, folded, page, table

__all__ = ["DARK", "LIGHT", "escaped", "folded", "page", "table"]

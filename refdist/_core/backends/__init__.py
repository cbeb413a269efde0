"""The seam, implemented, and the choice of one."""

"""Implementations of the seam, and the choice of one."""

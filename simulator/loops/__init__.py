"""Numba loops over plain arrays: no objects, no options."""

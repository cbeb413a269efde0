"""Collective algorithms as data, played on values."""

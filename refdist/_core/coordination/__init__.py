"""Scheduling functions on the workers of a parameter server strategy."""

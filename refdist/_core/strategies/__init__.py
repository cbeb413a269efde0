"""Strategies: a plan for each, one engine for all."""

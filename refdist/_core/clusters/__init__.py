"""Clusters and their workers, and running the workers together."""

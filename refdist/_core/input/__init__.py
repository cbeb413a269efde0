"""Pipelines of stages, and how their batches come to replicas."""

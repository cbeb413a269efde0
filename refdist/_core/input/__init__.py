"""Pipelines of stages, and how their batches reach the replicas."""

"""Programs over all replicas, written with JAX."""

"""Who the workers are, and running them together."""

"""What the API asks of a place to compute, as protocols."""

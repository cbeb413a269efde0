"""What the API asks of a backend, as protocols."""

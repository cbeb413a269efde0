"""Functions whose calls are compiled programs."""

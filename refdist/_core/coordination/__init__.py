"""Functions given to the workers of parameter servers."""

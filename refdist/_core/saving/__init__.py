"""Variables in files."""

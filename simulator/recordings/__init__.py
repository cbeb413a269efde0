"""What happened when, as data, pictures and files."""

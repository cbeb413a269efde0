"""What implements the documented namespace: one room for each layer, in the order of README.md."""

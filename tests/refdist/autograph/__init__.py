"""Python's control flow over tensors in functions."""

"""Functions of tensors, and lists of devices."""

"""Devices by name, and tensors that lie on them."""

"""Devices by name, and tensors on them."""

"""Gradients of what was computed."""

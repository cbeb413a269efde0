"""Replicas: what one knows of itself, how they meet, and values with a component for each."""

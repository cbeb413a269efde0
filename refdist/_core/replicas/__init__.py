"""Replicas: what each knows about itself, how they meet, and values with one component per replica."""

"""Python's own control flow over tensors in a `function`: what AutoGraph does."""

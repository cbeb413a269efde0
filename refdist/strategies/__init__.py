"""The strategies: for each a function that makes its plan, and a class of a few lines over it."""

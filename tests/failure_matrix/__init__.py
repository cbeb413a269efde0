"""What happens to the workers of a cluster when one of them fails: every way of failing, for each worker, measured.

`python -m tests.failure_matrix --workers 2,4` runs all of it and writes a table; CI does not, since it takes many minutes.
"""

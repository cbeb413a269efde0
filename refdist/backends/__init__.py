"""What computes: one module per backend, each an implementation of the seam."""

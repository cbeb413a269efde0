"""Workers in processes of their own, on jax.distributed."""

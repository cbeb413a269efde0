"""Real devices through JAX; the only folder that imports it."""

from refdist.backends.jax.eager import JaxBackend

__all__ = ["JaxBackend"]

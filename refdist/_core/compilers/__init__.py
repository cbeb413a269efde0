"""Programs over all replicas, written with JAX."""

from refdist._core.base.extras import require

require("jax", by="What is compiled, as under tf.function,")

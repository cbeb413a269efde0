"""Python's own control flow over tensors in a `function`: what AutoGraph does."""

from refdist._core.base.extras import require

require("jax", "malt", by="tf.function")

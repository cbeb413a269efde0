"""What to use instead of documented names that refdist does not have."""

from collections.abc import Callable
from typing import Never

_IN_REPLICAS = "in the function that strategy.run() takes, where tensors are arrays that JAX accepts"
_GRADIENTS = f"jax.grad or jax.value_and_grad {_IN_REPLICAS}"

REMEDIES = {
    "GradientTape": _GRADIENTS,
    "gradients": _GRADIENTS,
    "custom_gradient": "jax.custom_vjp",
    "stop_gradient": "jax.lax.stop_gradient",
    "hessians": "jax.hessian",
    "optimizers": "tf.keras.optimizers, or optax",
    "losses": "tf.keras.losses, or tf.nn",
    "metrics": "tf.keras.metrics",
    "initializers": "tf.keras.initializers, or numpy arrays as initial values",
    "layers": "tf.keras.layers",
    "signal": "jax.scipy.signal or jax.numpy.fft",
    "while_loop": "a Python loop, or jax.lax.while_loop in a tf.function",
    "cond": "if, or jax.lax.cond in a tf.function",
    "summary": "a logger of your choice outside of tf.function, such as tensorboardX",
    "autograph": "plain Python: tf.function does not rewrite if and for; use jax.lax.cond and jax.lax.scan",
    "TensorArray": "a Python list and tf.stack()",
    "init_scope": "code outside of tf.function; variables may be made in its first call",
    "AUTOTUNE": "tf.data.AUTOTUNE",
    "Session": "tf.compat.v1.Session",
    "math.ndtr": "jax.scipy.special.ndtr",
    "nn.ctc_loss": "optax.ctc_loss",
    "placeholder": "arguments of a function",
    "global_variables_initializer": "nothing: variables have their values at once",
}


def lacking(module: str) -> Callable[[str], Never]:
    """Make what Python asks for names that a module does not have.

    >>> lacking("math")("ndtr")
    Traceback (most recent call last):
    AttributeError: module 'refdist.math' has no attribute 'ndtr': refdist has no tf.math.ndtr; use jax.scipy.special.ndtr instead.
    """
    home, documented = (f"refdist.{module}", f"tf.{module}") if module else ("refdist", "tf")
    instead = "jax.nn" if module == "nn" else "jax.numpy or numpy"

    def missing(name: str) -> Never:
        text = f"module {home!r} has no attribute {name!r}"
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(text, name=name)
        remedy = REMEDIES.get(f"{module}.{name}" if module else name)
        remedy = f"{remedy} instead" if remedy is not None else f"what {instead} has under such a name"
        raise AttributeError(f"{text}: refdist has no {documented}.{name}; use {remedy}.", name=name)

    return missing

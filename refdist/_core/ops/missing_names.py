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
    "linalg": "jax.numpy.linalg or numpy.linalg",
    "signal": "jax.scipy.signal or jax.numpy.fft",
    "image": "jax.image",
    "einsum": "jax.numpy.einsum or numpy.einsum",
    "tensordot": "jax.numpy.tensordot or numpy.tensordot",
    "py_function": "the Python function itself, or jax.pure_callback in a tf.function",
    "numpy_function": "the Python function itself, or jax.pure_callback in a tf.function",
    "summary": "a logger of your choice outside of tf.function, such as tensorboardX",
    "debugging": "assert, or numpy.testing",
    "ragged": "padded_batch() of tf.data, and masks",
    "RaggedTensor": "padded_batch() of tf.data, and masks",
    "sparse": "tf.IndexedSlices, or jax.experimental.sparse",
    "SparseTensor": "tf.IndexedSlices, or jax.experimental.sparse",
    "init_scope": "code outside of tf.function; variables may be made in its first call",
    "dtypes": "tf.float32 and its like, which are dtypes of numpy",
    "DType": "numpy.dtype",
    "as_dtype": "numpy.dtype",
    "AUTOTUNE": "tf.data.AUTOTUNE",
    "Session": "tf.compat.v1.Session",
    "placeholder": "arguments of a function",
    "global_variables_initializer": "nothing: variables have their values at once",
    "nn.conv2d": "jax.lax.conv_general_dilated, or tf.keras.layers.Conv2D",
    "nn.dropout": "tf.keras.layers.Dropout, or a mask of jax.random.bernoulli",
    "nn.max_pool2d": "jax.lax.reduce_window, or tf.keras.layers.MaxPooling2D",
    "nn.gelu": "jax.nn.gelu",
    "nn.batch_normalization": "tf.keras.layers.BatchNormalization, or tf.nn.moments",
    "nn.embedding_lookup": "tf.gather",
    "math.top_k": "jax.lax.top_k",
    "math.erf": "jax.scipy.special.erf",
    "autograph.to_code": "tf.function, which converts the function",
    "autograph.to_graph": "tf.function, which converts the function",
    "autograph.set_verbosity": "nothing: the notes of an error say what was not converted",
    "autograph.trace": "tf.print, or print, which prints while a function is traced",
}


def lacking(module: str) -> Callable[[str], Never]:
    """Make what Python asks for names that a module does not have.

    >>> lacking("math")("erf")
    Traceback (most recent call last):
    AttributeError: module 'refdist.math' has no attribute 'erf': refdist has no tf.math.erf; use jax.scipy.special.erf instead.
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

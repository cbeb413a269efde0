"""What every library trains, as arrays of numpy: a perceptron, a small convolutional net, a block of a transformer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
CLASSES = 10
RATE = 0.05
HEADS = 4
MODELS: dict[str, dict[str, Any]] = {
    # 784-512-512-10
    "mlp": {"batch": (256, 784), "shapes": [(784, 512), (512,), (512, 512), (512,), (512, CLASSES), (CLASSES,)]},
    # Two convolutions of stride 2, and a matrix.
    "convnet": {
        "batch": (64, 28, 28, 1),
        "shapes": [(3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (7 * 7 * 32, CLASSES), (CLASSES,)],
    },
    # Attention of four heads over 32 places, and a perceptron, each behind a normalization; then the mean over places.
    "transformer": {
        "batch": (16, 32, 64),
        "shapes": [
            *[(64,), (64,), (64, 192), (64, 64)],
            *[(64,), (64,), (64, 256), (256,), (256, 64), (64,)],
            *[(64, CLASSES), (CLASSES,)],
        ],
    },
}


def start(model: str) -> list[Array]:
    """Return the parameters to begin with: small random matrices, and zeros (ones for the normalizations' scales)."""
    generator = np.random.default_rng(0)
    arrays = [
        np.zeros(shape, np.float32) if len(shape) == 1 else generator.normal(0, 0.05, shape).astype(np.float32)
        for shape in MODELS[model]["shapes"]
    ]
    if model == "transformer":
        arrays[0] += 1
        arrays[4] += 1
    return arrays


def batch(model: str, replicas: int) -> tuple[Array, Array]:
    """Return the points of a global batch that divides among replicas, and their classes."""
    generator = np.random.default_rng(1)
    rows, *shape = MODELS[model]["batch"]
    rows -= rows % replicas
    points = generator.normal(size=(rows, *shape)).astype(np.float32)
    return points, generator.integers(0, CLASSES, rows).astype(np.int32)


def layers(parameters: Sequence[Array]) -> list[tuple[Array, Array]]:
    """Return the matrix and the bias of each layer of a perceptron or a convolutional net."""
    return list(zip(parameters[::2], parameters[1::2], strict=True))

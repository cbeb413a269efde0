"""The perceptron that every library trains: 784-512-512-10, a global batch of 256, plain gradient descent."""

import itertools

import numpy as np

SIZES = [784, 512, 512, 10]
BATCH = 256
RATE = 0.1


def start():
    """A matrix and a bias for each layer."""
    generator = np.random.default_rng(0)
    layers = itertools.pairwise(SIZES)
    pairs = [(generator.normal(0, 0.05, pair).astype(np.float32), np.zeros(pair[1], np.float32)) for pair in layers]
    return [array for pair in pairs for array in pair]


def batch():
    """Points and their classes."""
    generator = np.random.default_rng(1)
    points = generator.normal(size=(BATCH, SIZES[0])).astype(np.float32)
    return points, generator.integers(0, SIZES[-1], BATCH).astype(np.int32)

"""The losses of the models for JAX; TensorFlow's are in `peers`."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from refdist_bench.peers.problems import HEADS, layers


def _cross_entropy(logits: Any, y: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


def _mlp(parameters: Sequence[Any], x: Any, y: Any) -> Any:
    *hidden, (weight, bias) = layers(parameters)
    for inner_weight, inner_bias in hidden:
        x = jax.nn.relu(x @ inner_weight + inner_bias)
    return _cross_entropy(x @ weight + bias, y)


def _convnet(parameters: Sequence[Any], x: Any, y: Any) -> Any:
    *hidden, (weight, bias) = layers(parameters)
    for kernel, inner_bias in hidden:
        x = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + inner_bias)
    return _cross_entropy(x.reshape(x.shape[0], -1) @ weight + bias, y)


def _normalized(x: Any, scale: Any, bias: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5) * scale + bias


def _transformer(parameters: Sequence[Any], x: Any, y: Any) -> Any:
    scale, shift, mix, out, second_scale, second_shift, up, up_bias, down, down_bias, weight, bias = parameters
    rows, places, width = x.shape
    three = (_normalized(x, scale, shift) @ mix).reshape(rows, places, 3, HEADS, width // HEADS)
    query, key, value = (three[:, :, index] for index in range(3))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // HEADS) ** 0.5
    seen = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value).reshape(rows, places, width)
    x = x + seen @ out
    x = x + jax.nn.relu(_normalized(x, second_scale, second_shift) @ up + up_bias) @ down + down_bias
    return _cross_entropy(x.mean(1) @ weight + bias, y)


LOSSES = {"mlp": _mlp, "convnet": _convnet, "transformer": _transformer}

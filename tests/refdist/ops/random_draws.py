"""Random operations as expressions; before each, `tf.random.set_seed(7)` is called."""

DISTRIBUTIONS = {
    "uniform": ["", ", -2.0, 5.0", ", dtype=tf.float64", ", dtype=tf.float16", ", dtype=tf.bfloat16"],
    "normal": ["", ", 2.0, 3.0", ", dtype=tf.float64", ", dtype=tf.float16"],
    "truncated_normal": ["", ", 1.0, 0.5", ", dtype=tf.float64"],
}

OTHERS = """
tf.random.uniform([5], 3, 20, tf.int32)
tf.random.uniform([5], -3, 10**12, tf.int64)
tf.random.uniform([2], maxval=10, dtype=tf.int32, seed=2)
tf.random.uniform([2], dtype=tf.int32)
tf.random.uniform([2], 0, 3, tf.int8)
tf.random.normal([2], dtype=tf.int32)
tf.random.normal([2, 2], t([0.0, 100.0]), t([1.0, 2.0]))
tf.random.uniform([0])
tf.random.uniform([])
tf.random.shuffle(t([1, 2, 3, 4, 5, 6, 7]))
[tf.random.shuffle(t([[1], [2], [3]]), seed=4) for _ in range(3)]
tf.random.categorical(t([[1.0, 2.0, 3.0]]), 6)
tf.random.categorical(t([[0.5, -1.0]]), 5, dtype=tf.int32, seed=3)
tf.random.categorical(t([1.0]), 5)
[tf.random.normal([2]) for _ in range(3)]
[tf.random.uniform([3], seed=seed) for seed in (1, 2, 1, 2**31 + 5, -1)]
[tf.random.normal([2], seed=1), tf.random.uniform([2], seed=1), tf.random.normal([3], seed=1)]
tf.random.stateless_uniform([3], [1, 2])
tf.random.stateless_uniform([3], t([1, -2], 'int64'), 5.0, 6.0)
tf.random.stateless_uniform([3], t([1, 2]), 0, 7, tf.int32)
tf.random.stateless_uniform([3], t([2**40, -5], 'int64'), None, None, tf.int64)
tf.random.stateless_uniform([3], t([1, 2]), None, None, tf.int32)
tf.random.stateless_uniform([3], t([1, 2]), None, 5, tf.int32)
tf.random.stateless_uniform([3], t([1, 2, 3]))
tf.random.stateless_uniform([3], t([1.0, 2.0]))
tf.random.stateless_normal([4, 3], t([1, 2]))
tf.random.stateless_normal([3], t([1, 2]), 1.0, t([1.0, 2.0, 3.0]))
tf.random.stateless_truncated_normal([100], t([3, 4]))
tf.random.stateless_categorical(t([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]]), 4, t([1, 2]))
tf.random.split(t([1, 2]), 3)
tf.random.fold_in(t([1, 2]), 5)
tf.random.experimental.stateless_shuffle(t([1, 2, 3, 4, 5]), [1, 2])
tf.random.create_rng_state(5, 'philox')
tf.random.create_rng_state([1, 2], 'philox')
tf.random.Generator.from_seed(1).normal([3])
tf.random.Generator.from_seed(-5).uniform([3])
tf.random.Generator.from_seed(2**70 + 3).uniform([3], 0, 100, tf.int32)
tf.random.Generator.from_seed([1, 2]).truncated_normal([3])
tf.random.Generator.from_key_counter(5, [6, 7], 'philox').normal([2], 1.0, 2.0)
[generator.normal([2]) for generator in [tf.random.Generator.from_seed(3)] * 3]
[generator.uniform([2]) for generator in tf.random.Generator.from_seed(3).split(3)]
tf.random.Generator.from_seed(1).uniform([2], None, None, tf.int32)
tf.random.Generator.from_seed(1).uniform([2], None, 3, tf.int32)
tf.random.Generator.from_state([1, 2], 'philox').key
"""

TRIED = """
tf.random.stateless_gamma([4], [1, 2], 2.0)
tf.random.stateless_gamma([4], [1, 2], 0.3)
tf.random.stateless_gamma([4], [1, 2], 1.0)
tf.random.stateless_gamma([3, 2], [1, 2], t([0.5, 7.0]), t([1.0, 2.0]))
tf.random.stateless_gamma([3], [1, 2], t([0.5, 7.0]))
tf.random.stateless_gamma([3], [1, 2], 2, dtype=tf.int32)
tf.random.gamma([3], t([0.5, 1.5]), t([2.0, 3.0]), seed=3)
[tf.random.gamma([2], 2.0) for _ in range(2)]
tf.random.stateless_poisson([40], [1, 2], 3.0)
tf.random.stateless_poisson([40], [1, 2], 15.0)
tf.random.stateless_poisson([3, 2], [1, 2], t([2.0, 30.0]), dtype=tf.float32)
[tf.random.poisson([2], t([2.0, 15.0]), seed=3) for _ in range(2)]
tf.random.stateless_binomial([40], [1, 2], 10.0, 0.3)
tf.random.stateless_binomial([40], [1, 2], 100.0, 0.6)
tf.random.stateless_binomial([2, 4], [1, 2], 10.0, t([0.0, 1.0, 0.5, 0.9]), output_dtype=tf.float32)
[generator.binomial([3], t([10.0, 20.0, 90.0]), 0.5) for generator in [tf.random.Generator.from_seed(1)] * 2]
[tf.random.categorical(t([[1.0, 2.0, 3.0]]), 6, seed=3) for _ in range(3)]
"""

EXPRESSIONS = [
    *(f"tf.random.{name}([5, 3]{options})" for name, found in DISTRIBUTIONS.items() for options in found),
    *filter(None, OTHERS.split("\n")),
    *filter(None, TRIED.split("\n")),
]

"""Operations on elements and shapes as expressions, in which `t` makes a tensor; `answers.py` records what they give."""

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int32", "int64", "int8", "uint8"]
SIGNED = ["int32", "int64", "int8"]
VALUES = {"f": "[[0.5, -1.5, 2.0], [0.25, 3.0, -0.0]]", "i": "[[1, 2, 3], [4, 0, 6]]", "s": "[[1, -2, 3], [-4, 0, 6]]"}
TRUTHS = "[[True, False], [True, True]]"


def unary(name):
    made = [f"tf.{name}(t({VALUES['f']}, '{dtype}'))" for dtype in FLOATS]
    made += [f"tf.{name}([0.5, 1.5])", f"tf.{name}(2.5)", f"tf.{name}(t([], 'float32'))"]
    made += [f"tf.{name}(t({VALUES['s']}, '{dtype}'))" for dtype in SIGNED]
    return [*made, f"tf.{name}(t({TRUTHS}))"]


def binary(name):
    made = []
    for dtype in ["float32", "float64", "bfloat16", "int32", "int64", "uint8"]:
        x = VALUES["f" if "float" in dtype else "i"]
        made += [f"tf.{name}(t({x}, '{dtype}'), t([1, 2, 3], '{dtype}'))", f"tf.{name}(t({x}, '{dtype}'), 2)"]
    made += [f"tf.{name}(t([1.5, 2.5]), 2.5)", f"tf.{name}(3, t([1, 2]))", f"tf.{name}(2.5, t([1.0, 2.5]))"]
    made += [
        f"tf.{name}([1.0, 2.0], [2.0, 2.0])",
        f"tf.{name}(t([1.0]), t([1]))",
        f"tf.{name}(t([1.0, 2.0]), t([1.0] * 3))",
    ]
    return [*made, f"tf.{name}(t({TRUTHS}), t([True, False]))", f"tf.{name}(t([1, 2]), 2.5)"]


def reduction(name):
    options = ["", ", axis=0", ", axis=-1, keepdims=True", ", axis=[0, 1]", ", keepdims=True"]
    made = [f"tf.{name}(t({VALUES['f']}, '{dtype}'){given})" for dtype in FLOATS for given in options]
    made += [f"tf.{name}(t({VALUES['i']}, '{dtype}'){given})" for dtype in INTEGERS for given in options]
    made += [f"tf.{name}(t({TRUTHS}){given})" for given in options]
    return [*made, f"tf.{name}([1.0, 3.0])", f"tf.{name}(t([1.0]), axis=1)", f"tf.{name}(t(2.0))"]


UNARY = [
    "abs",
    "sqrt",
    "exp",
    "floor",
    "round",
    "tanh",
    "sigmoid",
    "sign",
    "negative",
    "sin",
    "cos",
    "tan",
    "square",
    "math.log",
    "math.log1p",
    "math.ceil",
    "math.rsqrt",
    "math.is_nan",
    "math.is_inf",
    "math.is_finite",
]
BINARY = [
    "maximum",
    "minimum",
    "subtract",
    "multiply",
    "divide",
    "pow",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "math.floordiv",
    "math.floormod",
    "math.mod",
]
REDUCTIONS = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_any", "reduce_all"]

OTHERS = """
tf.math.log([0.0, -1.0, 2.0])
tf.logical_and(t([True, False]), True)
tf.logical_and(t([1, 0]), t([1, 1]))
tf.logical_or(t([True, False]), t([False, False]))
tf.math.logical_xor(t([True, False]), t([True, True]))
tf.logical_not(t([True, False]))
tf.logical_not(t([1, 0]))
tf.math.divide_no_nan(t([1.0, 2.0]), t([0.0, 4.0]))
tf.math.divide_no_nan(t([1.0, 2.0]), 0.0)
tf.reduce_max(t([], 'float32'))
tf.reduce_max(t([], 'int32'))
tf.reduce_min(t([[], []], 'float32'), axis=1)
tf.reduce_prod(t([], 'float32'))
tf.reduce_any([])
tf.reduce_all([])
tf.reduce_sum([])
tf.zeros_like(t([1, 2]))
tf.zeros_like(t([[1.5]], 'bfloat16'))
tf.zeros_like(t([True]))
tf.zeros_like([1.0], dtype='int32')
tf.zeros_like(['a', 'b'])
tf.ones_like(t([1, 2], 'int64'))
tf.ones_like(t([True, False]))
tf.ones_like([1, 2], dtype=tf.float32)
tf.fill([2, 3], 3)
tf.fill([2], 3.5)
tf.fill([], True)
tf.fill([2], t(2.0))
tf.fill([2], [1.0, 2.0])
tf.fill([2], 'a')
tf.reshape(t([1, 2, 3, 4]), [2, 2])
tf.reshape(t([1, 2, 3, 4]), [2, -1])
tf.reshape(t([1.0, 2.0]), -1)
tf.reshape(t([1.0]), [])
tf.reshape(t([1, 2, 3, 4]), [3])
tf.reshape(t([1, 2, 3, 4]), [3, -1])
tf.reshape(t([1, 2, 3, 4]), [-1, -1])
tf.expand_dims(t([1, 2]), 0)
tf.expand_dims(t([1, 2]), -1)
tf.expand_dims(t([1, 2]), axis=1)
tf.expand_dims(t([1, 2]), 3)
tf.squeeze(t([[[1], [2]]]))
tf.squeeze(t([[[1], [2]]]), axis=0)
tf.squeeze(t([[[1], [2]]]), axis=[0, -1])
tf.squeeze(t([[1, 2]]), axis=1)
tf.transpose(t([[1, 2], [3, 4], [5, 6]]))
tf.transpose(t([[[1, 2, 3]]]), perm=[2, 0, 1])
tf.where(t([True, False]))
tf.where(t([[0, 2], [3, 0]]))
tf.where(t([True, False]), t([1.0, 2.0]), t([3.0, 4.0]))
tf.where(t([True, False]), t([1.0, 2.0]), 0)
tf.where(t([True, False]), 0.0, t([1.0, 2.0], 'float64'))
tf.where(t([True, False]), 1.0, 2)
tf.where(t([True, False]), 1, 2)
tf.where([[True], [False]], t([1, 2]), t([3, 4]))
tf.where(t([True, False]), t([1.0, 2.0]), t([1, 2]))
tf.where(t([1, 0]), t([1.0, 2.0]), t([1.0, 2.0]))
tf.where(t([True]), x=t([1.0]))
tf.argmax(t([1.0, 3.0, 2.0]))
tf.argmax(t([[1, 5], [7, 2]]))
tf.argmax(t([[1, 5], [7, 2]]), axis=1, output_type=tf.int32)
tf.argmax(t([[1, 5], [7, 2]]), axis=-1)
tf.argmax(t([1, 5]), axis=1)
tf.argmin(t([3.0, 1.0, 2.0]))
tf.argmin(t([[1, 5], [7, 2]]), axis=1, output_type='int32')
tf.one_hot(t([0, 2, -1, 5]), 3)
tf.one_hot(t([0, 1]), 3, on_value=5, off_value=1)
tf.one_hot(t([0, 1]), 3, on_value=5.0, off_value=-1.0)
tf.one_hot(t([0, 1]), depth=3, axis=0)
tf.one_hot(t([[0, 1]]), 2, axis=1, dtype=tf.int32)
tf.one_hot(t([0, 1]), 2, dtype=tf.bool, on_value=True, off_value=False)
tf.one_hot(1, 3)
tf.gather(t([1, 2, 3]), t([0, 2, 2]))
tf.gather(t([1.0, 2.0, 3.0]), 1)
tf.gather(t([[1, 2], [3, 4]]), t([1]), axis=1)
tf.gather(t([[1, 2], [3, 4]]), t([[0, 1], [1, 0]]))
tf.gather(t([[1, 2], [3, 4]]), t([[0], [1]]), batch_dims=1)
tf.gather(t([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), t([[0, 1], [1, 1]]), axis=1, batch_dims=1)
tf.gather(t([1, 2, 3]), t([3]))
tf.gather(t([1, 2, 3]), t([-1]))
tf.split(t([1, 2, 3, 4, 5, 6]), 3)
tf.split(t([1, 2, 3, 4, 5, 6]), [1, 2, 3])
tf.split(t([1, 2, 3, 4, 5, 6]), [1, -1])
tf.split(t([[1, 2], [3, 4]]), 2, axis=1)
tf.split(t([1, 2, 3]), 2)
tf.split(t([1, 2, 3]), [1, 1])
tf.unstack(t([[1, 2], [3, 4]]))
tf.unstack(t([[1, 2], [3, 4]]), axis=1)
tf.unstack(t([[1, 2], [3, 4]]), num=3)
tf.tile(t([[1, 2]]), [2, 2])
tf.tile(t([1.0, 2.0]), t([2]))
tf.tile(t([1, 2]), [2, 1])
tf.pad(t([1, 2]), [[1, 2]])
tf.pad(t([[1.0]]), [[1, 0], [0, 1]], constant_values=5.0)
tf.pad(t([1, 2, 3]), [[2, 1]], 'REFLECT')
tf.pad(t([1, 2, 3]), [[2, 1]], mode='symmetric')
tf.pad(t([1]), [[1, 1]], 'WRAP')
tf.clip_by_value(t([-1, 0, 5]), 0, 2)
tf.clip_by_value(t([-1.0, 0.5, 5.0]), 0, 1)
tf.clip_by_value(t([-1.0, 0.5], 'float64'), clip_value_min=0.0, clip_value_max=0.25)
tf.rank(t([[1, 2]]))
tf.rank(1.0)
tf.add_n([t([1.0, 2.0]), t([3.0, 4.0]), t([5.0, 6.0])])
tf.add_n([t([1, 2])])
tf.add_n([t([1.0]), t([1.0, 2.0])])
tf.add_n([])
tf.eye(2)
tf.eye(2, 3, dtype=tf.int32)
tf.eye(2, num_columns=1, batch_shape=[2])
tf.linspace(0.0, 1.0, 5)
tf.linspace(t(-1.0), t(1.0), 3)
tf.linspace(0, 10, 5)
tf.linspace(t(1.0, 'float64'), t(2.0, 'float64'), 3)
tf.linspace(t([0.0, 1.0]), t([1.0, 3.0]), 3)
tf.round([0.5, 1.5, 2.5, -0.5])
tf.pow(t([2, 3]), t([-1, 2]))
tf.pow(t([2.0, 3.0]), t([-1.0, 0.5]))
tf.equal(t(['a', 'b']), t(['a', 'c']))
tf.math.add(t([1.0]), 2)
tf.math.reduce_std(t([[1.0, 2.0], [3.0, 5.0]]), axis=1)
tf.math.reduce_std(t([1, 2]))
tf.math.reduce_variance(t([1.0, 2.0, 4.0]))
tf.math.reduce_variance(t([[1.0, 2.0, 4.0]]), axis=1, keepdims=True)
tf.reduce_logsumexp(t([1.0, 2.0]))
tf.reduce_logsumexp(t([[1000.0, 1000.0], [0.0, 1.0]]), axis=1)
tf.math.reduce_logsumexp(t([[1.0, 2.0]]), axis=0, keepdims=True)
tf.nn.relu(t([-1.0, 2.0]))
tf.nn.relu(t([-1, 2]))
tf.nn.softmax(t([[1.0, 2.0], [1000.0, 0.0]]))
tf.nn.softmax(t([[1.0, 2.0], [3.0, 0.0]], 'float64'), axis=0)
tf.nn.softmax(t([1.0, 2.0], 'bfloat16'))
tf.nn.softmax(t([1, 2]))
tf.nn.log_softmax(t([[1.0, 2.0], [1000.0, 0.0]]))
tf.nn.sigmoid(t([-100.0, 0.0, 1.0]))
tf.nn.tanh(t([0.5]))
tf.nn.sparse_softmax_cross_entropy_with_logits(t([1, 0]), t([[1.0, 2.0], [3.0, 4.0]]))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t([2, 0], 'int64'), logits=t([[1.0, 2.0, 0.0], [3.0, 4.0, 9.0]], 'float64'))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t(1), logits=t([1.0, 2.0]))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t([1, 5]), logits=t([[1.0, 2.0], [3.0, 4.0]]))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t([[1]]), logits=t([[1.0, 2.0]]))
tf.nn.softmax_cross_entropy_with_logits(t([[1.0, 0.0], [0.5, 0.5]]), t([[1.0, 2.0], [3.0, 4.0]]))
tf.nn.softmax_cross_entropy_with_logits(labels=t([[1, 0]]), logits=t([[1.0, 2.0]]))
tf.nn.softmax_cross_entropy_with_logits(labels=t([[1.0, 0.0], [0.5, 0.5]]), logits=t([[1.0, 2.0], [3.0, 4.0]]), axis=0)
tf.nn.sigmoid_cross_entropy_with_logits(t([1.0, 0.0, 0.5]), t([1.0, -2.0, 100.0]))
tf.nn.sigmoid_cross_entropy_with_logits(labels=t([1.0]), logits=t([1.0, 2.0]))
tf.nn.l2_loss(t([[1.0, 2.0], [3.0, 4.0]]))
tf.nn.l2_loss(t([1.0, 2.0], 'float64'))
tf.nn.l2_loss(t([1, 2]))
tf.nn.moments(t([1.0, 2.0, 4.0]), [0])
tf.nn.moments(t([[1.0, 2.0], [3.0, 5.0]]), axes=[0, 1])
tf.nn.moments(t([[1.0, 2.0], [3.0, 5.0]]), axes=[0], keepdims=True)
tf.nn.compute_average_loss(t([1.0, 2.0, 3.0]))
tf.nn.compute_average_loss(t([1.0, 2.0, 3.0]), global_batch_size=6)
tf.nn.compute_average_loss(t([1.0, 2.0, 3.0]), sample_weight=[1.0, 0.0, 1.0], global_batch_size=6)
tf.nn.compute_average_loss(t([[1.0, 2.0], [3.0, 4.0]]), sample_weight=t([1.0, 0.5]))
tf.nn.compute_average_loss(t(1.0), global_batch_size=6)
tf.nn.compute_average_loss(t([1.0]), global_batch_size=0)
tf.nn.compute_average_loss(t([1.0]), global_batch_size=1.5)
tf.nn.scale_regularization_loss(t([1.0, 2.0]))
tf.nn.scale_regularization_loss(t(4.0))
"""

EXPRESSIONS = [
    *(one for name in UNARY for one in unary(name)),
    *(one for name in BINARY for one in binary(name)),
    *(one for name in REDUCTIONS for one in reduction(name)),
    *filter(None, OTHERS.split("\n")),
]

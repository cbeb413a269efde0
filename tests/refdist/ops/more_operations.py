"""Further operations as expressions, in which `t` makes a tensor: functions, indices, matrices, layers."""

FLOATS = "[[0.5, -0.25, 0.75], [0.125, 1.0, -1.0]]"
MATRIX = "[[[4.0, 1.0], [1.0, 3.0]], [[2.0, 0.5], [0.5, 5.0]]]"
IMAGE = "(np.arange(2 * 5 * 6 * 3, dtype='float32').reshape(2, 5, 6, 3) % 7 - 3) / 4"
FILTER = "(np.arange(3 * 2 * 3 * 4, dtype='float32').reshape(3, 2, 3, 4) % 5 - 2) / 2"

UNARY = """acos acosh asin asinh atan atanh cosh digamma erf erfc erfinv expm1 lgamma log_sigmoid ndtri reciprocal rint sinh
    softplus softsign"""
ACTIVATIONS = "relu6 leaky_relu elu selu gelu silu swish crelu softplus softsign"


def unary(name):
    found = [f"tf.{name}(t({FLOATS}, '{dtype}'))" for dtype in ("float32", "float64")]
    return [*found, f"tf.{name}([0.5, 0.25])", f"tf.{name}(t([True]))"]


def binary(name):
    pairs = ["t([1.5, -2.0, 0.0]), t([2.0, 0.5, 3.0])", "t([[7, -7], [7, -7]]), t([2, 3])", "t([7, 6], 'int64'), 4"]
    return [f"tf.{name}({pair})" for pair in [*pairs, "t([1.0]), t([1])", "2.0, t([0.5, 4.0])"]]


BINARY = ["math.atan2", "math.squared_difference", "math.xdivy", "math.xlogy", "truncatediv", "truncatemod"]
BINARY += ["math.multiply_no_nan", "bitwise.bitwise_and", "bitwise.bitwise_or", "bitwise.bitwise_xor"]

OTHERS = f"""
tf.math.xlogy(t([0.0, 2.0]), t([0.0, 3.0]))
tf.math.multiply_no_nan(t([np.inf, 2.0]), t([0.0, 3.0]))
tf.boolean_mask(t([1, 2, 3]), t([True, False, True]))
tf.boolean_mask(t([[1, 2], [3, 4]]), t([[True, False], [True, True]]))
tf.boolean_mask(t([[1, 2], [3, 4]]), [False, True], axis=1)
tf.boolean_mask(t([1, 2, 3]), [True, False])
tf.gather_nd(t([[1, 2], [3, 4]]), t([[0, 1], [1, 0]]))
tf.gather_nd(t([[1, 2], [3, 4]]), t([[1]]))
tf.gather_nd(t([[1, 2], [3, 4]]), t([[1], [0]]), batch_dims=1)
tf.gather_nd(t([[1, 2], [3, 4]]), t([[2, 0]]))
tf.scatter_nd(t([[1], [3], [1]]), t([9.0, 10.0, 1.0]), [5])
tf.scatter_nd(t([[0, 1]]), t([5]), [2, 2])
tf.scatter_nd(t([[7]]), t([5]), [2])
tf.tensor_scatter_nd_update(t([1, 2, 3]), t([[0], [2]]), t([7, 8]))
tf.tensor_scatter_nd_add(t([1.0, 2.0, 3.0]), t([[0], [0]]), t([7.0, 8.0]))
tf.tensor_scatter_nd_sub(t([[1.0, 2.0], [3.0, 4.0]]), t([[1]]), t([[1.0, 1.0]]))
tf.tensor_scatter_nd_max(t([1, 5]), t([[0], [1]]), t([3, 3]))
tf.tensor_scatter_nd_min(t([1, 5]), t([[0], [1]]), t([3, 3]))
tf.slice(t([[1, 2, 3], [4, 5, 6]]), [0, 1], [2, -1])
tf.slice(t([1, 2, 3]), [1], [5])
tf.strided_slice(t([1, 2, 3, 4, 5]), [0], [5], [2])
tf.reverse(t([[1, 2], [3, 4]]), [0])
tf.reverse(t([[1, 2], [3, 4]]), axis=[0, -1])
tf.roll(t([1, 2, 3, 4]), 1, 0)
tf.roll(t([[1, 2], [3, 4]]), [1, 1], [0, 1])
tf.repeat(t([1, 2]), 2)
tf.repeat(t([[1, 2], [3, 4]]), [1, 2], axis=0)
tf.sort(t([3.0, 1.0, 2.0]))
tf.sort(t([[3, 1], [2, 5]]), axis=0, direction='DESCENDING')
tf.sort(t([1]), direction='UP')
tf.argsort(t([3.0, 1.0, 2.0]))
tf.argsort(t([3, 1, 2, 3]), direction='DESCENDING', stable=True)
tf.math.top_k(t([[1.0, 4.0, 2.0], [3.0, 3.0, 1.0]]), 2)
tf.nn.top_k(t([5, 1, 7], 'uint8'), k=3)
tf.math.top_k(t([1.0]), 2)
tf.math.in_top_k(t([1, 0]), t([[0.1, 0.9, 0.5], [0.3, 0.4, 0.5]]), 2)
tf.nn.in_top_k(targets=t([1, 1]), predictions=t([[0.1, 0.9], [0.7, 0.2]]), k=1)
tf.unique(t([3, 1, 3, 2, 1]))
tf.searchsorted(t([1.0, 3.0, 5.0]), t([0.0, 3.0, 6.0]))
tf.searchsorted(t([[1, 3], [2, 4]]), t([[3], [3]]), side='right')
tf.sequence_mask([1, 3, 2])
tf.sequence_mask(t([1, 2]), 4)
tf.sequence_mask(t([[1], [0]]), maxlen=2, dtype=tf.float32)
tf.meshgrid(t([1, 2, 3]), t([4, 5]))
tf.meshgrid(t([1, 2, 3]), t([4, 5]), indexing='ij')
tf.math.bincount(t([1, 1, 3]))
tf.math.bincount(t([1, 1, 3]), minlength=6, maxlength=6)
tf.math.bincount(t([1, 1, 3]), weights=t([0.5, 1.0, 2.0]), minlength=2)
tf.math.confusion_matrix(t([1, 2, 0, 1]), t([1, 0, 0, 2]), num_classes=3)
tf.math.confusion_matrix([1, 2, 4], [2, 2, 4])
tf.math.confusion_matrix(t([0, 1]), t([1, 1]), num_classes=2, weights=t([0.5, 2.0]), dtype=tf.float32)
tf.histogram_fixed_width(t([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), [0.0, 5.0], nbins=5)
tf.math.segment_sum(t([[1, 2], [3, 4], [5, 6]]), [0, 0, 1])
tf.math.segment_mean(t([1.0, 2.0, 4.0]), [0, 1, 1])
tf.math.segment_max(t([1.0, 2.0, 4.0]), [0, 1, 1])
tf.math.segment_sum(t([1.0, 2.0]), [1, 0])
tf.math.unsorted_segment_sum(t([1.0, 2.0, 4.0]), t([2, 0, 2]), 3)
tf.math.unsorted_segment_sum(t([1.0, 2.0, 4.0]), t([1, -1, 1]), num_segments=2)
tf.math.unsorted_segment_mean(t([[1.0, 2.0], [4.0, 5.0]]), t([1, 1]), 3)
tf.math.unsorted_segment_prod(t([3, 2, 4]), t([0, 0, 1]), 2)
tf.cumsum(t([1, 2, 3]))
tf.cumsum(t([1.0, 2.0, 3.0]), exclusive=True)
tf.cumsum(t([[1, 2], [3, 4]]), axis=1, reverse=True)
tf.math.cumsum(t([1, 2, 3]), exclusive=True, reverse=True)
tf.math.cumprod(t([2, 3, 4]))
tf.math.cumprod(t([2.0, 3.0, 4.0]), exclusive=True)
tf.broadcast_to(t([1, 2]), [3, 2])
tf.math.count_nonzero(t([[0.0, 1.0], [2.0, 0.0]]))
tf.math.count_nonzero(t([[0, 1], [2, 3]]), axis=1, dtype=tf.int32)
tf.math.polyval([1.0, 2.0, 3.0], t(2.0))
tf.math.zero_fraction(t([0.0, 1.0, 0.0, 2.0]))
tf.math.reduce_euclidean_norm(t([3.0, 4.0]))
tf.matmul(t([[1.0, 2.0]]), t([[3.0, 4.0]]), transpose_b=True)
tf.matmul(t([[1.0, 2.0]]), t([[3.0, 4.0]]), transpose_a=True)
tf.linalg.matmul(t({MATRIX}), t({MATRIX}), adjoint_b=True)
tf.linalg.matvec(t([[1.0, 2.0], [3.0, 4.0]]), t([5.0, 6.0]))
tf.linalg.matvec(t([[1.0, 2.0], [3.0, 4.0]]), t([5.0, 6.0]), transpose_a=True)
tf.linalg.det(t({MATRIX}))
tf.linalg.inv(t({MATRIX}, 'float64'))
tf.linalg.cholesky(t({MATRIX}))
tf.linalg.inv(t([1.0]))
tf.linalg.trace(t({MATRIX}))
tf.linalg.solve(t([[4.0, 1.0], [1.0, 3.0]]), t([[1.0], [2.0]]))
tf.linalg.diag(t([1.0, 2.0]))
tf.linalg.diag_part(t({MATRIX}))
tf.linalg.set_diag(t([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), t([7.0, 8.0]))
tf.linalg.band_part(t([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), 1, 0)
tf.linalg.band_part(t([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), -1, 1)
tf.linalg.eigh(t([[2.0, 0.0], [0.0, 3.0]]))[0]
tf.linalg.svd(t([[3.0, 0.0], [4.0, 5.0]]), compute_uv=False)
abs(tf.linalg.qr(t([[3.0, 1.0], [4.0, 5.0]]))[1])
tf.linalg.matrix_transpose(t([[1, 2, 3]]))
tf.linalg.cross(t([1.0, 0.0, 0.0]), t([0.0, 1.0, 0.0]))
tf.linalg.eye(2)
tf.linalg.normalize(t([3.0, 4.0]))
tf.linalg.global_norm([t([3.0]), None, t([[4.0]])])
tf.norm(t([[3.0, 4.0], [6.0, 8.0]]))
tf.norm(t([[3.0, -4.0], [6.0, 8.0]]), ord=1, axis=1)
tf.norm(t([[3.0, -4.0], [6.0, 8.0]]), ord=np.inf, axis=0, keepdims=True)
tf.norm(t([[3.0, 4.0], [6.0, 8.0]]), ord=3, axis=-1)
tf.linalg.norm(t([3.0, 4.0]), ord=2)
tf.einsum('ij,jk->ik', t([[1.0, 2.0]]), t([[3.0], [4.0]]))
tf.einsum('bij,bjk->bik', t({MATRIX}), t({MATRIX}))
tf.einsum('...i,i->...', t([[1.0, 2.0], [3.0, 4.0]]), t([1.0, 2.0]))
tf.tensordot(t([[1.0, 2.0], [3.0, 4.0]]), t([[1.0], [2.0]]), 1)
tf.tensordot(t([[1, 2], [3, 4]]), t([[1, 2], [3, 4]]), axes=[[0], [1]])
tf.clip_by_norm(t([3.0, 4.0]), 1.0)
tf.clip_by_norm(t([[3.0, 4.0], [0.1, 0.0]]), 1.0, axes=[1])
tf.clip_by_global_norm([t([3.0]), t([[4.0]])], 1.0)[0]
tf.clip_by_global_norm([t([3.0]), t([[4.0]])], 10.0)[1]
tf.nn.leaky_relu(t([-1.0, 2.0]), alpha=0.3)
tf.nn.leaky_relu(t([-10, 2]))
tf.nn.gelu(t([-1.0, 0.5, 2.0]), approximate=True)
tf.nn.silu(t([1.0, -2.0]), beta=2.0)
tf.nn.bias_add(t([[1.0, 2.0]]), t([1.0, -1.0]))
tf.nn.bias_add(t(np.ones((1, 2, 1, 1), 'float32')), t([1.0, -1.0]), data_format='NCHW')
tf.nn.l2_normalize(t([[3.0, 4.0], [0.0, 0.0]]), axis=1)
tf.math.l2_normalize(t([3.0, 4.0]))
tf.nn.batch_normalization(t([[1.0, 2.0]]), t([0.5, 0.5]), t([4.0, 1.0]), t([0.0, 1.0]), t([1.0, 2.0]), 1e-3)
tf.nn.batch_normalization(t([[1.0, 2.0]]), t([0.5, 0.5]), t([4.0, 1.0]), None, None, 1e-3)
tf.nn.weighted_cross_entropy_with_logits(t([1.0, 0.0, 0.5]), t([1.0, -2.0, 3.0]), 2.0)
tf.nn.local_response_normalization(t({IMAGE}), 1, 1.0, 0.5, 0.75)
tf.nn.space_to_depth(t(np.arange(16).reshape(1, 4, 2, 2)), 2)
tf.nn.depth_to_space(t(np.arange(16).reshape(1, 2, 2, 4)), 2)
tf.nn.embedding_lookup(t([[1.0, 2.0], [3.0, 4.0]]), t([[1, 0]]))
tf.nn.dropout(t([1.0, 2.0]), 0.0)
tf.nn.dropout(t([1.0, 2.0]), 1.5)
tf.nn.dropout(t([[1.0, 2.0, 3.0, 4.0]] * 3), 0.5, seed=3)
tf.nn.dropout(t([[1.0, 2.0, 3.0, 4.0]] * 3), 0.25, noise_shape=[3, 1], seed=4)
tf.nn.conv1d(t(np.arange(20, dtype='float32').reshape(1, 10, 2)), t(np.ones((3, 2, 1), 'float32')), 2, 'SAME')
tf.nn.conv2d(t({IMAGE}), t({FILTER}), 1, 'SAME')
tf.nn.conv2d(t({IMAGE}), t({FILTER}), [1, 2, 1, 1], 'VALID')
tf.nn.conv2d(t({IMAGE}), t({FILTER}), strides=[2, 2], padding='SAME', dilations=1)
tf.nn.conv2d(t({IMAGE}), t({FILTER}), 1, 'VALID', dilations=[1, 2, 1, 1])
tf.nn.conv2d(t({IMAGE}), t({FILTER}), 1, [[0, 0], [1, 0], [2, 1], [0, 0]])
tf.nn.conv2d(t({IMAGE}), t({FILTER}), 1, 'CENTER')
tf.nn.depthwise_conv2d(t({IMAGE}), t({FILTER}), [1, 1, 1, 1], 'SAME')
tf.nn.conv2d_transpose(t({IMAGE}), t(np.arange(24, dtype='float32').reshape(2, 2, 2, 3)), [2, 10, 12, 2], 2, 'SAME')
tf.nn.conv2d_transpose(t({IMAGE}), t(np.arange(24, dtype='float32').reshape(2, 2, 2, 3)), [2, 6, 7, 2], 1, 'VALID')
tf.nn.max_pool(t({IMAGE}), 2, 2, 'VALID')
tf.nn.max_pool2d(t({IMAGE}), [3, 2], [1, 1], 'SAME')
tf.nn.max_pool2d(t({IMAGE}), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')
tf.nn.max_pool1d(t(np.arange(10, dtype='float32').reshape(1, 5, 2)), 2, 2, 'SAME')
tf.nn.avg_pool(t({IMAGE}), 2, 2, 'SAME')
tf.nn.avg_pool2d(t({IMAGE}), 3, 1, 'VALID')
tf.nn.avg_pool1d(t(np.arange(10, dtype='float32').reshape(1, 5, 2)), 2, 2, 'VALID')
"""

EXPRESSIONS = [
    *(one for name in UNARY.split() for one in unary(f"math.{name}")),
    *(one for name in ACTIVATIONS.split() for one in unary(f"nn.{name}")[:2]),
    *(one for name in BINARY for one in binary(name)),
    *filter(None, OTHERS.split("\n")),
]

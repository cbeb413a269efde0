"""The rarer operations as expressions, in which `t` makes a tensor."""

MATRIX = "[[[4.0, 1.0], [1.0, 3.0]], [[2.0, 0.5], [0.5, 5.0]]]"
TALL = "[[1.0, 2.0], [3.0, 5.0], [0.5, -1.0]]"
LOWER = "[[2.0, 0.0], [1.0, 3.0]]"
SIDE = "[[1.0, 2.0], [3.0, -1.0]]"

UNARY = "bessel_i0 bessel_i0e bessel_i1 bessel_i1e erfcinv reciprocal_no_nan"
BINARY = "igamma igammac polygamma xlog1py zeta"

OTHERS = f"""
tf.math.reciprocal_no_nan(t([0.0, 2.0]))
tf.math.xlog1py(t([0.0, 2.0]), t([-1.0, 3.0]))
tf.truediv(t([7, 6]), t([2, 4]))
tf.realdiv(t([7.0]), t([2.0]))
tf.scalar_mul(2.5, t([1.0, 2.0]))
tf.math.scalar_mul(2, t([1, 2]))
tf.histogram_fixed_width_bins(t([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), [0.0, 5.0], nbins=5)
tf.histogram_fixed_width_bins(t([0.1, 0.9]), t([0.0, 1.0]))
tf.saturate_cast(t([-300.5, 300.7, 12.9]), tf.int8)
tf.saturate_cast(t([-3, 300, 12]), tf.uint8)
tf.saturate_cast(t([1e20, -1e20, 3.0]), tf.int32)
tf.saturate_cast(t([1e20, -1e20, 3.0]), tf.float16)
tf.saturate_cast(t([1, 2]), tf.float32)
tf.math.invert_permutation(t([2, 0, 1]))
tf.reverse_sequence(t([[1, 2, 3, 4], [5, 6, 7, 8]]), t([3, 2]), seq_axis=1, batch_axis=0)
tf.reverse_sequence(t([[[1, 9], [2, 9]], [[5, 9], [6, 9]]]), t([2, 1]), seq_axis=1)
tf.reverse_sequence(t([[1, 2], [3, 4], [5, 6]]), t([3, 2]), seq_axis=0, batch_axis=1)
tf.unravel_index(t([22, 41, 37]), [7, 6])
tf.unravel_index(t(5), [3, 3])
tf.unique_with_counts(t([3, 1, 3, 2, 1]))
tf.unique_with_counts(t([3, 1, 3]), out_idx=tf.int64)
tf.dynamic_partition(t([10, 20, 30, 40]), t([0, 1, 0, 1]), 2)
tf.dynamic_partition(t([[1.0, 2.0], [3.0, 4.0]]), t([2, 0]), num_partitions=3)
tf.dynamic_partition(t([10]), t([3]), 2)
tf.dynamic_stitch([t([0, 2]), t([1])], [t([10, 30]), t([20])])
tf.dynamic_stitch([t(1), t([[0, 2]])], [t([5.0, 6.0]), t([[[1.0, 2.0], [3.0, 4.0]]])])
tf.identity_n([t([1]), t([2.0])])
tf.broadcast_dynamic_shape(t([2, 1]), t([1, 3]))
tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])).as_list()
tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
tf.get_static_value(tf.constant([1, 2]))
tf.linalg.triangular_solve(t({LOWER}), t({SIDE}))
tf.linalg.triangular_solve(t({LOWER}), t({SIDE}), adjoint=True)
tf.linalg.triangular_solve(t({LOWER}), t({SIDE}), lower=False)
tf.linalg.cholesky_solve(t({LOWER}), t({SIDE}))
tf.linalg.expm(t({MATRIX}, 'float64'))
tf.linalg.logdet(t({MATRIX}))
tf.linalg.slogdet(t({SIDE}))
tf.linalg.pinv(t({TALL}, 'float64'))
tf.linalg.lstsq(t({TALL}, 'float64'), t([[1.0], [2.0], [3.0]], 'float64'))
tf.linalg.lstsq(t({TALL}, 'float64'), t([[1.0], [2.0], [3.0]], 'float64'), l2_regularizer=0.5)
tf.linalg.lstsq(t({TALL}, 'float64'), t([[1.0], [2.0], [3.0]], 'float64'), fast=False)
tf.linalg.lstsq(tf.transpose(t({TALL}, 'float64')), t([[1.0], [2.0]], 'float64'))
tf.linalg.eigvalsh(t({MATRIX}))
tf.linalg.matrix_rank(t({MATRIX}))
tf.linalg.matrix_rank(t([[1.0, 2.0], [2.0, 4.0]]))
tf.linalg.tensor_diag(t([1, 2]))
tf.linalg.tensor_diag(t([[1, 2], [3, 4]]))
tf.linalg.tensor_diag_part(t([[1, 2], [3, 4]]))
"""
EXPRESSIONS = [
    *[f"tf.math.{name}(t([0.5, 1.25, 1.75], '{dtype}'))" for name in UNARY.split() for dtype in ("float32", "float64")],
    *[f"tf.math.{name}(t([2.0, 3.0, 1.0]), t([2.0, 0.5, 3.0]))" for name in BINARY.split()],
    *OTHERS.strip().splitlines(),
]

"""Operations on complex numbers, as expressions in which `t` makes a tensor."""

A = "t(np.array([[1 + 2j, -0.5j], [0.3, 2 - 1j]], 'complex64'))"
B = "t(np.array([[0.5 - 1j, 2], [1j, -1 + 1j]], 'complex64'))"
UNARY = """
    abs acos acosh angle asin asinh atan atanh conj cos cosh cumsum exp expm1 floor imag log log1p negative real reciprocal
    reduce_euclidean_norm reduce_max reduce_mean reduce_prod reduce_sum rsqrt sigmoid sign sin sinh sqrt square tan tanh
"""
BINARY = """
    add divide divide_no_nan equal greater maximum multiply multiply_no_nan not_equal pow squared_difference subtract xdivy
"""
OTHERS = f"""
tf.matmul({A}, {B}, adjoint_a=True)
tf.matmul({A}, {B}, adjoint_b=True)
tf.matmul({A}, {B}, transpose_a=True)
tf.linalg.matvec({A}, t(np.array([1, 1j], 'complex64')), adjoint_a=True)
tf.transpose({A}, conjugate=True)
tf.linalg.adjoint({A})
tf.linalg.inv({A})
tf.linalg.solve({A}, {B}, adjoint=True)
tf.norm({A})
tf.cast({A}, tf.float32)
tf.cast(t([1.0, 2.0]), tf.complex64)
tf.complex(t([1.0, 2.0]), t([3.0, 4.0]))
tf.complex(t([1, 2]), t([3, 4]))
2.0 * {A} - {B} / {A}
tf.reduce_sum({A}, 0)
tf.math.angle(t([1.0, -1.0]))
tf.math.real(t([1.0, -1.0]))
"""

EXPRESSIONS = [
    *(f"tf.math.{name}({A})" for name in UNARY.split()),
    *(f"tf.math.{name}({A}, {B})" for name in BINARY.split()),
    *filter(None, OTHERS.split("\n")),
]

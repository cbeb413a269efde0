"""Ragged and sparse tensors as expressions in which `t` makes a tensor."""

RAGGED = "tf.ragged.constant([[1, 2], [], [3, 4, 5]])"
DEEP = "tf.ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]])"
SPARSE = "tf.SparseTensor([[1, 0], [0, 2]], t([5.0, 7.0]), [2, 3])"

UNEVEN = "[tf.sparse.from_dense(t([[1, 0]])), tf.sparse.from_dense(t([[0], [2]]))]"

OTHERS = f"""
{RAGGED}.to_tensor()
{RAGGED}.to_tensor(default_value=-1)
{RAGGED}.to_tensor(shape=[None, 2])
{RAGGED}.to_tensor(shape=[4, 4])
{RAGGED}.row_splits
{RAGGED}.values
{RAGGED}.row_lengths()
{RAGGED}.nrows()
{RAGGED}.value_rowids()
{RAGGED}.row_starts()
{RAGGED}.bounding_shape()
{RAGGED}.bounding_shape(axis=1)
{RAGGED}[0]
{RAGGED}[-1]
{RAGGED}[2, 1]
{RAGGED}[2][1:]
{RAGGED}[1:].to_tensor()
{RAGGED}[:, :1].to_tensor()
{RAGGED}[9]
({RAGGED} + 1).to_tensor()
({RAGGED} * {RAGGED}).to_tensor()
(2 * {RAGGED}).values
{DEEP}.to_tensor()
{DEEP}.flat_values
{DEEP}.row_splits
{DEEP}.values.row_splits
{DEEP}.bounding_shape()
{DEEP}[0].to_tensor()
{DEEP}[0, 1]
{DEEP}[1:].to_tensor()
tf.ragged.constant([['a'], ['b', 'c']]).to_tensor()
tf.ragged.constant([[1.5], []], dtype=tf.float64).values
tf.ragged.map_flat_values(lambda x: x * 2, {RAGGED}).to_tensor()
tf.RaggedTensor.from_row_splits(t([1, 2, 3]), [0, 1, 3]).to_tensor()
tf.RaggedTensor.from_row_splits(t([1, 2, 3]), [0, 1, 2]).to_tensor()
tf.RaggedTensor.from_row_splits(t([1, 2, 3]), t([0, 1, 3])).row_splits
tf.RaggedTensor.from_row_lengths(t([1, 2, 3]), [2, 0, 1]).to_tensor()
tf.RaggedTensor.from_row_lengths(t([1, 2, 3]), [2, 0, 1]).row_splits
tf.RaggedTensor.from_value_rowids(t([1, 2, 3]), [0, 0, 2]).to_tensor()
tf.RaggedTensor.from_value_rowids(t([1, 2, 3]), [0, 0, 2], nrows=4).row_lengths()
tf.RaggedTensor.from_tensor(t([[1, 2, 0], [3, 0, 0]]), padding=0).to_tensor()
tf.RaggedTensor.from_tensor(t([[1, 2, 0], [3, 0, 0]]), lengths=[1, 2]).values
tf.RaggedTensor.from_tensor(t([[1, 2], [3, 0]])).row_splits
tf.sparse.to_dense(tf.sparse.reorder({SPARSE}))
tf.sparse.to_dense(tf.sparse.reorder({SPARSE}), default_value=-1.0)
tf.sparse.reorder({SPARSE}).indices
tf.sparse.reorder({SPARSE}).values
{SPARSE}.dense_shape
{SPARSE}.indices
tf.sparse.from_dense(t([[0, 3], [4, 0]])).indices
tf.sparse.from_dense(t([[0, 3], [4, 0]])).values
tf.sparse.sparse_dense_matmul({SPARSE}, t([[1.0], [2.0], [3.0]]))
tf.sparse.sparse_dense_matmul({SPARSE}, t([[1.0, 2.0]] * 2), adjoint_a=True)
tf.SparseTensor([[0, 0]], [1.0, 2.0], [2, 2]).values
tf.sparse.to_indicator(tf.SparseTensor([[0, 0], [0, 1], [1, 0]], t([2, 0, 1]), [2, 2]), 4)
tf.sparse.to_indicator(tf.SparseTensor([[0], [1]], t([2, 0], tf.int64), [2]), 3)
tf.sparse.reduce_sum(tf.sparse.reorder({SPARSE}))
tf.sparse.reduce_sum(tf.sparse.reorder({SPARSE}), 1)
tf.sparse.reduce_sum(tf.sparse.reorder({SPARSE}), [0], True)
tf.sparse.concat(1, [tf.sparse.reorder({SPARSE}), tf.sparse.reorder({SPARSE})]).indices
tf.sparse.concat(-1, [tf.sparse.reorder({SPARSE}), tf.sparse.reorder({SPARSE})]).values
tf.sparse.to_dense(tf.sparse.concat(0, {UNEVEN}, expand_nonconcat_dims=True))
tf.sparse.concat(0, {UNEVEN}).values
"""

EXPRESSIONS = [*filter(None, OTHERS.split("\n"))]

"""Operations on ragged tensors as expressions in which `t` makes a tensor."""

from tests.refdist.ops.ragged_and_sparse import DEEP, RAGGED

FLOATS = "tf.ragged.constant([[1.0, 2.0], [], [3.0, 4.0, 5.0]])"
CHOSEN = "tf.ragged.constant([[True, False], [], [False, True, True]])"

USES = f"""
tf.reduce_sum({RAGGED})
tf.reduce_sum({RAGGED}, axis=1)
tf.reduce_sum({RAGGED}, axis=0)
tf.reduce_sum({RAGGED}, 1, keepdims=True)
tf.reduce_sum({RAGGED}, axis=-1)
tf.reduce_sum({RAGGED}, keepdims=True)
tf.reduce_mean({FLOATS})
tf.reduce_mean({FLOATS}, axis=1)
tf.reduce_mean({FLOATS}, axis=0)
tf.reduce_max({RAGGED}, axis=1)
tf.reduce_max({FLOATS}, axis=1)
tf.reduce_min({FLOATS}, axis=1)
tf.reduce_prod({RAGGED}, axis=1)
tf.reduce_any({RAGGED} > 1, axis=1)
tf.reduce_all({RAGGED} > 1, axis=1)
tf.reduce_sum({DEEP})
tf.reduce_sum({DEEP}, axis=1).to_tensor(-9)
tf.reduce_sum({DEEP}, axis=2).to_tensor(-9)
tf.reduce_sum({DEEP}, axis=[1, 2])
tf.concat([{RAGGED}, {RAGGED}], axis=0).to_tensor(-9)
tf.concat([{RAGGED}, {RAGGED}], axis=1).to_tensor(-9)
tf.concat([{RAGGED}, t([[7, 8]])], axis=0).to_tensor(-9)
tf.concat([{RAGGED}, [[7], [8], [9]]], axis=1).to_tensor(-9)
tf.concat([{DEEP}, {DEEP}], axis=0).to_tensor(-9)
tf.concat([{DEEP}, {DEEP}], axis=2).to_tensor(-9)
tf.gather({RAGGED}, [2, 0, 0]).to_tensor(-9)
tf.gather({RAGGED}, tf.ragged.constant([[0], [2, 1]])).to_tensor(-9)
tf.gather(t([10, 20, 30, 40, 50, 60]), {RAGGED}).to_tensor(-9)
tf.gather({RAGGED}, [3]).values
tf.nn.embedding_lookup(t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.ragged.constant([[0], [2, 1]])).to_tensor(-9.0)
tf.stack([{RAGGED}, {RAGGED}]).to_tensor(-9)
tf.ragged.stack([t([1, 2]), t([3])]).to_tensor(-9)
tf.ragged.stack([{RAGGED}, {RAGGED}], axis=1).to_tensor(-9)
tf.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, False]]).to_tensor(-9)
tf.ragged.boolean_mask({RAGGED}, {CHOSEN}).to_tensor(-9)
tf.ragged.boolean_mask({RAGGED}, [True, False, True]).to_tensor(-9)
tf.ragged.boolean_mask(t([1, 2, 3]), [True, False, True])
tf.ragged.range([2, 0, 3]).to_tensor(-9)
tf.ragged.range([0, 5], [3, 9], 2).to_tensor(-9)
tf.ragged.row_splits_to_segment_ids([0, 2, 2, 5])
tf.ragged.segment_ids_to_row_splits([0, 0, 2, 2, 2])
{RAGGED}.to_sparse().indices
{RAGGED}.to_sparse().dense_shape
{DEEP}.to_sparse().indices
{DEEP}.to_sparse().values
tf.RaggedTensor.from_sparse({RAGGED}.to_sparse()).to_tensor(-9)
tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 1]], [1], [1, 2])).values
tf.cast({RAGGED}, tf.float32).to_tensor(-9.0)
tf.sqrt({FLOATS}).to_tensor(-9.0)
tf.nn.relu(-{FLOATS}).to_tensor(-9.0)
tf.maximum({RAGGED}, 3).to_tensor(-9)
tf.equal({RAGGED}, 2).values
({RAGGED} == 2).values
({RAGGED} != 2).values
tf.where({RAGGED} > 1, {RAGGED}, 0).to_tensor(-9)
tf.zeros_like({RAGGED}).to_tensor(-9)
tf.one_hot({RAGGED}, 3).to_tensor(-9.0)
tf.size({RAGGED})
tf.rank({DEEP})
tf.expand_dims({RAGGED}, 0).to_tensor(-9)
tf.expand_dims({RAGGED}, 1).to_tensor(-9)
tf.expand_dims({RAGGED}, 2).to_tensor(-9)
{RAGGED}.merge_dims(0, 1)
{DEEP}.merge_dims(0, 1).to_tensor(-9)
{DEEP}.merge_dims(1, 2).to_tensor(-9)
{DEEP}.merge_dims(0, 2)
{DEEP}.nested_row_splits
{DEEP}.nested_row_lengths()
{RAGGED}.row_limits()
{DEEP}.row_lengths(axis=2).to_tensor(-9)
(1.0 / {FLOATS}).values
(2.0 ** {FLOATS}).values
(7 // {RAGGED}).values
(~({RAGGED} > 1)).values
(-{RAGGED}).values
abs(-{RAGGED}).values
({RAGGED} + t([[10], [20], [30]])).to_tensor(-9)
({RAGGED} + tf.ragged.constant([[10], [20], [30]])).values
tf.sparse.to_dense(tf.SparseTensor([[0, 1]], ['a'], [1, 2]))
tf.sparse.to_dense(tf.SparseTensor([[0, 1]], ['a'], [1, 2]), default_value='x')
tf.cast({RAGGED}.to_sparse(), tf.float32).values
"""

EXPRESSIONS = [*filter(None, USES.split("\n"))]

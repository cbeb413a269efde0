import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.devices.tensor import Tensor

Dataset = tf.data.Dataset
small = generators.integers(0, 12)
counts = generators.integers(1, 5)


def plain(dataset):
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]


@given(n=small, size=counts, drop=generators.booleans())
def test_batches_are_consecutive_pieces(n, size, drop):
    expected = [list(range(start, min(start + size, n))) for start in range(0, n, size)]
    if drop:
        expected = [batch for batch in expected if len(batch) == size]

    assert expected == plain(Dataset.range(n).batch(size, drop_remainder=drop))


OPERATIONS = {
    "take": (lambda d, k: d.take(k), lambda items, k: items[:k]),
    "skip": (lambda d, k: d.skip(k), lambda items, k: items[k:]),
    "shard": (lambda d, k: d.shard(k + 1, k // 2), lambda items, k: items[k // 2 :: k + 1]),
    "repeat": (lambda d, k: d.repeat(k), lambda items, k: items * k),
    "rebatch": (lambda d, k: d.batch(k + 1).unbatch(), lambda items, k: items),
    "cache": (lambda d, k: d.cache(), lambda items, k: items),
    "prefetch": (lambda d, k: d.prefetch(k), lambda items, k: items),
    "concatenate": (lambda d, k: d.concatenate(Dataset.range(k)), lambda items, k: items + list(range(k))),
    "map": (lambda d, k: d.map(lambda x: x + k), lambda items, k: [item + k for item in items]),
    "parallel map": (
        lambda d, k: d.map(lambda x: x + k, num_parallel_calls=3),
        lambda items, k: [i + k for i in items],
    ),
    "filter": (
        lambda d, k: d.filter(lambda x: x % (k + 1) == 0),
        lambda items, k: [i for i in items if i % (k + 1) == 0],
    ),
    "flat_map": (
        lambda d, k: d.flat_map(lambda x: Dataset.range(int(x) % 3)),
        lambda items, k: [j for i in items for j in range(i % 3)],
    ),
    "enumerate": (lambda d, k: d.enumerate(k).map(lambda i, x: i), lambda items, k: list(range(k, k + len(items)))),
}
chains = generators.lists(
    generators.tuples(generators.sampled_from(sorted(OPERATIONS)), generators.integers(0, 4)), max_size=4
)


@given(n=small, chain=chains)
def test_any_chain_of_stages_equals_the_same_on_a_list(n, chain):
    dataset, items = Dataset.range(n), list(range(n))
    for name, number in chain:
        make, expect = OPERATIONS[name]
        dataset, items = make(dataset, number), expect(items, number)

    assert items == plain(dataset)
    assert items == plain(dataset), "a second loop starts again"
    assert dataset.stage.cardinality() in (len(items), tf.data.UNKNOWN_CARDINALITY)


@given(n=small, chain=chains, size=counts)
def test_array_backed_and_other_sources_deliver_the_same(n, chain, size):
    fast, slow = (
        Dataset.range(n),
        Dataset.from_generator(lambda: iter(range(n)), output_signature=tf.TensorSpec((), tf.int64)),
    )
    for name, number in chain:
        fast, slow = OPERATIONS[name][0](fast, number), OPERATIONS[name][0](slow, number)

    assert plain(fast.batch(size)) == plain(slow.batch(size))


@given(n=generators.integers(0, 30), buffer=generators.integers(1, 40), seed=generators.integers(0, 9))
def test_a_shuffle_keeps_all_elements_and_repeats_with_its_seed(n, buffer, seed):
    orders = [plain(Dataset.range(n).shuffle(buffer, seed=seed)) for _ in range(2)]

    assert orders[0] == orders[1]
    assert list(range(n)) == sorted(orders[0])
    for position, element in enumerate(orders[0]):
        assert element <= position + buffer - 1, "an element cannot come before it was in the buffer"


def test_a_shuffle_mixes_anew_in_each_loop_unless_told_otherwise():
    anew, always = (
        Dataset.range(50).shuffle(50, seed=1),
        Dataset.range(50).shuffle(50, seed=1, reshuffle_each_iteration=False),
    )

    assert plain(anew) != plain(anew)
    assert plain(always) == plain(always)
    epochs = plain(Dataset.range(50).shuffle(50, seed=1).repeat(2))
    assert epochs[:50] != epochs[50:]
    assert sorted(epochs[:50]) == sorted(epochs[50:]) == list(range(50))


@pytest.mark.parametrize("other", [1.0, [1], (1, 2), {"a": 1}])
def test_a_dataset_of_other_elements_cannot_follow(other):
    with pytest.raises(TypeError, match="other elements"):
        Dataset.range(3).concatenate(Dataset.from_tensors(other))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"padding_values": "x"}, TypeError),
        ({"padding_values": 1.5}, TypeError),
        ({"padded_shapes": [2]}, ValueError),
        ({"padded_shapes": [2, 2]}, ValueError),
        ({"padded_shapes": ([3], [3])}, ValueError),
    ],
)
def test_a_padding_that_does_not_fit_the_elements_is_refused_without_any(given, error):
    with pytest.raises(error):
        Dataset.range(6).batch(3, drop_remainder=True).take(0).padded_batch(2, **given)


def test_zip_puts_elements_side_by_side_as_long_as_all_have_some():
    assert [(0, 5), (1, 6)] == [
        tuple(map(int, pair)) for pair in Dataset.zip((Dataset.range(2), Dataset.range(5, 9))).as_numpy_iterator()
    ]
    assert {"x": 0} == next(Dataset.zip({"x": Dataset.range(3)}).as_numpy_iterator())


def test_padded_batches_have_the_size_of_the_largest():
    dataset = Dataset.range(1, 4).map(lambda n: np.full(int(n), int(n)))

    assert [[[1, 0], [2, 2]], [[3, 3, 3]]] == plain(dataset.padded_batch(2))
    assert [[[1, 9, 9, 9], [2, 2, 9, 9], [3, 3, 3, 9]]] == plain(
        dataset.padded_batch(3, padded_shapes=[4], padding_values=9)
    )
    with pytest.raises(ValueError, match="at most"):
        plain(dataset.padded_batch(3, padded_shapes=[2]))


def test_padding_fits_the_parts_of_an_element():
    pairs = Dataset.range(1, 3).map(lambda n: (np.full(int(n), int(n)), {"s": np.array([b"a"] * int(n), dtype=object)}))
    padded = pairs.padded_batch(2, padded_shapes=(3, {"s": [None]}), padding_values=(-1, {"s": "z"}))
    ((numbers, texts),) = padded.as_numpy_iterator()

    assert ([[1, -1, -1], [2, 2, -1]], [[b"a", b"z"], [b"a", b"a"]]) == (numbers.tolist(), texts["s"].tolist())
    assert (2, 3) == Dataset.from_tensors(np.ones((2, 3))).padded_batch(2).element_spec.shape[1:]
    assert (None, 4) == Dataset.from_tensors(np.ones(3)).padded_batch(2, padded_shapes=4).element_spec.shape


PAIR = (np.arange(2), np.arange(2))


@pytest.mark.parametrize(
    ("elements", "arguments", "message"),
    [
        ([PAIR], {"padded_shapes": [3]}, "expected the same nest"),
        ([{"a": np.ones(2)}], {"padded_shapes": {"b": [3]}}, "expected the same nest"),
        ([PAIR], {"padding_values": (1, 2, 3)}, "expected the same nest"),
        ([np.arange(2)], {"padded_shapes": [3, 3]}, "expected 1 sizes"),
        ([np.arange(2)], {"padding_values": 1.5}, "becomes int64 without losing"),
        ([np.arange(2), np.ones(2)], {}, "several dtypes"),
        ([np.arange(2), np.zeros((2, 2), np.int64)], {}, "1, 2 dimensions"),
        ([np.arange(2), PAIR], {}, "different structure"),
    ],
)
def test_padding_that_does_not_fit_is_refused(elements, arguments, message):
    dataset = Dataset.from_generator(lambda: iter(elements)).padded_batch(2, **arguments)
    with pytest.raises((ValueError, TypeError), match=message):
        plain(dataset)


def test_elements_are_tensors_of_the_backend(any_backend):
    for element in Dataset.range(2):
        assert isinstance(element, any_backend.tensor_type)
    for element in Dataset.from_tensor_slices(["a"]):
        assert isinstance(element, Tensor)
        assert b"a" == element.item()


def test_cardinality_and_length():
    assert 3 == len(Dataset.range(5).batch(2)) == int(Dataset.range(5).batch(2).cardinality())
    assert tf.data.INFINITE_CARDINALITY == int(Dataset.range(5).repeat().cardinality())
    assert tf.data.UNKNOWN_CARDINALITY == int(Dataset.range(5).filter(bool).cardinality())
    assert tf.data.UNKNOWN_CARDINALITY == int(Dataset.range(5).repeat().filter(bool).cardinality())
    for endless in (Dataset.range(5).repeat(), Dataset.range(5).filter(bool)):
        with pytest.raises(TypeError, match="expected a finite one"):
            len(endless)


def test_repeating_nothing_is_nothing():
    assert [] == plain(Dataset.range(0).repeat()) == plain(Dataset.range(5).filter(lambda x: x > 9).repeat())


def test_reduce_folds_all_elements():
    assert 10 == int(Dataset.range(5).reduce(np.int64(0), lambda state, x: state + x))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: Dataset.range(5).batch(0),
        lambda: Dataset.range(5).window(0),
        lambda: Dataset.range(5).window(1, shift=0),
        lambda: Dataset.range(5).window(1, stride=0),
        lambda: Dataset.range(5).shard(0, 0),
        lambda: Dataset.range(5).shard(2, 2),
        lambda: Dataset.range(5).shuffle(0),
        lambda: Dataset.range(5).map(abs, num_parallel_calls=0),
        lambda: Dataset.range(5).interleave(Dataset.from_tensors, cycle_length=0),
        lambda: Dataset.range(5).interleave(Dataset.from_tensors, block_length=0),
        lambda: Dataset.range(0, 5, 0),
        lambda: Dataset.from_tensor_slices(3),
        lambda: Dataset.from_tensor_slices(([1, 2], [1])),
        lambda: Dataset.from_tensor_slices(()),
        lambda: Dataset.list_files("nothing/*.here"),
        lambda: plain(Dataset.range(3).unbatch()),
        lambda: Dataset.range(3).unbatch().element_spec,
        lambda: Dataset.range(3).rebatch(2).element_spec,
        lambda: plain(Dataset.range(3).filter(lambda x: x)),
        lambda: plain(Dataset.range(3).filter(lambda x: None)),
        lambda: plain(Dataset.range(3).batch(2).filter(lambda x: x > 0)),
    ],
)
def test_what_cannot_be_is_a_value_error(attempt):
    with pytest.raises(ValueError, match=r"expected|must not be zero"):
        attempt()


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: Dataset.range(5).batch(1.5),
        lambda: Dataset.range(5).take(True),
        lambda: Dataset.range(5).map(3),
        lambda: Dataset.from_generator(iter([1])),
        lambda: Dataset.zip(3),
        lambda: plain(Dataset.range(5).window(2)),
        lambda: plain(Dataset.range(5).window(2).batch(2)),
        lambda: Dataset.range(5).window(2).batch(2).element_spec,
        lambda: list(tf.distribute.get_strategy().experimental_distribute_dataset(Dataset.range(5).window(2))),
        lambda: Dataset.zip([Dataset.range(3), Dataset.range(3)]),
        lambda: Dataset.range(5).concatenate(3),
        lambda: Dataset.range(5).with_options(None),
        lambda: Dataset.range(5).apply(lambda d: 3),
        lambda: plain(Dataset.range(5).flat_map(lambda x: 3)),
    ],
)
def test_a_wrong_type_is_refused(attempt):
    with pytest.raises(TypeError, match="expected"):
        attempt()


def test_options_are_carried_along():
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    dataset = Dataset.range(5).with_options(options).batch(2).with_options(tf.data.Options())

    assert tf.data.experimental.AutoShardPolicy.OFF is dataset.options().experimental_distribute.auto_shard_policy
    with pytest.raises(ValueError, match="AUTO"):
        options.experimental_distribute.auto_shard_policy = "x"


@pytest.mark.parametrize(
    ("count", "dataset"),
    [
        (12, Dataset.from_tensor_slices(np.ones((3, 4))).unbatch()),
        (8, Dataset.range(9).batch(2, drop_remainder=True).unbatch()),
        (-2, Dataset.range(9).batch(2).unbatch()),
        (-1, Dataset.range(9).repeat().batch(2).unbatch()),
        (-2, Dataset.range(9).repeat().batch(2).rebatch(3)),
        (-2, Dataset.range(9).filter(lambda x: True).take(0)),
        (-2, Dataset.range(9).filter(lambda x: True).skip(-1)),
        (0, Dataset.range(9).repeat().skip(-1)),
    ],
)
def test_the_number_of_elements_is_known_where_tensorflow_knows_it(count, dataset):
    assert count == int(dataset.cardinality())


@given(
    count=generators.integers(0, 12),
    size=generators.integers(1, 5),
    shift=generators.none() | generators.integers(1, 6),
    stride=generators.integers(1, 4),
    drop_remainder=generators.booleans(),
)
def test_windows_are_slices_of_the_data(count, size, shift, stride, drop_remainder):
    made = Dataset.range(count).window(size, shift, stride, drop_remainder)
    span, starts = (size - 1) * stride + 1, range(0, count, shift or size)
    expected = [list(range(count))[start : start + span : stride] for start in starts]
    kept = [one for one, start in zip(expected, starts, strict=True) if not drop_remainder or start + span <= count]

    assert kept == [plain(window) for window in made]
    assert len(kept) == int(made.cardinality())


def test_windows_of_a_nest_are_nests_of_datasets():
    pairs = Dataset.from_tensor_slices((np.arange(5), {"a": np.arange(10).reshape(5, 2)}))
    x, y = next(iter(pairs.window(2)))
    batches = pairs.window(2).flat_map(lambda x, y: Dataset.zip((x.batch(3), y["a"].batch(3))))
    sums = Dataset.range(7).window(3).map(lambda window: window.reduce(np.int64(0), lambda total, one: total + one))
    spec = "DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))"

    assert ([0, 1], [[0, 1], [2, 3]]) == (plain(x), plain(y["a"]))
    assert ["[0 1]", "[2 3]", "[4]"] == [str(first) for first, _ in batches.as_numpy_iterator()]
    assert ((None,), (None, 2)) == tuple(leaf.shape for leaf in batches.element_spec)
    assert [3, 12, 6] == plain(sums)
    assert f"<WindowDataset shapes: {spec}, types: {spec}>" == repr(Dataset.range(7).window(3))
    inner = Dataset.range(7).window(3).map(lambda window: window.batch(2)).element_spec
    assert tf.TensorSpec((None,), tf.int64) == inner.element_spec


def test_padded_text_is_text():
    lines = Dataset.from_tensor_slices([b"a", b"bc", b"d"])

    assert [b"a", b"bc", b"d"] == [text for batch in lines.padded_batch(2) for text in batch.numpy().tolist()]
    assert {bytes} == {type(text) for batch in lines.padded_batch(2) for text in batch.numpy().tolist()}
    assert [[[b"a", b"bc", b"-"], [b"d", b"-", b"-"]]] == plain(
        lines.batch(2).padded_batch(2, padded_shapes=[3], padding_values=b"-")
    )

"""Random pipelines as plain data, and what comes out of them: the same program for TensorFlow and for refdist.

Run it where TensorFlow is installed to record the answers again: python tests/refdist/input/pipelines.py
"""

import itertools
import json
import multiprocessing
import pathlib
import random

import ml_dtypes
import numpy as np

ANSWERS = pathlib.Path(__file__).parent.parent.parent / "fixtures" / "pipelines.json"
COUNT, SEED, MOST = 500, 10, 24
FORK = multiprocessing.get_context("fork")

DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "string")
FAMILIES = {
    **dict.fromkeys(["InvalidArgumentError", "UnknownError", "IndexError"], "ValueError"),
    **dict.fromkeys(["AttributeError"], "TypeError"),
}


# What pipelines are made of, for a namespace `tf`.


def array(dtype, shape):
    """Small numbers, or short texts, that count up; text has an empty one and one with a zero in it."""
    count = int(np.prod(shape, dtype=int))
    if dtype == "string":
        return np.array([b"", b"a\x00", b"bcd"] * count, dtype=object)[:count].reshape(shape)
    return np.arange(count).reshape(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def one(parts):
    return parts[0] if len(parts) == 1 else parts


def each(tf, function):
    return lambda *parts: tf.nest.map_structure(function, one(parts))


def functions(tf):
    """Functions for map(), by name."""
    return {
        "identity": lambda *parts: one(parts),
        "pair": lambda *parts: (one(parts), one(parts)),
        "dict": lambda *parts: {"b": one(parts), "a": one(parts)},
        "nest": lambda *parts: {"x": (one(parts), {"y": one(parts)})},
        "list": lambda *parts: [one(parts), one(parts)],
        "first": lambda first, *others: first,
        "two arguments": lambda first, second: first,
        "twice": each(tf, lambda x: x + x),
        "one more": each(tf, lambda x: tf.cast(x, tf.int64) + 1),
        "float": each(tf, lambda x: tf.cast(x, tf.float32)),
        "int": each(tf, lambda x: tf.cast(x, tf.int32)),
        "stack": each(tf, lambda x: tf.stack([x, x])),
        "sum": each(tf, lambda x: tf.reduce_sum(tf.cast(x, tf.float32))),
        "shape": each(tf, tf.shape),
        "size": each(tf, tf.size),
        "row": each(tf, lambda x: x[0]),
        "count": each(tf, lambda x: tf.range(tf.cast(x, tf.int64))),
        "filled": lambda *parts: tf.ones([tf.size(tf.nest.flatten(parts)[0]), 2]),
        "constant": lambda *parts: 7,
        "text": lambda *parts: "text",
        "nothing": lambda *parts: None,
        "python float": lambda *parts: 1.5,
        "array": lambda *parts: np.ones((2, 2), np.float32),
    }


def predicates(tf):
    """Functions for filter(), by name."""
    return {
        "all": lambda *parts: True,
        "none": lambda *parts: False,
        "even": lambda *parts: tf.nest.flatten(parts)[0] % 2 == 0,
        "small": lambda *parts: tf.reduce_sum(tf.cast(tf.nest.flatten(parts)[0], tf.float32)) < 3,
        "long": lambda *parts: tf.size(tf.nest.flatten(parts)[0]) > 1,
        "no bool": lambda *parts: tf.nest.flatten(parts)[0],
        "many bools": lambda *parts: tf.stack([True, False]),
    }


def makers(tf):
    """Functions for flat_map() and interleave(), by name."""
    dataset = tf.data.Dataset
    return {
        "tensors": lambda *parts: dataset.from_tensors(one(parts)),
        "slices": lambda *parts: dataset.from_tensor_slices(one(parts)),
        "twice": lambda *parts: dataset.from_tensors(one(parts)).repeat(2),
        "batched": lambda *parts: dataset.from_tensors(one(parts)).repeat(3).batch(2),
        "count": lambda *parts: dataset.range(tf.cast(tf.nest.flatten(parts)[0], tf.int64)),
        "empty": lambda *parts: dataset.from_tensors(one(parts)).take(0),
        "no dataset": lambda *parts: one(parts),
    }


def failing():
    """Deliver two numbers, and fail."""
    yield from (1, 2)
    raise ValueError("as it should")


def generators(tf):
    """Functions for from_generator(), and what they promise, by name."""
    spec = tf.TensorSpec
    return {
        "count": (lambda: iter(range(5)), spec((), tf.int64)),
        "floats": (lambda: iter([1, 2.5]), spec((), tf.float32)),
        "rows": (lambda: ([n] * n for n in range(4)), spec((None,), tf.int32)),
        "pairs": (lambda: ((n, str(n)) for n in range(3)), (spec((), tf.int16), spec((), tf.string))),
        "dicts": (
            lambda: ({"a": n, "b": [n, n]} for n in range(3)),
            {"a": spec((), tf.int64), "b": spec((2,), tf.float64)},
        ),
        "empty": (lambda: iter(()), spec((3,), tf.bool)),
        "other shape": (lambda: iter([[1, 2], [3]]), spec((2,), tf.int64)),
        "other dtype": (lambda: iter([1, "a"]), spec((), tf.int64)),
        "other nest": (lambda: iter([(1, 2), 3]), (spec((), tf.int64), spec((), tf.int64))),
        "failing": (failing, spec((), tf.int64)),
    }


def made(tf, pipeline):
    """The dataset that a pipeline describes."""
    source, *stages = pipeline
    dataset = sourced(tf, *source)
    for name, *arguments in stages:
        dataset = staged(tf, dataset, name, *arguments)
    return dataset


def sourced(tf, name, *arguments):
    dataset = tf.data.Dataset
    if name == "range":
        *numbers, dtype = arguments
        return dataset.range(*numbers, output_type=getattr(tf, dtype))
    if name in ("from_tensors", "from_tensor_slices"):
        return getattr(dataset, name)(nest_of(arguments[0], lambda leaf: array(*leaf)))
    if name == "from_generator":
        function, spec = generators(tf)[arguments[0]]
        return dataset.from_generator(function, output_signature=spec)
    assert name == "zip"
    return dataset.zip(tuple(made(tf, pipeline) for pipeline in arguments))


def staged(tf, dataset, name, *arguments):
    if name == "map":
        return dataset.map(functions(tf)[arguments[0]], num_parallel_calls=arguments[1])
    if name == "filter":
        return dataset.filter(predicates(tf)[arguments[0]])
    if name == "flat_map":
        return dataset.flat_map(makers(tf)[arguments[0]])
    if name == "interleave":
        return dataset.interleave(makers(tf)[arguments[0]], cycle_length=arguments[1], block_length=arguments[2])
    if name == "concatenate":
        return dataset.concatenate(made(tf, arguments[0]))
    if name == "zipped":
        return tf.data.Dataset.zip((dataset, made(tf, arguments[0])))
    if name == "window":
        windows = dataset.window(*arguments)
        return windows.flat_map(lambda *parts: tf.data.Dataset.zip(one(parts)).batch(2))
    if name == "padded_batch":
        size, shape, value, drop_remainder = arguments
        return dataset.padded_batch(size, padded_shapes=shape, padding_values=value, drop_remainder=drop_remainder)
    return getattr(dataset, name)(*arguments)


def nest_of(description, leaf):
    """A nest, described by lists: ["tuple", ...], ["dict", ...] or a dtype and a shape."""
    kind, *parts = description
    if kind == "tuple":
        return tuple(nest_of(part, leaf) for part in parts)
    if kind == "dict":
        return {f"k{len(parts) - index}": nest_of(part, leaf) for index, part in enumerate(parts)}
    return leaf(description)


# What comes out.


def answer(tf, pipeline):
    """What a pipeline delivers, as data: its spec, how many elements it says it has, the elements, and how it ends."""
    found = {"elements": []}
    try:
        dataset = made(tf, pipeline)
        found["spec"] = written_spec(dataset.element_spec)
        found["cardinality"] = int(np.asarray(dataset.cardinality()))
        for element in itertools.islice(dataset.as_numpy_iterator(), MOST):
            found["elements"].append(written(element))
    except Exception as error:  # whatever it is, it is the answer
        found["error"] = FAMILIES.get(type(error).__name__, type(error).__name__)
    if any(name == "shuffle" and arguments[0] > 1 for name, *arguments in pipeline[1:]):
        found["elements"].sort()
    return found


def written(element):
    """An element as a text: its nest, and dtype, shape and numbers of every part."""
    if isinstance(element, dict):
        return "{" + ", ".join(f"{key}: {written(element[key])}" for key in sorted(element)) + "}"
    if isinstance(element, tuple):
        return "(" + ", ".join(map(written, element)) + ")"
    values = np.asarray(element, dtype=object if isinstance(element, bytes) else None)
    name = "string" if values.dtype == object else str(values.dtype)
    flat = [value.decode("latin-1") if name == "string" else str(value) for value in values.ravel().tolist()]
    return f"{name}{list(values.shape)} {json.dumps(flat)[1:-1] if name == 'string' else ' '.join(flat)}"


def written_spec(spec):
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key}: {written_spec(spec[key])}" for key in sorted(spec)) + "}"
    if isinstance(spec, tuple):
        return "(" + ", ".join(map(written_spec, spec)) + ")"
    shape = "?" if getattr(spec.shape, "rank", 0) is None else list(spec.shape)
    name = getattr(spec.dtype, "name", str(spec.dtype))
    return f"{'string' if name == 'object' else name}{shape}"


# Drawing pipelines.


def drawn(tf, numbers):
    """A random pipeline."""
    stages = [drawn_source(tf, numbers)]
    for _ in range(numbers.randint(1, 5)):
        stages.append(drawn_stage(tf, numbers))
        if stages[-1] in (["repeat", -1], ["repeat", None]):
            # What chooses among elements without end may look for ever.
            return [*stages, *numbers.choice([[], [["take", 9]], [["batch", 2, False]]])]
    if numbers.random() < 0.1:
        stages.append(["shuffle", numbers.choice([2, 10]), 3])
    return stages


def drawn_source(tf, numbers, depth=0):
    kind = numbers.choice(["range", "range", "range", "slices", "slices", "slices", "tensors", "generator", "zip"])
    if kind == "range":
        dtype = numbers.choice(["int64"] * 4 + ["int32", "float32", "uint8"])
        return ["range", *numbers.choice([[5], [7], [0], [2, 9], [3, 12, 4], [5, 0, -2], [3, 3], [2, 8, -1]]), dtype]
    if kind == "generator":
        return ["from_generator", numbers.choice(list(generators(tf)))]
    if kind == "zip" and depth == 0:
        return ["zip", *([drawn_source(tf, numbers, 1)] for _ in range(numbers.randint(1, 3)))]
    rows = numbers.choice([0, 1, 2, 3, 5, 6])

    def leaf():
        first = rows if numbers.random() < 0.95 else rows + 1
        return [numbers.choice(DTYPES), [first, *numbers.choice([[], [], [2], [0], [3, 2]])]]

    nest = numbers.choice(["leaf", "leaf", "tuple", "dict", "both"])
    if nest == "both":
        value = ["tuple", leaf(), ["dict", leaf(), leaf()]]
    else:
        value = leaf() if nest == "leaf" else [nest, *(leaf() for _ in range(numbers.randint(1, 3)))]
    return ["from_tensors" if kind == "tensors" else "from_tensor_slices", value]


def drawn_stage(tf, numbers):
    # What is wrong is in here too: sizes below one, functions that do not fit, shapes that differ.
    size = numbers.choice([1, 2, 2, 3, 4, 10, 10, 0, -1] if numbers.random() < 0.2 else [1, 2, 2, 3, 4, 10])
    truth = numbers.random() < 0.4
    count = numbers.choice([0, 1, 2, 3, 20, -1])
    other = [drawn_source(tf, numbers, 1)]
    return numbers.choice(
        [
            *[["batch", size, truth]] * 4,
            ["padded_batch", size, None, None, truth],
            ["padded_batch", size, None, None, truth],
            [
                "padded_batch",
                size,
                numbers.choice([[], [4], [None], [3, None], [0]]),
                numbers.choice([None, 1, "x"]),
                truth,
            ],
            *[["unbatch"]] * 3,
            ["rebatch", size, truth],
            ["rebatch", size, truth],
            *[["map", numbers.choice(list(functions(tf))), numbers.choice([None, None, 2])]] * 6,
            *[["filter", numbers.choice(list(predicates(tf)))]] * 2,
            *[["flat_map", numbers.choice(list(makers(tf)))]] * 2,
            *[["interleave", numbers.choice(list(makers(tf))), numbers.choice([1, 2, 3]), numbers.choice([1, 2])]] * 2,
            ["take", count],
            ["skip", count],
            ["repeat", numbers.choice([0, 1, 2, -1, None])],
            ["shard", numbers.choice([1, 2, 3]), numbers.choice([0, 1])],
            ["concatenate", other],
            ["zipped", other],
            ["enumerate", numbers.choice([0, 3, -2])],
            ["cache"],
            ["prefetch", numbers.choice([0, 1, -1])],
            ["window", size, numbers.choice([None, 1, 2]), numbers.choice([1, 2]), truth],
            ["shuffle", 1],
        ]
    )


def tell(channel, tf, pipeline):
    channel.send(answer(tf, pipeline))


def main():
    """Write the pipelines, and what the installed TensorFlow says to them."""
    import tensorflow as tf

    numbers = random.Random(SEED)
    answers, errors = [], 0
    while len(answers) < COUNT:
        pipeline = drawn(tf, numbers)
        # In a process of its own: some pipelines crash TensorFlow, or never end. Those are shown, and others drawn.
        ours, theirs = multiprocessing.Pipe()
        child = FORK.Process(target=tell, args=(theirs, tf, pipeline))
        child.start()
        theirs.close()
        try:
            found = ours.recv() if ours.poll(30) else None
        except EOFError:
            found = None
        child.kill()
        if found is None:
            print("no answer to", json.dumps(pipeline))
        elif "error" not in found or (errors := errors + 1) <= COUNT // 3:  # most are to deliver something
            answers.append({"pipeline": pipeline, **found})
    ANSWERS.write_text("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in answers) + "\n]\n")


if __name__ == "__main__":
    main()

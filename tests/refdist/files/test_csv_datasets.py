import numpy as np
import pytest

import refdist as tf

FIRST = "x,y,label,name\n1,2.5,0,foo\n3,,1,bar\n5,6.5,0,\n7,8.5,1,qux\n"


@pytest.fixture
def files(tmp_path):
    names = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    for name, text in zip(names, (FIRST, "x,y,label,name\n11,2.5,0,foo\n"), strict=True):
        with open(name, "w") as file:
            file.write(text)
    return names


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


def elements(dataset, count=9):
    return [plain(one) for one in dataset.take(count).as_numpy_iterator()]


# What TensorFlow delivers for these files.
def test_lines_become_tuples_of_columns(files):
    found = tf.data.experimental.CsvDataset(files, [tf.int32, 0.5, tf.int64, "none"], header=True)

    assert [
        (1, 2.5, 0, b"foo"),
        (3, 0.5, 1, b"bar"),
        (5, 6.5, 0, b"none"),
        (7, 8.5, 1, b"qux"),
        (11, 2.5, 0, b"foo"),
    ] == elements(found)
    assert ["int32", "float32", "int64", "object"] == [one.dtype.name for one in found.element_spec]


def test_columns_are_chosen_or_left_out(files):
    kind = tf.data.experimental.CsvDataset
    chosen = kind(files[0], [0.0], header=True, select_cols=[1], na_value="6.5")
    rest = kind(files[0], [tf.int32, tf.int32], header=True, exclude_cols=[1, 3])

    assert [(2.5,), (0.0,), (0.0,), (8.5,)] == elements(chosen)
    assert [(1, 0), (3, 1), (5, 0), (7, 1)] == elements(rest)


def test_a_missing_field_is_an_error_where_it_is_reached(files):
    loop = iter(tf.data.experimental.CsvDataset(files[0], [tf.int32, tf.float32, tf.int64, tf.string], header=True))
    next(loop)

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"missing; expected one.*\. Give it one"):
        next(loop)


def test_quotes_may_surround_line_ends(tmp_path):
    (tmp_path / "a.csv").write_text('1,"a\nb"\n2,c')

    assert [(1, b"a\nb"), (2, b"c")] == elements(
        tf.data.experimental.CsvDataset(str(tmp_path / "a.csv"), [tf.int32, tf.string])
    )


def test_batches_have_columns_by_name_and_the_label_beside_them(files):
    found = tf.data.experimental.make_csv_dataset(files[0], 2, label_name="label", num_epochs=1, shuffle=False)

    assert [
        ({"x": [1, 3], "y": [2.5, 0.0], "name": [b"foo", b"bar"]}, [0, 1]),
        ({"x": [5, 7], "y": [6.5, 8.5], "name": [b"", b"qux"]}, [0, 1]),
    ] == elements(found)
    assert (None,) == found.element_spec[1].shape


def test_batches_without_end_have_one_size(files):
    make = tf.data.experimental.make_csv_dataset
    found = make(files[0], 3, select_columns=["y", "label"], label_name="label", shuffle=False)

    assert [({"y": [2.5, 0.0, 6.5]}, [0, 1, 0]), ({"y": [8.5, 2.5, 0.0]}, [1, 0, 1])] == elements(found, 2)
    assert [{"x": [1, 3, 5]}, {"x": [7, 11]}] == elements(
        make(files, 3, select_columns=["x"], num_epochs=1, shuffle=False)
    )
    assert {1, 3, 5, 7, 11} >= {one for part in elements(make(files, 2, select_columns=["x"]), 3) for one in part["x"]}


def test_a_label_that_is_no_column_is_refused(files):
    with pytest.raises(ValueError, match=r"expected one of x, y, label, name\. Correct"):
        tf.data.experimental.make_csv_dataset(files[0], 2, label_name="nope")


def test_lines_that_cannot_be_read_are_left_out_if_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\noops\n3\n")
    make = tf.data.experimental.make_csv_dataset
    found = make(
        str(tmp_path / "a.csv"), 1, column_defaults=[tf.int32], num_epochs=1, shuffle=False, ignore_errors=True
    )

    assert [{"x": [1]}, {"x": [3]}] == elements(found)


def test_a_dataset_of_texts_becomes_a_file_of_records(tmp_path):
    writer = tf.data.experimental.TFRecordWriter(str(tmp_path / "a"))
    writer.write(tf.data.Dataset.from_tensor_slices([b"a", b"b"]))

    assert [b"a", b"b"] == list(tf.data.TFRecordDataset(str(tmp_path / "a")).as_numpy_iterator())
    with pytest.raises(TypeError, match=r"expected scalars of tf\.string\. Use tf\.io\.serialize_tensor"):
        writer.write(tf.data.Dataset.range(2))

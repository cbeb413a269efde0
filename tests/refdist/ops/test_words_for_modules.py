"""Every name that TensorFlow 2.21 has in the modules that programs use is there, or has a word about what to use instead."""

import json
import pathlib
import re

import pytest

import refdist as tf
from refdist._core.ops.words_for_modules import FOR_MODULES, FOR_NAMES

DOCUMENTED = {
    path: names.split()
    for path, names in json.loads(
        (pathlib.Path(__file__).parents[2] / "fixtures/documented_names.json").read_text()
    ).items()
}


def found(path):
    """What is under a path; None if one of its parts is missing, and says so."""
    here = tf
    for name in filter(None, path.split(".")):
        here = getattr(here, name, None)
        if here is None:
            return None
    return here


@pytest.mark.parametrize("path", [path for path in DOCUMENTED if path != "data.Dataset"])
def test_a_documented_name_is_there_or_has_a_word(path):
    module = found(path)
    for name in DOCUMENTED[path] if module is not None else ():
        if not hasattr(module, name):
            with pytest.raises(AttributeError, match=rf": refdist has no tf\..*{name}; use .+\.$"):
                getattr(module, name)


def test_a_missing_module_has_a_word_itself():
    for path in DOCUMENTED:
        if found(path) is None:
            with pytest.raises(AttributeError, match=r"; use .+"):
                getattr(tf, path.partition(".")[0])


def test_a_method_of_datasets_is_there_or_has_a_word():
    data = tf.data.Dataset.range(2)
    for name in DOCUMENTED["data.Dataset"]:
        if not hasattr(data, name):
            with pytest.raises(AttributeError, match=rf"tf\.data\.Dataset\.{name}; use "):
                getattr(data, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        data.nothing  # noqa: B018


def test_words_are_about_documented_names():
    parts = {name: name.rpartition(".") for name in FOR_NAMES}

    assert [] == [name for name, (path, _, last) in parts.items() if last not in DOCUMENTED[path]]
    assert set() == {path for path in FOR_MODULES if path not in DOCUMENTED} - {
        "autodiff",
        "bitwise",
        "random.experimental",
        "version",
    }


@pytest.mark.parametrize("path", ["image.combined_non_max_suppression", "image.sample_distorted_bounding_box"])
def test_what_is_recommended_for_boxes_is_there(path):
    module, _, name = path.partition(".")
    with pytest.raises(AttributeError) as refused:
        getattr(getattr(tf, module), name)
    _, _, remedy = str(refused.value).partition("; use ")
    recommended = re.findall(r"tf\.([\w.]+)\(", remedy)

    assert recommended
    assert None not in [found(one) for one in recommended]

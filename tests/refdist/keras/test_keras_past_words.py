import importlib

import refdist as tf
from refdist._core.keras.keras_past_words import ARGUMENTS, ATTRIBUTES, FOR_MODULES, NAMES


def reached(home, path):
    for name in filter(None, path.split(".")):
        home = getattr(home, name)
    return home


def test_there_are_words_for_what_is_missing_only():
    for name in NAMES:
        home, _, last = name.rpartition(".")
        assert home in FOR_MODULES
        assert not hasattr(reached(tf.keras, home), last), name


def test_the_modules_classes_and_methods_exist():
    source = importlib.import_module("keras.src")
    for place in [*ATTRIBUTES, *(place for places in ARGUMENTS for place in places.split())]:
        assert callable(reached(source, place))
    for name in FOR_MODULES:
        assert "Use" in missing_from(reached(tf.keras, name))


def missing_from(module):
    try:
        return repr(module.never_heard_of)
    except AttributeError as error:
        return str(error)

import xml.etree.ElementTree as ElementTree

import pytest

import refdist as tf
from tests.refdist.pictures.programs import Trained, central, mirrored, parameter_servers

SVG = "{http://www.w3.org/2000/svg}"


def drawn(strategy, **options):
    return ElementTree.fromstring(Trained(strategy, **options).draw().to_svg())


def texts(root):
    return [element.text for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8])
def test_each_replica_has_a_box_for_each_copy(count):
    root = drawn(mirrored(count))
    boxes = [
        element for element in root.iter(f"{SVG}rect") if element.get("class") == ("equal" if count > 1 else "single")
    ]

    assert count == len(boxes)
    assert [f"GPU:{n}" for n in range(count)] == [text for text in texts(root) if text.startswith("GPU:")]


def test_a_meeting_is_a_bar_with_a_dot_for_each_replica():
    root = drawn(mirrored(3))

    assert 3 == len([one for one in root.iter(f"{SVG}circle") if one.get("class") == "meeting"])
    assert "all_reduce SUM: float32[2,3], 24 B from each replica" in texts(root)


def test_many_replicas_are_two_columns():
    found = texts(drawn(mirrored(1024)))

    assert ["GPU:0", "GPU:1 ... GPU:1023, the same"] == [text for text in found if text.startswith("GPU:")]


@pytest.mark.parametrize("strategy", [mirrored(7), central(3), parameter_servers()], ids=repr)
def test_everything_is_inside_of_the_picture(strategy):
    root = drawn(strategy)
    width, height = map(float, root.get("viewBox").split()[2:])

    for element in root.iter():
        x, y = float(element.get("x") or element.get("cx") or 0), float(element.get("y") or element.get("cy") or 0)
        assert 0 <= x <= x + float(element.get("width") or 0) <= width + (element is root)
        assert 0 <= y <= y + float(element.get("height") or 0 if element is not root else 0) <= height


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b\"c'", "\x00\x1b[31m", "]]>", "\ud800", "é" * 300])
def test_names_are_escaped(name):
    root = drawn(mirrored(2), name=name)

    assert [] == list(root.iter(f"{SVG}script"))
    assert name[:10].translate({0: "\ufffd", 0x1B: "\ufffd", 0xD800: "\ufffd"}) in "".join(root.itertext())


def test_equal_pictures_are_equal_texts_for_light_and_dark_pages():
    first, second = (Trained(mirrored(2)).draw().to_svg() for _ in range(2))

    assert first == second
    assert "prefers-color-scheme:dark" in first
    assert "var(--jp-layout-color0,#fff)" in first


def test_a_function_with_a_hostile_name_is_escaped():
    def step():
        return tf.ones([2])

    step.__name__ = "<b>&"

    root = ElementTree.fromstring(mirrored(1).draw(step).to_svg())

    assert "One run of <b>& on each replica" in texts(root)

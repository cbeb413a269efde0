"""What notebooks show, taken apart: it is well-formed, whatever the names in it are."""

import xml.etree.ElementTree as ElementTree
from typing import Any

SVG = "{http://www.w3.org/2000/svg}"


def parsed(shown: Any) -> ElementTree.Element:
    """The HTML of a value, or its picture; an error if it is not well-formed, or could run something."""
    text = shown._repr_html_() if hasattr(shown, "_repr_html_") else shown._repr_svg_()
    root = ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not tags & {"script", "iframe", "object", "img", "a"}
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    return root


def cells(root: ElementTree.Element) -> list[list[str]]:
    """The rows of all tables, without those of heads."""
    return [
        ["".join(cell.itertext()) for cell in row.iter("td")] for row in root.iter("tr") if row.find("td") is not None
    ]


def heads(root: ElementTree.Element) -> list[str]:
    """The texts above columns."""
    return ["".join(head.itertext()) for head in root.iter("th")]

"""The notebooks in examples/, run by a kernel of their own. To run them again and keep what they show: python -m tests.notebooks"""

import pathlib
import sys
from typing import Any

import nbclient
import nbformat

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
NAMES = ("student", "training_loop", "prediction")


def read(name: str) -> Any:
    """A notebook with what it showed when it was last kept."""
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def executed(notebook: Any) -> Any:
    """What a notebook shows now: in a new kernel, in the folder of the notebooks, without when and how long."""
    fresh = nbformat.from_dict(notebook)
    nbclient.NotebookClient(fresh, timeout=120, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    fresh.metadata = notebook.metadata
    for cell in fresh.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return fresh


def _joined(outputs: Any) -> list[Any]:
    """Outputs in which what was printed piece by piece is one text, however the kernel has sent it."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == "stream" and output.get("name") == joined[-1].get("name"):
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def texts(notebook: Any) -> list[list[str]]:
    """What each cell of code prints and returns, as text."""
    return [
        [one.text if one.output_type == "stream" else one.data["text/plain"] for one in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def forms(notebook: Any) -> list[list[list[str]]]:
    """In which forms each cell of code shows what it returns: text, table, picture."""
    return [
        [sorted(one.data) for one in cell.outputs if "data" in one]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> None:
    """Run the notebooks that are named, or all, and write what they show."""
    for name in sys.argv[1:] or NAMES:
        nbformat.write(executed(read(name)), EXAMPLES / f"{name}.ipynb")


if __name__ == "__main__":
    main()

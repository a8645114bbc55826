"""In every chapter the stubs of the exercises are told "not yet" and the solutions are right.

nbval re-executes the cells and compares, so what is stored is what the code says.
"""

import json
from pathlib import Path

import pytest

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))


def _outputs(path: Path) -> list[tuple[str, str]]:
    """Source and printed text of each code cell."""
    cells = [
        cell
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    printed = [
        "".join("".join(output.get("text", "")) for output in cell["outputs"])
        for cell in cells
    ]
    return [
        ("".join(cell["source"]), text) for cell, text in zip(cells, printed, strict=True)
    ]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_stubs_fail_and_solutions_pass(path):
    stubs = [text for source, text in _outputs(path) if "your turn" in source]
    solutions = [
        text for source, text in _outputs(path) if '#| code-summary: "Solution"' in source
    ]
    assert stubs and len(stubs) == len(solutions)
    for text in stubs:
        assert text.startswith("✗") and "Hint:" in text and "✓" not in text
    for text in solutions:
        assert text.startswith("✓") and "✗" not in text

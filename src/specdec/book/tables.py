"""Tables for the chapters, as Markdown that both renderers and Jupyter set."""

from collections.abc import Iterable, Sequence

from IPython.display import Markdown, display


def show_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Display a table. The first column is set left, the others right.

    Raises:
        ValueError: a row has more or fewer cells than there are headings.
    """
    lines = [headings, [":--", *["--:"] * (len(headings) - 1)]]
    for row in rows:
        if len(row) != len(headings):
            raise ValueError(
                f"each row needs {len(headings)} cells, got {len(row)}: {list(row)}"
            )
        lines.append([str(cell) for cell in row])
    display(Markdown("\n".join("| " + " | ".join(cells) + " |" for cells in lines)))

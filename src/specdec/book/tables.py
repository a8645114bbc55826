"""Tables for the chapters, as Markdown that both renderers and Jupyter set."""

from collections.abc import Iterable, Sequence

from IPython.display import Markdown, display


def show_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    widths: Sequence[int] | None = None,
) -> None:
    """Display a table. The first column is set left, the others right.

    Args:
        headings: one for each column.
        rows: their cells, as Markdown.
        widths: for a table of words: relative widths of the columns, which are then all set left.

    Raises:
        ValueError: a row, or ``widths``, has more or fewer entries than there are headings.
    """
    if widths is None:
        marks = [":--", *["--:"] * (len(headings) - 1)]
    elif len(widths) == len(headings):
        marks = [":" + "-" * width for width in widths]
    else:
        raise ValueError(
            f"widths must have {len(headings)} entries, got {len(widths)}: {list(widths)}"
        )
    lines = [headings, marks]
    for row in rows:
        if len(row) != len(headings):
            raise ValueError(
                f"each row needs {len(headings)} cells, got {len(row)}: {list(row)}"
            )
        lines.append([str(cell) for cell in row])
    display(Markdown("\n".join("| " + " | ".join(cells) + " |" for cells in lines)))

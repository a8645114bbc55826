"""Run notebooks from top to bottom and store their outputs in place: what ``make execute`` calls.

The result is as reproducible as the code in it: no timestamps, streams merged into one output, execution counts
1..n, and notebook metadata reduced to the kernel and the language. A notebook in which a cell fails stays as it was.
"""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

CELL_TIMEOUT_SECONDS = 300
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> None:
    """Execute one notebook and write it back with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        _forget_last_run(cell)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    nbformat.write(notebook, path)


def _forget_last_run(cell) -> None:
    cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags"}
    if cell.cell_type == "code":
        cell.outputs = []
        cell.execution_count = None


def main(paths: list[str]) -> int:
    for path in map(Path, paths):
        print(f"{path} … ", end="", flush=True)
        started = time.monotonic()
        try:
            execute(path)
        except (CellExecutionError, CellTimeoutError) as error:
            print(f"failed; left as it was\n{error}", file=sys.stderr)
            return 1
        print(f"{time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

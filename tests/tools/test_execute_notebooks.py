"""Executing a notebook stores clean outputs and nothing else; a failing notebook stays as it was."""

import nbformat
from execute_notebooks import NOTEBOOK_METADATA, main
from nbformat import v4


def save(path, *sources):
    cells = [
        v4.new_code_cell(source, metadata={"tags": ["kept"], "collapsed": True})
        for source in sources
    ]
    nbformat.write(v4.new_notebook(cells=cells, metadata={"widgets": {}}), path)
    return path


def test_outputs_counts_and_metadata(tmp_path):
    path = save(tmp_path / "a.ipynb", "print(1)\nprint(2)", "print(3)")
    ids = [cell.id for cell in nbformat.read(path, 4).cells]
    assert main([str(path)]) == 0
    done = nbformat.read(path, 4)
    assert [cell.id for cell in done.cells] == ids
    assert [cell.execution_count for cell in done.cells] == [1, 2]
    assert [[output.text for output in cell.outputs] for cell in done.cells] == [
        ["1\n2\n"],
        ["3\n"],
    ]
    assert all(cell.metadata == {"tags": ["kept"]} for cell in done.cells)
    assert done.metadata == NOTEBOOK_METADATA


def test_a_failing_notebook_is_reported_and_left_alone(tmp_path, capsys):
    path = save(tmp_path / "a.ipynb", "print(1)", "raise ValueError('here')")
    before = path.read_text()
    assert main([str(path)]) == 1
    assert "raise ValueError('here')" in capsys.readouterr().err
    assert path.read_text() == before

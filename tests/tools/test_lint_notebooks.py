"""Each rule of the notebook lint catches a notebook that breaks it, and a sound notebook passes them all."""

import nbformat
import pytest
from lint_notebooks import lint, main
from nbformat import v4

PAYLOAD = '<script type="ojs-define">{"contents":[{"name":"rounds","value":[1]}]}</script>'
RAW, OJS, PRINT, FIGURE, BRIDGE = range(5)


def sound_notebook():
    """A small chapter with one cell of each kind that the rules look at."""
    cells = [
        v4.new_raw_cell(
            "---\ntitle: Guess\ndescription: A round\nexactness: exact in law\n---"
        ),
        v4.new_markdown_cell(
            'Text.\n\n```{ojs}\n//| output: false\nimport {f} from "../widgets/f.js"\n```'
        ),
        v4.new_code_cell(
            "print(1)", outputs=[v4.new_output("stream", name="stdout", text="1\n")]
        ),
        v4.new_code_cell(
            "#| label: fig-law\n#| fig-cap: The law\n#| fig-alt: Three bars\nplot()",
            outputs=[v4.new_output("display_data", {"image/png": "aGVsbG8="})],
        ),
        v4.new_code_cell(
            "#| echo: false\nojs_define(rounds=[1])",
            outputs=[
                v4.new_output(
                    "display_data", {"text/html": PAYLOAD}, metadata={"ojs_define": True}
                )
            ],
        ),
    ]
    for count, cell in enumerate(cells[PRINT:], 1):
        cell.execution_count = count
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(
        cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
    )


def replace(number, old, new):
    """A change that replaces text in the source of one cell."""

    def change(notebook):
        assert old in notebook.cells[number].source
        notebook.cells[number].source = notebook.cells[number].source.replace(old, new)

    return change


def never_executed(notebook):
    for cell in notebook.cells[PRINT:]:
        cell.outputs, cell.execution_count = [], None


def executed_out_of_order(notebook):
    notebook.cells[PRINT].execution_count = 7


def without_png(notebook):
    notebook.cells[FIGURE].outputs = [
        v4.new_output("display_data", {"text/plain": "<Figure>"})
    ]


def without_bridge_metadata(notebook):
    notebook.cells[BRIDGE].outputs[0].metadata = {}


def without_payload(notebook):
    notebook.cells[BRIDGE].outputs = []


def warns_on_stderr(notebook):
    notebook.cells[PRINT].outputs.append(
        v4.new_output("stream", name="stderr", text="UserWarning: slow\n")
    )


def ends_in_error(notebook):
    notebook.cells[PRINT].outputs = [
        v4.new_output("error", ename="ValueError", evalue="no", traceback=[])
    ]


def with_timing(notebook):
    notebook.cells[PRINT].metadata["execution"] = {
        "iopub.status.busy": "2026-01-01T00:00:00Z"
    }


def with_widget_state(notebook):
    notebook.metadata["widgets"] = {}


def with_pairing(notebook):
    notebook.metadata["jupytext"] = {"formats": "ipynb,py"}


def with_interpreter_version(notebook):
    notebook.metadata["language_info"]["version"] = "3.11.7"


def with_other_kernel(notebook):
    notebook.metadata["kernelspec"]["name"] = "my-env"


def without_front_matter(notebook):
    del notebook.cells[RAW]


BROKEN = [
    (never_executed, 3, "was not executed"),
    (executed_out_of_order, 3, "execution count is 7, must be 1"),
    (without_png, 4, "fig-law has no PNG"),
    (without_bridge_metadata, 5, "output metadata has lost"),
    (without_payload, 5, "holds no data for the page"),
    (warns_on_stderr, 3, "writes to stderr: UserWarning: slow"),
    (ends_in_error, 3, "ValueError: no"),
    (with_timing, 3, "leftover cell metadata 'execution'"),
    (with_widget_state, 0, "leftover notebook metadata 'widgets'"),
    (with_pairing, 0, "leftover notebook metadata 'jupytext'"),
    (with_interpreter_version, 0, "language_info holds more"),
    (with_other_kernel, 0, "kernel is 'my-env'"),
    (without_front_matter, 1, "must be a raw cell with YAML front matter"),
    (replace(RAW, "title: Guess", "title: 'Guess"), 1, "front matter is not YAML"),
    (replace(RAW, "title: Guess\n", ""), 1, "no title"),
    (replace(RAW, "description: A round\n", ""), 1, "no description"),
    (replace(RAW, "exactness: exact in law\n", ""), 1, "no exactness"),
    (replace(OJS, "//| output: false\n", ""), 2, "only imports needs `//| output: false`"),
    (
        replace(OJS, "\n```", "\n```\n\n```{ojs}\nviewof x = Inputs.range([0, 1])\n```"),
        2,
        "imports no Inputs",
    ),
    (replace(FIGURE, "#| label: fig-law\n", ""), 4, "no `#| label: fig-…`"),
    (replace(FIGURE, "#| fig-cap: The law\n", ""), 4, "no `#| fig-cap`"),
    (replace(FIGURE, "#| fig-alt: Three bars\n", ""), 4, "no `#| fig-alt`"),
    (replace(FIGURE, "The law", "The law: p"), 4, "`#|` options are not YAML"),
    (
        replace(BRIDGE, "echo: false", "include: false"),
        5,
        "`#| include: false` on a bridge cell",
    ),
    (replace(BRIDGE, "#| echo: false\n", ""), 5, "needs `#| echo: false`"),
]


@pytest.fixture
def saved(tmp_path):
    def save(notebook, name="03-guess.ipynb"):
        path = tmp_path / name
        nbformat.write(notebook, path)
        return path

    return save


def test_sound_notebook_passes(saved):
    assert lint(saved(sound_notebook())) == []


def test_a_page_without_a_number_needs_no_exactness(saved):
    notebook = sound_notebook()
    replace(RAW, "exactness: exact in law\n", "")(notebook)
    assert lint(saved(notebook, "pitfalls.ipynb")) == []
    assert lint(saved(notebook)) != []


@pytest.mark.parametrize(
    ("change", "cell", "message"), BROKEN, ids=[message for _, _, message in BROKEN]
)
def test_broken_notebook_is_caught(saved, change, cell, message):
    notebook = sound_notebook()
    change(notebook)
    assert any(
        finding.cell == cell and message in finding.message
        for finding in lint(saved(notebook))
    )


def test_ojs_block_that_does_more_than_import_may_show_its_output(saved):
    notebook = sound_notebook()
    notebook.cells[OJS].source = '```{ojs}\nimport {f} from "../widgets/f.js"\nf(1)\n```'
    assert lint(saved(notebook)) == []


STAND_IN = '#| classes: widget-static\n#| fig-alt: "Three bars"\nplot()'


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        (STAND_IN, []),
        (
            STAND_IN.replace('#| fig-alt: "Three bars"\n', ""),
            ["draws a figure but has no `#| fig-alt`"],
        ),
    ],
)
def test_a_widgets_stand_in_needs_words_but_no_label(saved, source, messages):
    notebook = sound_notebook()
    notebook.cells[FIGURE].source = source
    assert [finding.message for finding in lint(saved(notebook))] == messages


def test_a_library_imported_from_the_vendored_module_may_be_used(saved):
    notebook = sound_notebook()
    notebook.cells[OJS].source = (
        '```{ojs}\n//| output: false\nimport {Plot, md} from "../widgets/vendor/observable.js"\n```\n\n'
        "```{ojs}\nPlot.plot({marks: [Plot.dot(data)], caption: md`words`})\n```"
    )
    assert lint(saved(notebook)) == []


def test_command_names_notebook_and_cell_and_fails(saved, capsys):
    notebook = sound_notebook()
    without_png(notebook)
    assert main([str(saved(notebook))]) == 1
    assert "03-guess.ipynb cell 4: fig-law has no PNG" in capsys.readouterr().out

"""The room that cells will take is kept for them, as it was measured."""

import json

CELL = '```{ojs}\n//| label: fig-a\n//| fig-cap: "A"\n1\n```\n\n```{ojs}\n2\n```'


def record(book, heights) -> None:
    book.write("bench/records/heights.json", json.dumps({"pages": heights}))


def test_a_measured_cell_is_as_tall_as_it_was(book):
    book.notebook(CELL)
    record(book, {"chapters-01-first": {"fig-a": {"320": 700, "1024": 500}, "ojs-cell-2": {"320": 30}}})
    book.build()
    pending = ":not([data-ojs-state])"
    assert (
        "<style>@media screen and (min-width:320px){"
        f"#fig-a .ojs-cell{pending}{{min-height:700px}}#ojs-cell-2{pending}{{min-height:30px}}}}"
        f"@media screen and (min-width:1024px){{#fig-a .ojs-cell{pending}{{min-height:500px}}}}</style>"
    ) in book.page()
    assert "<style>" not in book.page("index.html")


def test_new_heights_write_their_page_again(book):
    book.notebook(CELL)
    book.build()
    assert "<style>" not in book.page()
    record(book, {"chapters-01-first": {"fig-a": {"320": 700}}})
    assert book.build().written == ["chapters/01-first.ipynb"]
    assert "min-height:700px" in book.page()


def test_a_broken_record_is_told(book):
    book.write("bench/records/heights.json", "[]")
    assert any(problem.startswith("bench/records/heights.json: can't be read") for problem in book.problems())

"""Only what changed is written again."""

from render import pandoc

from conftest import code_cell, display

CHAPTER = "chapters/01-first.ipynb"


def test_a_second_build_writes_nothing(book):
    assert len(book.build().written) == 2
    assert book.build().written == []


def test_one_changed_chapter(book):
    book.build()
    book.notebook("Other words.")
    assert book.build().written == [CHAPTER]
    assert "Other words." in book.page()


def test_words_that_were_parsed_are_not_parsed_again(book, monkeypatch):
    book.notebook("Words of this test only.")
    book.build()
    monkeypatch.setattr(pandoc, "_parsed", {})  # as in a process of its own
    parsed, run = [], pandoc._run
    monkeypatch.setattr(
        pandoc, "_run", lambda arguments, text: parsed.append((arguments[1], text)) or run(arguments, text)
    )
    book.notebook("Other words of this test only.")
    book.build()
    texts = [text for source, text in parsed if source == pandoc.MARKDOWN]
    assert len(texts) == 1 and "Other words of this test only." in texts[0]
    assert "Other words of this test only." in book.page()


def test_parsed_words_that_can_not_be_read_are_parsed_again(book):
    book.build()
    (book.root / ".cache" / "render" / "parsed.json").write_text("{broken", encoding="utf-8")
    assert book.build().written == []


def test_a_moved_number_reaches_the_pages_that_refer_to_it(book):
    book.write("index.qmd", "# Preface {.unnumbered}\n\nSee @eq-b.\n")
    book.notebook("$$b$$ {#eq-b}")
    book.build()
    book.notebook("$$a$$ {#eq-a}\n\n$$b$$ {#eq-b}")
    assert len(book.build().written) == 2
    assert "Equation\u00a01.2" in book.page("index.html")


def test_a_changed_title_reaches_every_sidebar(book):
    book.build()
    book.notebook("Words.", front="---\ntitle: Renamed\n---")
    assert len(book.build().written) == 2
    assert "Renamed" in book.page("index.html")


def test_a_changed_widget_rebuilds_and_checks_the_pages_that_import_it(book):
    book.write("widgets/f.js", "export const f = 1;\n")
    book.notebook('```{ojs}\nimport {f} from "../widgets/f.js"\n```')
    book.build()
    book.write("widgets/f.js", "export const f = 2;\n")
    assert book.build().written == [CHAPTER]
    assert (book.out / "widgets/f.js").read_text(encoding="utf-8") == "export const f = 2;\n"
    book.write("widgets/f.js", "export const g = 2;\n")
    assert any(problem.startswith(f"{CHAPTER}, cell 2: ") for problem in book.problems())


def test_a_changed_output_is_written(book):
    def figure(data: str):
        return code_cell('#| fig-alt: "Words"\n1', display({"image/svg+xml": data}))

    book.notebook(figure("<svg/>"))
    book.build()
    book.notebook(figure("<svg />"))
    assert book.build().written == [CHAPTER]
    image = book.out / "chapters/01-first_files/figure-html/cell-2-output-1.svg"
    assert image.read_text(encoding="utf-8") == "<svg />"


def test_what_is_gone_from_the_book_is_gone_from_the_site(book):
    book.notebook(code_cell('#| fig-alt: "Words"\n1', display({"image/svg+xml": "<svg/>"})))
    book.build()
    assert (book.out / "chapters/01-first_files").is_dir()
    book.notebook("Words.")
    book.build()
    assert not (book.out / "chapters/01-first_files").exists()


def test_what_is_not_the_books_own_stays(book):
    book.write("_site/CNAME", "example.org")
    book.build()
    book.build(only_changed=False)
    assert (book.out / "CNAME").is_file()


def test_a_page_removed_from_the_site_is_written_again(book):
    book.build()
    (book.out / "chapters/01-first.html").unlink()
    assert book.build().written == [CHAPTER]


def search_index(book) -> set[str]:
    return {path.name for path in (book.out / "assets" / "search").rglob("*.pf_*")}


def test_the_search_index_follows_the_pages(book):
    book.build()
    first = search_index(book)
    assert sum(name.endswith(".pf_fragment") for name in first) == 2  # one for each page
    book.notebook("Other words.")
    book.build()
    assert search_index(book) != first
    assert sum(name.endswith(".pf_fragment") for name in search_index(book)) == 2


def test_the_search_index_of_unchanged_pages_stays(book):
    book.build()
    engine = book.out / "assets" / "search" / "pagefind.js"
    engine.write_text("kept", encoding="utf-8")
    book.build()
    assert engine.read_text(encoding="utf-8") == "kept"
    engine.unlink()
    book.build()
    assert "kept" not in engine.read_text(encoding="utf-8")


def test_a_broken_link_to_an_unchanged_page_is_found(book):
    book.write("index.qmd", "# Preface {.unnumbered}\n\n[x](chapters/01-first.ipynb#a)\n")
    book.notebook("## A {#a}")
    book.build()
    book.notebook("## A {#b}")
    assert [problem for problem in book.problems() if problem.startswith("index.qmd, line 3: ")]


def test_everything_on_demand(book):
    book.build()
    assert len(book.build(only_changed=False).written) == 2

"""What the commands decide for themselves: which notebooks, which closing lines, what a Quarto log says."""

import re
from pathlib import Path

import dev
import pytest


@pytest.fixture
def chapters(tmp_path, monkeypatch):
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    folder = tmp_path / "chapters"
    folder.mkdir()
    for name in ("03-speculative-sampling.ipynb", "04-medusa.ipynb"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    "named", ["03", "03-speculative-sampling", "chapters/03-speculative-sampling.ipynb"]
)
def test_a_notebook_is_found_by_path_or_beginning(chapters, named):
    assert dev._notebooks([named]) == [chapters / "03-speculative-sampling.ipynb"]


def test_no_name_means_all_notebooks(chapters):
    assert [path.name for path in dev._notebooks([])] == [
        "03-speculative-sampling.ipynb",
        "04-medusa.ipynb",
    ]


@pytest.mark.parametrize("named", ["05", "0"])
def test_an_unknown_or_ambiguous_notebook_is_an_error_that_lists_what_there_is(
    chapters, named
):
    with pytest.raises(dev.DevError, match="03-speculative-sampling, 04-medusa"):
        dev._notebooks([named])


def test_an_unknown_layer_is_an_error_that_lists_what_there_is():
    with pytest.raises(dev.DevError, match="'nope'.*browser"):
        dev.test(["nope"])


def test_closing_lines_of_both_runners_are_kept():
    output = "...\n3 passed in 0.1s\n== 1 failed, 2 passed in 3.00s ==\nℹ tests 4\nℹ pass 4\nℹ fail 0\npassed by\n"
    assert dev.closing_lines(output) == [
        "3 passed in 0.1s",
        "== 1 failed, 2 passed in 3.00s ==",
        "ℹ pass 4",
        "ℹ fail 0",
    ]


def test_a_clean_quarto_log_has_no_faults():
    log = "[1/3] index.qmd\nWARN: OJS block count mismatch. Line number reporting is likely to be wrong\n"
    assert dev.quarto_faults(log, {Path("index.html"): "<p>Figure 1.1</p>"}) == []


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: In file chapters/03.ipynb",
        "\x1b[33mWARN: Unable to resolve link target: x.qmd\x1b[39m",
        "[WARNING] Citeproc: citation nobody not found",
        "OJS parsing failed",
    ],
)
def test_errors_and_warnings_in_a_quarto_log_are_faults(line):
    assert len(dev.quarto_faults(f"[1/3] index.qmd\n{line}\nOutput created", {})) == 1


def test_an_unresolved_reference_in_a_quarto_page_is_a_fault():
    faults = dev.quarto_faults("", {Path("chapters/03.html"): "<strong>?@fig-law</strong>"})
    assert faults == ["chapters/03.html: unresolved reference ?@fig-law"]


def test_an_unchanged_request_installs_nothing(tmp_path, monkeypatch):
    """Set up once with a stub for pip, then again with no way to run anything."""
    for folder in ("requirements", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    for file in (python, tmp_path / "pyproject.toml", tmp_path / "requirements/book.txt"):
        file.touch()
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(dev, "PYTHON", str(python))
    ran = []
    monkeypatch.setattr(dev, "run", lambda *argv: ran.append(argv))
    dev.set_up("book")
    dev.set_up("book")
    assert len(ran) == 1
    (tmp_path / "requirements/book.txt").write_text("nbformat==5.11.1\n")
    dev.set_up("book")
    assert len(ran) == 2


def test_every_command_is_a_target_of_make_and_in_the_readme():
    commands = re.findall(r"^    ([a-z][\w-]*)", dev.parser().format_help(), re.MULTILINE)
    makefile, readme = ((dev.ROOT / name).read_text() for name in ("Makefile", "README.md"))
    targets = re.findall(r"^([\w-]+): ;", makefile, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    described = re.findall(r"^\| `make ([\w-]+)`", readme, re.MULTILINE)
    assert sorted(commands) == sorted(targets) == sorted(phony) == sorted(described)


def test_git_is_told_of_the_drivers_that_its_attributes_name(monkeypatch):
    attributes = (dev.ROOT / ".gitattributes").read_text()
    monkeypatch.setattr(dev, "set_up", lambda requirement_set: None)
    ran = []
    monkeypatch.setattr(dev, "run", lambda *argv: ran.append(argv))
    dev.hooks()
    drivers = {argv[3]: argv[4] for argv in ran if argv[:3] == ("git", "config", "--local")}
    named = re.search(r"^\*\.ipynb diff=(\w+) merge=(\w+)$", attributes, re.MULTILINE)
    assert set(drivers) == {f"diff.{named[1]}.command", f"merge.{named[2]}.driver"}
    assert all(dev.VENV_BIN.as_posix() in command for command in drivers.values())

"""Each hook of ``.pre-commit-config.yaml`` stops a commit that it is there to stop, and a sound one passes them all."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

ROOT = Path(__file__).parents[2]
SOUND = "# Words\n"
BROKEN = {
    "ruff-check": ("module.py", "import os\n"),
    "ruff-format": ("module.py", "values = [ 1,2 ]\n"),
    "codespell": (
        "note.md",
        "The lang" + "auge.\n",
    ),  # in two pieces: this file is checked too
    "end-of-file": ("note.md", "The language."),
    "trailing-whitespace": ("note.md", "The language. \n"),
    "notebooks": ("chapters/03-guess.ipynb", nbformat.writes(v4.new_notebook()) + "\n"),
}


@pytest.fixture
def clone(tmp_path):
    """A repository with the hooks' configuration, their tools, and one sound file."""
    for name in (".pre-commit-config.yaml", "pyproject.toml", "tools/lint_notebooks.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / ".gitignore").write_text(".venv\n")
    (tmp_path / "sound.md").write_text(SOUND)
    return tmp_path


def failed_hooks(clone):
    """Run every hook on every file; return the status and the ids of the hooks that failed."""
    environment = {**os.environ, "PRE_COMMIT_HOME": str(clone / ".git" / "pre-commit")}
    for command in (["git", "init", "--quiet"], ["git", "add", "."]):
        subprocess.run(command, cwd=clone, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never"],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, re.findall(r"^- hook id: (\S+)$", done.stdout, re.MULTILINE)


def test_a_sound_commit_passes(clone):
    assert failed_hooks(clone) == (0, [])


@pytest.mark.parametrize("hook", BROKEN)
def test_a_hook_stops_what_it_is_there_to_stop(clone, hook):
    name, content = BROKEN[hook]
    (clone / name).parent.mkdir(exist_ok=True)
    (clone / name).write_text(content)
    assert failed_hooks(clone) == (1, [hook])


def test_every_hook_is_shown_to_work():
    config = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"- id: (\S+)", config) == list(BROKEN)

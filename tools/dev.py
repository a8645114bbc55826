"""The commands of the book: build it, read it, run its notebooks, test it.

    python tools/dev.py COMMAND        or        make COMMAND

Needs nothing but Python 3.11 or newer and, the first time, the package registries: each command first sets up
what it needs in ``.venv`` and ``node_modules`` and skips that while what was asked for is unchanged. Stdlib only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from headless import find_chromium, serving

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_site"
QUARTO_SITE = ROOT / "_site-quarto"
VENV = ROOT / ".venv"
VENV_BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(VENV_BIN / "python")
OLDEST_PYTHON = (3, 11)

# The sets of requirements that hold the package itself beside what it needs.
SETS_WITH_PACKAGE = {"test", "lab"}

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}


class DevError(Exception):
    """Something that the person at the keyboard can act on; printed without a traceback."""


def environment(**extra: str) -> dict[str, str]:
    """The environment of every command: the tools of ``.venv`` first, one torch thread that does not spin."""
    inherited = dict(os.environ)
    inherited["PATH"] = f"{VENV_BIN}{os.pathsep}{inherited.get('PATH', '')}"
    inherited.setdefault("OMP_NUM_THREADS", "1")
    inherited.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    inherited["PYTHONUNBUFFERED"] = "1"
    return {**inherited, **extra}


def run(*argv: str, **extra_environment: str) -> None:
    """Run a program in the repository's root; end with its exit status if it fails."""
    done = subprocess.run(_resolved(argv), cwd=ROOT, env=environment(**extra_environment))
    if done.returncode:
        raise SystemExit(done.returncode)


def run_and_listen(*argv: str, **extra_environment: str) -> tuple[int, str]:
    """Run a program, showing what it prints as it comes; return its exit status and what it printed."""
    process = subprocess.Popen(
        _resolved(argv),
        cwd=ROOT,
        env=environment(**extra_environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    heard = bytearray()
    while chunk := process.stdout.read1():
        heard += chunk
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    return process.wait(), heard.decode(errors="replace")


def _resolved(argv: tuple[str, ...]) -> list[str]:
    program = shutil.which(argv[0], path=environment()["PATH"])
    if program is None:
        raise DevError(f"{argv[0]} is not on the PATH")
    return [program, *argv[1:]]


def set_up(requirement_set: str) -> None:
    """Make ``.venv`` and install one of the pinned sets in it, unless exactly that is already there."""
    if not Path(PYTHON).exists() and not Path(f"{PYTHON}.exe").exists():
        print("setting up .venv")
        _create_venv()
    with_package = requirement_set in SETS_WITH_PACKAGE
    sources = sorted((ROOT / "requirements").glob("*.txt"))
    if with_package:
        sources.append(ROOT / "pyproject.toml")
    stamp = VENV / f".installed-{requirement_set}"
    asked = _digest(*sources)
    if stamp.exists() and stamp.read_text() == asked:
        return
    print(f"installing requirements/{requirement_set}.txt into .venv", flush=True)
    pip = (PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    run(*pip, "--requirement", f"requirements/{requirement_set}.txt")
    if with_package:
        # The pinned setuptools builds the package, so that this step never needs a registry.
        run(*pip, "--no-deps", "--no-build-isolation", "--editable", ".")
    stamp.write_text(asked)


def _create_venv() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True
    )
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        raise DevError(
            f"could not make .venv with {sys.executable}:\n{made.stdout}{made.stderr}"
        )
    # JupyterLab runs a script of its own in node, which the book's package.json would make an ES module.
    (VENV / "package.json").write_text('{"type": "commonjs"}\n')


def set_up_node() -> None:
    """Install what ``package-lock.json`` names, unless exactly that is already there. Node comes with ``.venv``."""
    stamp = ROOT / "node_modules" / ".installed"
    asked = _digest(ROOT / "package-lock.json")
    if stamp.exists() and stamp.read_text() == asked:
        return
    print("installing package-lock.json into node_modules", flush=True)
    quietly = ("--no-audit", "--no-fund", "--loglevel=error")
    run("npm", "ci", "--ignore-scripts", "--prefer-offline", *quietly)
    stamp.write_text(asked)


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def book() -> None:
    """Build the site with the embedded renderer."""
    set_up("book")
    set_up_node()
    run(PYTHON, *RENDER, "build")
    print(
        "\nThe book is in _site. To read it (pages with modules need a server, file:// can't work):\n"
        "    python3 -m http.server --bind 127.0.0.1 --directory _site 8000\n"
        "and open http://127.0.0.1:8000"
    )


def preview() -> None:
    """Serve the site on 127.0.0.1 and rebuild it when a source changes."""
    set_up("book")
    set_up_node()
    run(PYTHON, *RENDER, "preview")


def lab() -> None:
    """Open the chapters in JupyterLab."""
    set_up("lab")
    # In a container everyone is root, and only this machine can connect.
    server = ("--ServerApp.ip=127.0.0.1", "--ServerApp.allow_root=True")
    run(PYTHON, "-m", "jupyter", "lab", *server, "chapters")


def gallery() -> None:
    """Serve the gallery of all widgets on 127.0.0.1, for those who work on them."""
    with serving(ROOT) as address:
        print(f"The widgets are at {address}/widgets/gallery.html (Ctrl-C ends it)")
        print(
            "Reload the page after a change; ?theme=dark and ?only=NAME choose what it shows.",
            flush=True,
        )
        threading.Event().wait()


# The drivers that .gitattributes names for notebooks.
NBDIME = {
    "diff.jupyternotebook.command": ("git-nbdiffdriver", "diff"),
    "merge.jupyternotebook.driver": ("git-nbmergedriver", "merge %O %A %B %L %P"),
}


def hooks() -> None:
    """Have git check style before each commit, and compare and merge notebooks by cells."""
    set_up("test")
    set_up("lab")
    run(PYTHON, "-m", "pre_commit", "install")
    for key, (program, arguments) in NBDIME.items():
        driver = f'"{(VENV_BIN / program).as_posix()}" {arguments}'
        run("git", "config", "--local", key, driver)


def execute(chapters: list[str]) -> None:
    """Re-run notebooks and store their outputs: those named, or all."""
    set_up("test")
    run(PYTHON, "tools/execute_notebooks.py", *map(str, _notebooks(chapters)))


def _notebooks(chapters: list[str]) -> list[Path]:
    """Find notebooks by path, file name, or the beginning of it (``03``); all of them when none is named."""
    every = sorted((ROOT / "chapters").glob("*.ipynb"))
    if not chapters:
        return every
    found = []
    for chapter in chapters:
        matches = [path for path in every if path.name.startswith(Path(chapter).name)]
        if len(matches) != 1:
            known = ", ".join(path.stem for path in every)
            raise DevError(
                f"{chapter!r} names {len(matches)} notebooks; there are: {known}"
            )
        found += matches
    return found


def vendor(check: bool) -> None:
    """Bundle Observable's libraries into widgets/vendor, or check that the committed bundle is what comes out."""
    set_up("book")
    set_up_node()
    run("node", "tools/vendor.mjs", *(["--check"] if check else []))


RENDER = ("-m", "tools.render")
PYTEST = (PYTHON, "-m", "pytest", "-p", "no:cacheprovider")
# Two processes on two cores, and not more than pay for loading torch in each.
PYTEST_ON_ALL_CORES = (*PYTEST, "--numprocesses", "logical", "--maxprocesses", "4")
NBVAL = (
    *PYTEST_ON_ALL_CORES,
    # A notebook's cells need one kernel, and so one process.
    "--dist",
    "loadfile",
    "--nbval",
    "--nbval-current-env",
    "--nbval-cell-timeout",
    "300",
    "chapters/",
)


@dataclass(frozen=True)
class Layer:
    """One layer of the tests: what it guards, and the commands that check it."""

    guards: str
    commands: tuple[tuple[str, ...], ...]
    needs_chromium: bool = False


# In the order in which they run: what fails fast and explains most comes first.
LAYERS = {
    "style": Layer(
        "code and notebooks have one form and no likely bugs; words are spelled right",
        (
            (PYTHON, "-m", "ruff", "check", "."),
            (PYTHON, "-m", "ruff", "format", "--check", "."),
            (PYTHON, "-m", "codespell_lib"),
        ),
    ),
    "python": Layer(
        "the algorithms: exact output laws by enumeration, wrong variants caught, the contract's figures",
        # By file: a model that one file's tests share is trained once.
        ((*PYTEST_ON_ALL_CORES, "--dist", "loadfile", "tests/python"),),
    ),
    "render": Layer(
        "the embedded renderer: every construct of the book, and one clear error for each broken input",
        (
            (*PYTEST_ON_ALL_CORES, "tests/render"),
            ("node", "--test", "tools/render/node/*.test.mjs"),
        ),
    ),
    "tools": Layer(
        "the commands, the hooks, the notebook lint, Quarto's scripts: each rule catches what breaks it",
        ((*PYTEST_ON_ALL_CORES, "tests/tools"),),
    ),
    "widgets": Layer(
        "what widgets compute equals what Python computes; recorded payloads and vendored bundle are current",
        (("node", "--test", "tests/widgets/*.test.js"), (*PYTEST, "tests/widgets")),
    ),
    "notebooks": Layer(
        "every cell, run again, gives the stored output; and what that comparison passes over is linted",
        ((PYTHON, "tools/lint_notebooks.py"), NBVAL),
    ),
    "site": Layer(
        "the whole book builds: references, links, citations, formulas, OJS cells",
        ((PYTHON, *RENDER, "build", "--all"),),
    ),
    "browser": Layer(
        "the built site in Chromium: widgets show Python's values, nothing overflows, no foreign request, axe",
        # Browsers wait for frames more than they compute, so there is room for one more than two cores.
        ((*PYTEST, "--numprocesses", "3", "tests/browser"),),
        needs_chromium=True,
    ),
}


def test(names: list[str]) -> None:
    """Run the layers of the tests, all or those named; end non-zero if one failed."""
    if unknown := [name for name in names if name not in LAYERS]:
        raise DevError(f"unknown layers {unknown}; there are: {', '.join(LAYERS)}")
    set_up("test")
    set_up_node()
    results = []
    for name in names or LAYERS:
        layer = LAYERS[name]
        print(f"\n{name}: {layer.guards}", flush=True)
        if layer.needs_chromium and not _browser_is_there():
            results.append((name, "failed" if IN_CI else "skipped", [_NO_CHROMIUM]))
            print(_NO_CHROMIUM)
            continue
        started = time.monotonic()
        passed, closing = _run_layer(layer)
        outcome = (
            f"{'passed' if passed else 'FAILED'} in {time.monotonic() - started:.1f} s"
        )
        results.append((name, outcome, closing))
    _report(results)


_NO_CHROMIUM = "browser tests need Chromium or Chrome on the PATH: on Debian, `apt-get install chromium`"

# How much room widgets take depends on the typeface, so what was measured holds for one that every Linux can have.
_BROWSER_PACKAGES = ("chromium-headless-shell", "fonts-liberation")


def _browser_is_there() -> bool:
    """Whether there is a Chromium; before that, install it and its typeface where apt does so without a question."""
    if not (find_chromium() and _has_typeface("Liberation Sans")) and _may_use_apt():
        print(f"installing {' and '.join(_BROWSER_PACKAGES)} with apt-get", flush=True)
        install = ("install", "--yes", "--no-install-recommends", *_BROWSER_PACKAGES)
        for arguments in (("update",), install):
            subprocess.run(
                ["apt-get", "-qq", *arguments],
                env=environment(DEBIAN_FRONTEND="noninteractive"),
                stdout=subprocess.DEVNULL,
            )
    return find_chromium() is not None


def _has_typeface(family: str) -> bool:
    if shutil.which("fc-list") is None:
        return False
    listed = subprocess.run(["fc-list", family], capture_output=True, text=True)
    return bool(listed.stdout.strip())


def _may_use_apt() -> bool:
    return bool(shutil.which("apt-get")) and hasattr(os, "geteuid") and os.geteuid() == 0


def _run_layer(layer: Layer) -> tuple[bool, list[str]]:
    """Run all commands of a layer, also after a failure; return whether all passed, and their closing lines."""
    passed, closing = True, []
    for command in layer.commands:
        status, heard = run_and_listen(*command)
        passed = passed and status == 0
        closing += closing_lines(heard)
    return passed, closing


def closing_lines(output: str) -> list[str]:
    """Return the lines by which pytest and node's test runner say how many tests passed and failed."""
    pattern = re.compile(
        r"^=*\s*(\d+ (passed|failed|error|skipped).*|no tests ran.*)$|^[ℹ#] (pass|fail) \d+$"
    )
    return [line.strip() for line in output.splitlines() if pattern.match(line.strip())]


def _report(results: list[tuple[str, str, list[str]]]) -> None:
    print()
    for name, outcome, closing in results:
        print(f"{name:>10}  {outcome:<18}  {'; '.join(closing)}".rstrip())
    sys.stdout.flush()
    if any(outcome.lower().startswith("failed") for _, outcome, _ in results):
        raise SystemExit(1)


def test_machines() -> None:
    """Re-run the notebooks as other machines would: other vector instructions, other thread counts."""
    set_up("test")
    failed = []
    for machine in _machines():
        print(
            f"\n{' '.join(f'{key}={value}' for key, value in machine.items())}", flush=True
        )
        status, _ = run_and_listen(*NBVAL, **machine)
        if status:
            failed.append(machine)
    if failed:
        raise DevError(f"stored outputs don't survive: {failed}")
    print("\nThe stored outputs came out again on every one of these machines.")


def _machines() -> list[dict[str, str]]:
    """Environments that stand for other machines; torch reads the first two only on x86."""
    on_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    capabilities = ["default", "avx2"] if on_x86 else ["default"]
    return [
        {
            "ATEN_CPU_CAPABILITY": capability,
            "MKL_CBWR": "COMPATIBLE",
            "OMP_NUM_THREADS": threads,
        }
        for capability in capabilities
        for threads in ("1", "2")
    ]


def quarto() -> None:
    """Render the book with real Quarto and check its log and its pages, since it exits 0 after some errors."""
    if shutil.which("quarto") is None:
        raise DevError(
            "quarto is not on the PATH; `make book` builds the same book without it"
        )
    status, log = run_and_listen("quarto", "render", "--output-dir", QUARTO_SITE.name)
    pages = {
        path.relative_to(QUARTO_SITE): path.read_text("utf-8")
        for path in QUARTO_SITE.rglob("*.html")
    }
    faults = quarto_faults(log, pages)
    if status or faults:
        raise DevError("\n".join([f"quarto render exited with {status}", *faults]))
    print(
        f"\nQuarto's book is in {QUARTO_SITE.name}: {len(pages)} pages, no error, warning or open reference."
    )


def quarto_faults(log: str, pages: dict[Path, str]) -> list[str]:
    """Return what is wrong with a rendering: errors and warnings in the log, unresolved references in pages."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", log)
    faults = [line.strip() for line in plain.splitlines() if _is_fault(line)]
    for path, text in sorted(pages.items()):
        faults += [
            f"{path}: unresolved reference {found}"
            for found in re.findall(r"\?@[\w-]+", text)
        ]
    return faults


def _is_fault(line: str) -> bool:
    if (
        "OJS block count mismatch" in line
    ):  # printed for every notebook with OJS, and harmless
        return False
    return bool(re.match(r"\s*\[?(ERROR|WARN)", line)) or "OJS parsing failed" in line


def parser() -> argparse.ArgumentParser:
    """The command line: one subcommand for each target of the Makefile."""
    top = argparse.ArgumentParser(
        prog="dev.py", description="Build, read, run and test the book."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, function, *arguments):
        sub = commands.add_parser(name, help=function.__doc__.splitlines()[0])
        sub.set_defaults(function=function)
        for flags, options in arguments:
            sub.add_argument(flags, **options)

    command("book", book)
    command("preview", preview)
    command("lab", lab)
    command("gallery", gallery)
    command("hooks", hooks)
    command(
        "execute",
        execute,
        ("chapters", {"nargs": "*", "help": "a notebook, or the beginning of its name"}),
    )
    command(
        "test",
        test,
        ("names", {"nargs": "*", "metavar": "layer", "help": ", ".join(LAYERS)}),
    )
    command("test-machines", test_machines)
    command("quarto", quarto)
    command(
        "vendor",
        vendor,
        ("--check", {"action": "store_true", "help": "compare, don't write"}),
    )
    return top


def main() -> None:
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        raise SystemExit(
            f"The book's commands need Python {oldest} or newer; this is {platform.python_version()}."
        )
    options = vars(parser().parse_args())
    options.pop("command")
    function = options.pop("function")
    try:
        function(**options)
    except DevError as error:
        raise SystemExit(f"dev.py: {error}") from None
    except KeyboardInterrupt:  # how a preview or a lab ends
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()

"""Write ``requirements/*.txt`` anew: every package that the extras of ``pyproject.toml`` need, pinned.

    python tools/pin_requirements.py

All extras are installed together in a fresh virtual environment, so that the sets agree on every version and can
share one ``.venv``; each file then gets what its own extra needs, directly or not. Stdlib only; needs the registry.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH = "torch==2.13.0"  # the version that the printed values of the book are checked with
# setuptools stands in the sets that install the package itself, so that this needs no registry later on.
SETS = {
    "book": (["book"], []),
    "test": (["book", "test"], [TORCH, "setuptools>=77"]),
    "lab": (["lab"], [TORCH, "setuptools>=77"]),
}

# Runs inside the fresh environment: requirement strings in, the closure of what is installed for them out.
_CLOSURE = """
import json, sys
from importlib.metadata import distribution
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pins, seen = {}, set()
todo = [Requirement(text) for text in json.loads(sys.argv[1])]
while todo:
    wanted = todo.pop()
    key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
    if key in seen:
        continue
    seen.add(key)
    found = distribution(wanted.name)
    pins[key[0]] = found.version.split("+")[0]
    for text in found.requires or []:
        needed = Requirement(text)
        marker = needed.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (wanted.extras or {""})):
            todo.append(needed)
print(json.dumps(pins))
"""


def main() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    wanted = {
        name: [*first, *(text for extra in used for text in extras[extra])]
        for name, (used, first) in SETS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        python = _fresh_environment(
            Path(folder), sorted({text for texts in wanted.values() for text in texts})
        )
        for name, texts in wanted.items():
            answer = subprocess.run(
                [python, "-c", _CLOSURE, json.dumps(texts)], check=True, capture_output=True
            )
            _write(name, json.loads(answer.stdout))


def _fresh_environment(folder: Path, requirements: list[str]) -> str:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    subprocess.run([python, "-m", "pip", "install", *requirements], check=True)
    return python


def _write(name: str, pins: dict[str, str]) -> None:
    path = ROOT / "requirements" / f"{name}.txt"
    # torch first: pip then never considers another build of it.
    order = sorted(pins, key=lambda package: (package != "torch", package))
    header = "# Written by tools/pin_requirements.py from the extras in pyproject.toml.\n"
    path.write_text(header + "".join(f"{package}=={pins[package]}\n" for package in order))
    print(f"{path.relative_to(ROOT)}: {len(pins)} packages")


if __name__ == "__main__":
    main()

"""Before Quarto renders: see to it that the vendored libraries of the widgets are there.

Quarto runs this in the book's folder (``project: pre-render:`` in ``_quarto.yml``) with whichever Python 3 it finds,
so this needs the standard library only. The bundle is committed: making it is for a checkout that has lost it.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "widgets" / "vendor" / "observable.js"


def main() -> int:
    """Bundle the libraries where they are missing; return the exit status for Quarto."""
    if BUNDLE.is_file():
        return 0
    print(f"{BUNDLE.relative_to(ROOT).as_posix()} is missing: bundling it", flush=True)
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "dev.py"), "vendor"]
    ).returncode


if __name__ == "__main__":
    sys.exit(main())

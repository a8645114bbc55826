"""Command line of the renderer; see the package's docstring."""

import argparse
import sys
from pathlib import Path

from . import BuildError, build
from .serve import preview


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.render", description="Build the book without Quarto.")
    parser.add_argument("command", choices=["build", "preview"])
    parser.add_argument("--root", type=Path, default=Path(), help="the book's folder (default: the current one)")
    parser.add_argument("--out", type=Path, help="where the site goes (default: as _quarto.yml says)")
    parser.add_argument("--all", action="store_true", help="write every page, also those that did not change")
    parser.add_argument("--port", type=int, default=4848, help="port of the preview on 127.0.0.1 (default: 4848)")
    arguments = parser.parse_args()
    try:
        if arguments.command == "preview":
            preview(arguments.root, arguments.out, arguments.port)
        else:
            build(arguments.root, arguments.out, only_changed=not arguments.all)
    except (BuildError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

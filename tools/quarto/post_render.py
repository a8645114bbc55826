"""After Quarto has rendered: take out of its site whatever asks another host for something.

Quarto adds jQuery and RequireJS from a CDN to every page with a ``text/html`` output, fonts with some themes, and
more with some options. The book needs none of it: its maths is MathML, and its widgets bring their libraries along.
Quarto runs this in the book's folder (``project: post-render:`` in ``_quarto.yml``) with whichever Python 3 it finds,
so this needs the standard library only.

Scripts, style sheets and hints to the browser go; what a reader would miss (an image or a frame from elsewhere,
formulas that wait for a script) is an error. Running it twice changes nothing.
"""

from __future__ import annotations

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

FOREIGN = re.compile(r"(?:^|[\s,])(?:https?:)?//", re.IGNORECASE)
# The kinds of link for which a browser opens a connection; others, like canonical, only say something.
FETCHING_LINKS = {
    "stylesheet",
    "preconnect",
    "dns-prefetch",
    "preload",
    "prefetch",
    "modulepreload",
    "icon",
}
# Quarto introduces jQuery to RequireJS in a script of its own, which would throw once RequireJS is gone.
JQUERY_SHIM = re.compile(r"\s*define\(\s*['\"]jquery['\"]")
TYPESETTER = re.compile(r"mathjax|katex", re.IGNORECASE)
UNSET_FORMULA = re.compile(r'class="math (?:inline|display)"')
CSS_IMPORT = re.compile(
    r"""@import\s*(?:url\(\s*["']?((?:https?:)?//[^"')]*)["']?\s*\)"""
    r"""|["']((?:https?:)?//[^"']*)["'])[^;]*;""",
    re.IGNORECASE,
)
CSS_URL = re.compile(r"""url\(\s*["']?((?:https?:)?//[^"')]*)""", re.IGNORECASE)


class Stripped(HTMLParser):
    """A page without requests to other hosts.

    ``text`` is the page, ``removed`` the addresses that it no longer asks for, ``missed`` what could not be removed.
    """

    def __init__(self, html: str):
        super().__init__(convert_charrefs=False)
        self.removed: list[str] = []
        self.missed: list[str] = []
        self._html = html
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", html))]
        self._cuts: list[tuple[int, int]] = []
        self._element: tuple[str, int] | None = (
            None  # the name and the start of the script or style being read
        )
        self.feed(html)
        self.close()
        self.text = self._without_cuts()
        if UNSET_FORMULA.search(self.text) and any(map(TYPESETTER.search, self.removed)):
            self.missed.append("formulas wait for a script: set html-math-method: mathml")

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        start = self._offset()
        if tag == "script":
            self._element = (tag, start)
            if FOREIGN.search(values.get("src", "")):
                self._cut_script(values["src"])
        elif tag == "style":
            self._element = (tag, start)
        elif tag == "link":
            fetches = FETCHING_LINKS & set(values.get("rel", "").lower().split())
            if fetches and FOREIGN.search(values.get("href", "")):
                end = start + len(self.get_starttag_text())
                self._cut(start, end, values["href"])
        else:
            self.missed += [
                f"<{tag}> shows {address}"
                for address in _shown(tag, values)
                if FOREIGN.search(address)
            ]

    def handle_data(self, data: str) -> None:
        tag = self._element and self._element[0]
        if tag == "script" and JQUERY_SHIM.match(data):
            self._cut_script(None)
        elif tag == "style":
            start = self._offset()
            for found in CSS_IMPORT.finditer(data):
                self._cut(start + found.start(), start + found.end(), found[1] or found[2])
            self.missed += _shown_by_css(CSS_IMPORT.sub("", data))

    def handle_endtag(self, tag: str) -> None:
        self._element = None

    def _cut_script(self, address: str | None) -> None:
        start = self._element[1]
        end_tag = re.compile(r"</script\s*>", re.IGNORECASE).search(self._html, start)
        self._cut(start, end_tag.end() if end_tag else len(self._html), address)

    def _cut(self, start: int, end: int, address: str | None) -> None:
        self._cuts.append((start, end))
        if address:
            self.removed.append(address.strip())

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _without_cuts(self) -> str:
        kept, position = [], 0
        for start, end in self._cuts:
            kept.append(self._html[position:start])
            position = end
        return "".join([*kept, self._html[position:]])


def _shown(tag: str, attributes: dict[str, str]) -> list[str]:
    """Addresses of what an element shows; a link's ``href`` is followed by readers, not by browsers."""
    names = ["src", "srcset", "poster", "data"]
    if tag in {"image", "use"}:
        names += ["href", "xlink:href"]
    return [attributes[name] for name in names if name in attributes]


def strip_css(css: str) -> tuple[str, list[str], list[str]]:
    """Return a style sheet without foreign imports, the addresses of these, and what could not be removed."""
    removed = [found[1] or found[2] for found in CSS_IMPORT.finditer(css)]
    text = CSS_IMPORT.sub("", css)
    return text, removed, _shown_by_css(text)


def _shown_by_css(css: str) -> list[str]:
    return [f"a style shows {address}" for address in CSS_URL.findall(css)]


def strip_site(folder: Path) -> tuple[list[str], list[str]]:
    """Strip every page and style sheet of a site; return the addresses removed, and the problems left, sorted."""
    removed, problems = set(), []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".html", ".css"} or not path.is_file():
            continue
        before = path.read_bytes().decode("utf-8")
        if path.suffix == ".html":
            page = Stripped(before)
            after, gone, missed = page.text, page.removed, page.missed
        else:
            after, gone, missed = strip_css(before)
        removed.update(gone)
        name = path.relative_to(folder).as_posix()
        problems += [f"{name}: {miss}" for miss in missed]
        if after != before:
            path.write_bytes(after.encode("utf-8"))
    return sorted(removed), problems


def main() -> int:
    """Strip the site that Quarto has just written; return the exit status for Quarto."""
    folder = os.environ.get("QUARTO_PROJECT_OUTPUT_DIR", "")
    if not folder or not Path(folder).is_dir():
        print(f"QUARTO_PROJECT_OUTPUT_DIR names no folder: {folder!r}", file=sys.stderr)
        return 1
    removed, problems = strip_site(Path(folder))
    for address in removed:
        print(f"no longer asked for: {address}")
    for problem in problems:
        print(f"ERROR: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

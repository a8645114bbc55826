"""The embedded renderer: builds the book that Quarto builds, on a machine that has no Quarto.

It reads the same `_quarto.yml`, the same notebooks (from their stored outputs) and `.qmd` files and the same widgets,
and writes a site with the same text, anchors and numbers. Markdown, citations and code highlighting are pandoc's;
OJS and maths are compiled at build time by `node/compile.mjs`, and `node/search.mjs` indexes the pages for search.

    python -m tools.render build      build the site, only what changed
    python -m tools.render preview    build, serve on 127.0.0.1, rebuild and reload on change

A page passes through these modules in this order: `project` (which pages), `source` (a file's text, cells, outputs),
`structure` (numbers; with `blocks` for figures and callouts, `cells` for code), `glossary` (marks of its words),
`resolve` (references, links), `pages` (HTML) and `checks`; `builder` runs them.

What it does not do, and refuses with a message: PDF, ePub and other formats; executing code; listings; shortcodes;
Lua filters; Quarto extensions; figure layouts and sub-figures; appendices. An option or a construct that it does not
know is an error, never silently dropped.
"""

from .builder import BuildReport, build
from .errors import BuildError

__all__ = ["BuildError", "BuildReport", "build"]

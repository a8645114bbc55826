"""Code cells and OJS blocks: their options, their code, their stored outputs."""

import base64
import html
import json
import re
from typing import TYPE_CHECKING

from . import blocks, pandoc
from .crossref import UNSUPPORTED, prefix_of
from .images import image_size
from .markup import Markup
from .nodes import attr, div, raw, tag, wrap
from .source import CodeCell, split_options

if TYPE_CHECKING:
    from .structure import Structure

_SHARED_OPTIONS = {
    "echo": (True, False),
    "include": (True, False),
    "label": str,
    "fig-cap": str,
    "fig-alt": str,
    "tbl-cap": str,
    "code-fold": (True, False, "true", "false", "show"),
    "code-summary": str,
    "classes": str,
}
PYTHON_OPTIONS = {
    **_SHARED_OPTIONS,
    "output": (True, False, "asis"),
    "fig-width": (int, float),
    "fig-height": (int, float),
}
OJS_OPTIONS = {**_SHARED_OPTIONS, "output": (True, False), "eval": (True, False)}
# The richest form that an output has, in Quarto's order.
MIME_TYPES = (
    "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "text/html", "text/latex", "text/plain",
)  # fmt: skip
IMAGE_SUFFIXES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpeg"}

_OJS_DEFINE = re.compile(r'\s*<script type="ojs-define">(.*)</script>\s*', re.DOTALL)


def code_block(code: str, language: str) -> dict:
    """A listing; what pandoc can't highlight is written here."""
    if language in pandoc.highlighted_languages():
        return {"t": "CodeBlock", "c": [attr("", [language]), code]}
    language_class = tag("code", class_=f"language-{language}" if language else None)
    return raw(
        f'<div class="code-block"><pre tabindex="0">{language_class}{html.escape(code, quote=False)}</code></pre></div>'
    )


def _check_options(page: "Structure", options: dict, known: dict, what: str) -> dict:
    """Options with what is not allowed reported and left out."""
    allowed = {}
    for key, value in options.items():
        if key not in known:
            page.problem(f"unknown option {key} of {what}; known are {', '.join(sorted(known))}")
        elif not _is_allowed(value, known[key]):
            page.problem(f"option {key} of {what} can't be {value!r}")
        else:
            allowed[key] = value
    return allowed


def _is_allowed(value: object, known: object) -> bool:
    if isinstance(known, tuple) and not isinstance(known[0], type):
        return any(value is choice or (isinstance(choice, str) and value == choice) for choice in known)
    return isinstance(value, known)


def _shown_code(code: str, language: str, options: dict) -> list:
    listing = code_block(code, language)
    fold = options.get("code-fold", False)
    if fold in (False, "false"):
        return [listing]
    opening = '<details class="code-fold" open>' if fold == "show" else '<details class="code-fold">'
    summary = f"<summary>{html.escape(options.get('code-summary', 'Code'))}</summary>"
    return wrap(opening + summary, [listing], "</details>")


def _figure_kind(page: "Structure", options: dict) -> str | None:
    """`fig` or `tbl` where the cell's result is a figure or a table with a caption."""
    label = str(options.get("label", ""))
    kind = prefix_of(label)
    if kind not in (None, "fig", "tbl") or label.split("-")[0] in UNSUPPORTED:
        page.problem(f"a cell can't carry the label {label}: it must begin with fig- or tbl-")
        return None
    for name in ("fig", "tbl"):
        if f"{name}-cap" in options and kind not in (None, name):
            page.problem(f"{name}-cap does not go with the label {label}")
    return kind or ("fig" if "fig-cap" in options else "tbl" if "tbl-cap" in options else None)


def _with_caption(page: "Structure", kind: str, options: dict, content: list, name: str = "") -> list:
    label = options.get("label", "")
    caption = page.parse_inlines(options.get(f"{kind}-cap", ""))
    return blocks.figure(page, label if prefix_of(label) else "", content, caption, kind, name)


def ojs_block(page: "Structure", code: str) -> list:
    """A block of OJS: its code unless hidden, and the place where its value will stand."""
    options, source = split_options(code, "//|", page.place(), page.problems)
    options = _check_options(page, options, OJS_OPTIONS, "an OJS block")
    kind = _figure_kind(page, options)
    label = options.get("label", "")
    visible = options.get("include", True)
    result = _shown_code(source, "javascript", options) if visible and options.get("echo", True) else []
    if options.get("eval", True):
        identifier = page.add_ojs(source)
        if visible and options.get("output", True):
            place = [raw(f'<div id="{identifier}" data-ojs class="ojs-cell"></div>')]
            result += _with_caption(page, kind, options, place, options.get("fig-alt", "")) if kind else place
    classes = ["cell", *options.get("classes", "").split()]
    return [div(attr("" if kind else label, classes), result)] if result else []


def code_cell(page: "Structure", cell: CodeCell) -> list:
    """A notebook's code cell: its code unless hidden, and its stored outputs."""
    options = _check_options(page, cell.options, PYTHON_OPTIONS, "a code cell")
    if not options.get("include", True):
        _check_errors(page, cell)
        return []
    kind = _figure_kind(page, options)
    label = options.get("label", "")
    shown = _shown_code(cell.code, "python", options) if options.get("echo", True) else []
    data, results = [], []
    for number, output in enumerate(cell.outputs, 1):
        if _is_bridge(output):
            data += _bridge(page, output)
        elif options.get("output", True) is not False or output["output_type"] == "error":
            results.append((output, _output(page, cell, number, output, options)))
    if kind:
        shown += _captioned_results(page, kind, options, results)
    else:
        shown += [node for _, nodes in results for node in nodes]
    if not shown:
        return data
    classes = ["cell", *options.get("classes", "").split()]
    return [*data, div(attr("" if kind else label, classes), shown)]


def _check_errors(page: "Structure", cell: CodeCell) -> None:
    for output in cell.outputs:
        if output["output_type"] == "error":
            _output(page, cell, 0, output, {})


def _captioned_results(page: "Structure", kind: str, options: dict, results: list) -> list:
    """Outputs of which the one that is drawn is the figure or the table."""
    is_drawn = [output["output_type"] != "stream" or options.get("output") == "asis" for output, _ in results]
    name = options.get("label") or f"the cell with {kind}-cap"
    if sum(is_drawn) != 1:
        page.problem(f"{name} needs one output that is drawn, got {sum(is_drawn)}: run it again, or split the cell")
        return []
    result = []
    for (_, nodes), drawn in zip(results, is_drawn, strict=True):
        result += _with_caption(page, kind, options, nodes) if drawn else nodes
    return result


def _output(page: "Structure", cell: CodeCell, number: int, output: dict, options: dict) -> list:
    """The nodes of one stored output."""
    if output["output_type"] == "error":
        page.problem(f"ended in an error when it was executed: {output['ename']} {output['evalue']}".strip())
        return []
    if output["output_type"] == "stream":
        if options.get("output") == "asis" and output["name"] == "stdout":
            return page.parse(output["text"])
        return [_text_output(output["text"], output["name"])]
    mime = next((kind for kind in MIME_TYPES if kind in output["data"]), None)
    if mime is None:
        page.problem(f"output {number} has no form that a page can show: {', '.join(output['data'])}")
        return []
    content = output["data"][mime]
    if mime in IMAGE_SUFFIXES:
        return [_display([_image(page, f"cell-{cell.number}-output-{number}", mime, output, options)])]
    if mime in ("text/markdown", "text/latex"):
        return [div(attr("", ["cell-output", "cell-output-markdown"]), page.parse(content))]
    if mime == "text/html":
        return [_display([_html(page, content)])]
    return [_text_output(content, "display")]


def _display(content: list) -> dict:
    return div(attr("", ["cell-output", "cell-output-display"]), content)


def _text_output(content: str, stream: str) -> dict:
    escaped = html.escape(content.rstrip("\n"), quote=False)
    return raw(f'<div class="cell-output cell-output-{stream}"><pre tabindex="0"><code>{escaped}</code></pre></div>')


def _html(page: "Structure", markup: str) -> dict:
    for problem in Markup(markup).problems:
        page.problem(f"an output {problem}")
    return blocks.scrolling([raw(markup)]) if "<table" in markup else raw(markup)


def _image(page: "Structure", name: str, mime: str, output: dict, options: dict) -> dict:
    """An image output becomes a file beside the page."""
    alternative = options.get("fig-alt", "")
    if not alternative.strip():
        page.problem("an image without fig-alt: say in words what it shows")
    content = output["data"][mime]
    data = content.encode() if mime == "image/svg+xml" else base64.b64decode(content)
    path = f"{page.source.page.source.stem}_files/figure-html/{name}.{IMAGE_SUFFIXES[mime]}"
    page.media[path] = data
    width, height = image_size(data) or ("", "")
    size = {"width": width, "height": height} | output.get("metadata", {}).get(mime, {})
    # What stands in for a widget on paper is hidden on screen, and should not be fetched for it.
    loading = "lazy" if "widget-static" in options.get("classes", "").split() else ""
    sides = {name: str(size[name]) for name in ("width", "height")}
    return raw(tag("img", src=path, alt=alternative, **sides, loading=loading))


def _is_bridge(output: dict) -> bool:
    markup = output["data"].get("text/html", "")
    return bool(output.get("metadata", {}).get("ojs_define")) or 'type="ojs-define"' in markup


def _bridge(page: "Structure", output: dict) -> list:
    """Values for the page's OJS cells: the output of `ojs_define`."""
    markup = output["data"].get("text/html", "")
    if not output["metadata"].get("ojs_define"):
        page.problem("an output of ojs_define has lost its metadata ojs_define: true")
    script = _OJS_DEFINE.fullmatch(markup)
    if not script or "</script" in script[1]:
        page.problem("an output of ojs_define must be one script element; a string in it may hold </script> unescaped")
        return []
    try:
        contents = json.loads(script[1], parse_constant=_refuse_constant)["contents"]
        page.defined += [entry["name"] for entry in contents]
    except (ValueError, KeyError, TypeError) as error:
        page.problem(f"the data of ojs_define can't be read: {error}")
        return []
    return [raw(markup.strip())]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON: only finite numbers can reach the page")

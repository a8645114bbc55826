"""Quarto's block constructs: figures, tables, callouts, tabsets, theorems, margin notes.

Each function takes the page in its first pass (a `Structure`) and a pandoc node, and returns the nodes that replace it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .crossref import THEOREMS, UNSUPPORTED, WORDS, prefix_of
from .nodes import (
    attr,
    div,
    emph,
    para,
    plain,
    plain_text,
    space,
    span,
    strong,
    tag,
    text,
    wrap,
)

if TYPE_CHECKING:
    from .structure import Structure

CALLOUTS = {"note": "nte", "tip": "tip", "warning": "wrn", "important": "imp", "caution": "cau"}
PROOFS = ("proof", "solution", "remark")
IMAGE_OPTIONS = {"fig-alt", "alt", "width", "height", "fig-align"}
# Classes of divs that mean something to Quarto, and nothing here.
REFUSED_CLASSES = (
    "callout", "content-", "panel-", "column-", "layout-", "cell", "hidden", "aside", "incremental", "quarto-", "grid",
)  # fmt: skip


def figure(page: "Structure", identifier: str, content: list, caption: list, kind: str = "fig", name: str = "") -> list:
    """A numbered figure, or a table with its caption above; an unlabelled one has no number."""
    word = WORDS[kind]
    if identifier:
        label = page.add_label(identifier, word, page.numbering.next(kind))
        name_and_number = span(attr("", ["caption-label"]), [text(label.text)])
        caption = [name_and_number, *([text(":"), space(), *caption] if caption else [])]
    caption_blocks = wrap("<figcaption>", [plain(caption)], "</figcaption>") if caption else []
    if kind == "tbl":
        return wrap(tag("figure", id=identifier, class_="table"), [*caption_blocks, *content], "</figure>")
    return wrap(tag("figure", id=identifier, aria_label=name), [*content, *caption_blocks], "</figure>")


def check_image(page: "Structure", node: dict) -> None:
    """Give an image its alternative text, from `fig-alt` or else its caption; it must have one."""
    (identifier, classes, pairs), alternative, (url, _) = node["c"]
    options = dict(pairs)
    words = options.get("fig-alt") or options.get("alt") or plain_text(alternative)
    if not words.strip():
        page.problem(f'the image {url} has no alternative text: write {{fig-alt="…"}} after it', url)
    for option in options.keys() - IMAGE_OPTIONS:
        page.problem(f"unknown option {option} of the image {url}", url)
    kept = [[key, value] for key, value in pairs if key in ("width", "height")]
    node["c"] = [["", classes, kept], [text(words)], [url, ""]]


def figure_block(page: "Structure", node: dict) -> list:
    """`![caption](file){#fig-x fig-alt="…"}` alone in its paragraph."""
    (identifier, _, _), (_, caption), content = node["c"]
    return figure(page, _label(page, identifier, "fig"), page.inside(content), _caption_inlines(page, caption))


def lone_figure(page: "Structure", node: dict) -> list | None:
    """A paragraph that is one labelled image without a caption, which pandoc takes for an ordinary one."""
    image = node["c"][0] if len(node["c"]) == 1 and node["c"][0]["t"] == "Image" else None
    identifier = image["c"][0][0] if image else ""
    if prefix_of(identifier) != "fig":
        return None
    return figure(page, identifier, [plain(page.inlines([image]))], [])


def table_block(page: "Structure", node: dict) -> list:
    """A table: it scrolls on its own when it is too wide, and has its caption above."""
    (identifier, classes, pairs), (_, caption), *rest = node["c"]
    for option in dict(pairs):
        page.problem(f"unknown option {option} of a table", option)
    caption_inlines = _caption_inlines(page, caption)
    bare = {"t": "Table", "c": [["", classes, []], [None, []], *[page.inside(part) for part in rest]]}
    content = [scrolling([bare])]
    if not (identifier or caption_inlines):
        return content
    return figure(page, _label(page, identifier, "tbl"), content, caption_inlines, "tbl")


def scrolling(content: list) -> dict:
    """A box for a table that may be wider than the page."""
    return div(attr("", ["table-scroll"], tabindex="0"), content)


def _caption_inlines(page: "Structure", caption: list) -> list:
    return page.inlines(caption[0]["c"]) if caption else []


def _label(page: "Structure", identifier: str, kind: str) -> str:
    if identifier and prefix_of(identifier) != kind:
        page.problem(f"the label {identifier} must begin with {kind}-", identifier)
    return identifier


def div_block(page: "Structure", node: dict) -> list:
    """A fenced div: the construct that its class or its label names, or a plain div of the author's own class."""
    (identifier, classes, pairs), content = node["c"]
    prefix = prefix_of(identifier)
    callout_class = next((name for name in classes if name.startswith("callout-")), None)
    if callout_class:
        return _callout(page, callout_class, node)
    if "panel-tabset" in classes:
        return _tabset(page, node)
    if prefix in THEOREMS:
        return _theorem(page, prefix, node)
    if prefix in ("fig", "tbl"):
        return _captioned_div(page, prefix, node)
    proof = next((name for name in classes if name in PROOFS), None)
    if proof:
        return _proof(page, proof, node)
    if prefix or identifier.split("-")[0] in UNSUPPORTED:
        page.problem(f"a div can't carry the label {identifier}", identifier)
    _check_plain_div(page, classes, pairs)
    return [div([identifier, classes, pairs], page.blocks(content))]


def _check_plain_div(page: "Structure", classes: list, pairs: list) -> None:
    for name in classes:
        if name != "column-margin" and name.startswith(REFUSED_CLASSES):
            page.problem(f"unknown construct .{name}: the embedded renderer does not know it", name)
    for option in dict(pairs):
        if not option.startswith(("data-", "aria-")) and option not in ("role", "lang"):
            page.problem(f"unknown option {option} of a div", option)


def _options(page: "Structure", pairs: list, known: dict, what: str) -> dict:
    """Options of a construct as a dictionary; `known` maps each to its allowed values, or to None for any."""
    options = dict(pairs)
    for key, value in options.items():
        if key not in known:
            page.problem(f"unknown option {key} of {what}", key)
        elif known[key] is not None and value not in known[key]:
            page.problem(f"{key} of {what} must be one of {', '.join(known[key])}, got {value}", key)
    return options


def _title_and_body(page: "Structure", title: str | None, content: list) -> tuple[list, list]:
    """A construct's title, from its option or else from its first heading, which leaves the body."""
    if title:
        return page.parse_inlines(title), page.blocks(content)
    if content and content[0]["t"] == "Header":
        return page.inlines(content[0]["c"][2]), page.blocks(content[1:])
    return [], page.blocks(content)


def _callout(page: "Structure", callout_class: str, node: dict) -> list:
    (identifier, classes, pairs), content = node["c"]
    kind = callout_class.removeprefix("callout-")
    if kind not in CALLOUTS:
        page.problem(f"unknown callout .{callout_class}; known are {', '.join(CALLOUTS)}", callout_class)
        return []
    known = {
        "title": None,
        "collapse": ("true", "false"),
        "icon": ("true", "false"),
        "appearance": ("default", "simple", "minimal"),
    }
    options = _options(page, pairs, known, "a callout")
    appearance = options.get("appearance", "default")
    names = ["callout", callout_class, *(name for name in classes if name != callout_class)]
    names += ["no-icon"] if options.get("icon") == "false" else []
    names += [f"appearance-{appearance}"] if appearance != "default" else []

    label = None
    if identifier:
        _label(page, identifier, CALLOUTS[kind])
        label = page.add_label(identifier, kind.capitalize(), page.numbering.next(CALLOUTS[kind]))
    title, body = _title_and_body(page, options.get("title"), content)
    if label:
        title = [text(label.text + (":" if title else "")), *([space(), *title] if title else [])]
    elif not title and (appearance == "default" or "collapse" in options):
        title = [text(kind.capitalize())]

    body = div(attr("", ["callout-body"]), body)
    if "collapse" in options:
        opening = tag("details", id=identifier, class_=" ".join(names))
        if options["collapse"] == "false":
            opening = opening.replace("<details", "<details open")
        heading = wrap('<summary class="callout-title">', [plain(title)], "</summary>")
        return wrap(opening, [*heading, body], "</details>")
    heading = wrap('<p class="callout-title">', [plain(title)], "</p>") if title else []
    opening = tag("div", id=identifier, class_=" ".join(names), role="note", aria_label=kind.capitalize())
    return wrap(opening, [*heading, body], "</div>")


def _tabset(page: "Structure", node: dict) -> list:
    (identifier, classes, pairs), content = node["c"]
    _options(page, pairs, {}, "a tabset")
    level = next((block["c"][0] for block in content if block["t"] == "Header"), None)
    if level is None or content[0]["t"] != "Header":
        page.problem("a tabset begins with the heading of its first tab")
        return []
    page.tabsets += 1
    buttons, panels = [], []
    for index, (title, body) in enumerate(_tabs(content, level), 1):
        panel_id = f"tabset-{page.tabsets}-{index}"
        opening = tag("button", role="tab", id=f"{panel_id}-tab", aria_controls=panel_id, type="button")
        state = ' aria-selected="true">' if index == 1 else ' aria-selected="false" tabindex="-1">'
        buttons += wrap(opening[:-1] + state, [plain(page.inlines(title))], "</button>")
        opening = tag("div", role="tabpanel", id=panel_id, aria_labelledby=f"{panel_id}-tab")
        opening = opening if index == 1 else opening[:-1] + " hidden>"
        panels += wrap(opening, page.blocks(body), "</div>")
    return [div([identifier, classes, []], [*wrap('<div role="tablist">', buttons, "</div>"), *panels])]


def _tabs(content: list, level: int) -> Iterator[tuple[list, list]]:
    """Pairs of title and body."""
    starts = [index for index, block in enumerate(content) if block["t"] == "Header" and block["c"][0] == level]
    for start, end in zip(starts, [*starts[1:], len(content)], strict=True):
        yield content[start]["c"][2], content[start + 1 : end]


def _theorem(page: "Structure", prefix: str, node: dict) -> list:
    (identifier, classes, pairs), content = node["c"]
    options = _options(page, pairs, {"name": None}, "a theorem")
    label = page.add_label(identifier, WORDS[prefix], page.numbering.next(prefix))
    name, body = _title_and_body(page, options.get("name"), content)
    title = [text(label.text), *([space(), text("("), *name, text(")")] if name else [])]
    _prepend(body, [span(attr("", ["theorem-title"]), [strong(title)]), space()])
    return [div([identifier, [WORDS[prefix].lower(), *classes], []], body)]


def _proof(page: "Structure", kind: str, node: dict) -> list:
    (identifier, classes, pairs), content = node["c"]
    options = _options(page, pairs, {"name": None}, f"a {kind}")
    name, body = _title_and_body(page, options.get("name"), content)
    title = [emph([text(kind.capitalize())]), *([text(" ("), *name, text(")")] if name else []), text(". ")]
    _prepend(body, [span(attr("", ["proof-title"]), title)])
    return [div([identifier, classes, []], body)]


def _prepend(body: list, inlines: list) -> None:
    """Put words at the start of the first paragraph, or into one of their own."""
    if body and body[0]["t"] == "Para":
        body[0]["c"] = inlines + body[0]["c"]
    else:
        body.insert(0, para(inlines))


def _captioned_div(page: "Structure", kind: str, node: dict) -> list:
    """`::: {#fig-x}`: whatever it holds, with its last paragraph as the caption."""
    (identifier, classes, pairs), content = node["c"]
    _options(page, pairs, {"fig-cap": None, "tbl-cap": None, "fig-alt": None}, "a figure div")
    options = dict(pairs)
    caption = page.parse_inlines(options[f"{kind}-cap"]) if f"{kind}-cap" in options else []
    if not caption and len(content) > 1 and content[-1]["t"] == "Para":
        caption = page.inlines(content[-1]["c"])
        content = content[:-1]
    if sum(_is_figure(block) for block in content) > 1:
        page.problem(f"{identifier} holds several images: the embedded renderer knows no sub-figures", identifier)
    name = options.get("fig-alt", "")
    return figure(page, identifier, page.blocks([_unlabelled(block) for block in content]), caption, kind, name)


def _is_figure(block: dict) -> bool:
    return block["t"] == "Figure" or (block["t"] == "Para" and any(node["t"] == "Image" for node in block["c"]))


def _unlabelled(block: dict) -> dict:
    """An image whose caption became its alternative text when the div around it is the figure."""
    if block["t"] == "Figure":
        return block["c"][2][0]
    return block

"""Writes pages: the fragment that pandoc makes of a page's nodes, and the template `assets/page.html` around it."""

import html
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import pandoc
from .heights import reserving_style
from .nodes import attr, div, plain, plain_text, raw
from .project import PageFile, Project
from .resolve import Resolved

TEMPLATE = Path(__file__).parent / "assets" / "page.html"
TOC_LEVELS = (2, 3)

_FRONT = ("title", "subtitle", "description")
_FRONT_END = "<!--end of front matter-->"
_REFS_START, _REFS_END = "<!--start of refs-->", "<!--end of refs-->"
_LISTING = re.compile(
    r'<div class="sourceCode" id="cb\d+"><pre\s+class="sourceCode ([\w+-]+)"><code\s+class="sourceCode [\w+-]+">'
)
_LISTING_LINE = re.compile(r'<span id="cb\d+-\d+"><a href="#cb\d+-\d+" aria-hidden="true" tabindex="-1"></a>')
_HEADING = re.compile(r'<h([2-6])((?: [\w-]+="[^"]*")*)>(.*?)</h\1>', re.DOTALL)
_CITATION_LINK = re.compile(r'<a href="#(ref-[^"]+)"')
_PRELOADED_FONT = '<link rel="preload" href="{}" as="font" type="font/woff2" crossorigin>'
_TEXT_FONTS = ("font_regular", "font_italic", "font_bold")
_MATH_FONTS = ("font_math", "font_variables")
# A short formula and the punctuation that touches it.
_TOUCHED_FORMULA = re.compile(r"([(\[“‘]*)(<!--formula (\d+)-->)([,.;:!?)\]”’…–-]*)")
_SHORT_FORMULA = 24  # letters of TeX; a longer one must be able to break between its parts


@dataclass(frozen=True)
class Chapter:
    """A page as the others see it: in the sidebar, and as the previous or the next one."""

    file: PageFile
    title: str
    number: int | None

    @property
    def heading(self) -> str:
        return _numbered(self.number, html.escape(self.title, quote=False))


@dataclass
class Fragment:
    """A page's own HTML; formulas are still marks."""

    title: str
    subtitle: str
    description: str
    content: str


def _numbered(number: int | None, title: str) -> str:
    return title if number is None else f'<span class="chapter-number">{number}</span> {title}'


def write_fragment(page: Resolved, project: Project, references: PageFile | None, cited: list[str]) -> Fragment:
    """Have pandoc write a page; its list of works goes, for the book has one, on the page `references`."""
    front = [node for key in _FRONT for node in (plain(page.front[key]), raw(_FRONT_END))]
    blocks = [*front, *page.nodes]
    if page.file != references:
        blocks += [raw(_REFS_START), div(attr("refs"), []), raw(_REFS_END)]
    written = pandoc.write(blocks, project.bibliography, project.csl, cited if page.file == references else [])
    *front, content = written.split(_FRONT_END, len(_FRONT))
    if page.file != references:
        before, rest = content.split(_REFS_START, 1)
        content = before + rest.split(_REFS_END, 1)[1]
    address = posixpath.relpath(references.output, page.file.output.parent) if references else ""
    address = "" if page.file == references else address
    content = _CITATION_LINK.sub(rf'<a class="citation" href="{address}#\1"', content)
    content = _LISTING_LINE.sub("<span>", _LISTING.sub(_open_listing, content))
    return Fragment(*(part.strip() for part in [*front, content]))


def _open_listing(match: re.Match) -> str:
    return f'<div class="code-block"><pre tabindex="0"><code class="language-{match[1]}">'


def fill_template(
    page: Resolved, fragment: Fragment, chapters: list[Chapter], project: Project, compiled: dict, heights: dict
) -> str:
    """The whole page; `compiled` is the answer of `node.compile_pages`, `heights` those of the page's OJS cells."""
    formulas = compiled["math"][page.file.id]
    fragment = Fragment(**{key: _typeset(part, page, formulas) for key, part in vars(fragment).items()})
    this = next(chapter for chapter in chapters if chapter.file == page.file)
    head_title = " ".join(filter(None, [str(this.number or ""), this.title]))
    return _fill(
        project,
        compiled["assets"],
        root=page.file.root,
        head_title=f"{head_title} – {project.title}",
        description=plain_text(page.front["description"]) or project.subtitle,
        page_id=page.file.id,
        fonts=[*_TEXT_FONTS, *(_MATH_FONTS if formulas else [])],
        head_extra=reserving_style(heights) + _scripts(page.file, compiled),
        sidebar=_sidebar(chapters, page.file),
        title_block=_title_block(page, fragment, this.number),
        content=fragment.content,
        toc=_toc(fragment.content),
        page_nav=_page_nav(chapters, this),
    )


def fill_not_found(chapters: list[Chapter], project: Project, assets: dict) -> str:
    """The page that a server shows for an address that does not exist; it may stand at any depth."""
    pages = _sidebar(chapters, None, project.site_path)
    return _fill(
        project,
        assets,
        root=project.site_path,
        head_title=f"Page not found – {project.title}",
        description=project.subtitle,
        page_id="not-found",
        fonts=_TEXT_FONTS,
        head_extra="",
        sidebar=pages,
        title_block='<header class="title-block"><h1 class="title">Page not found</h1></header>',
        content=(
            "<p>There is no page at this address. These are the pages of the book; the search looks through them.</p>"
            f'<nav class="all-pages" aria-label="Pages">{pages}</nav>'
        ),
        toc="",
        page_nav="",
    )


def _fill(
    project: Project, assets: dict, *, root: str, head_title: str, description: str, fonts: Iterable[str], **values: str
) -> str:
    values |= {
        "lang": project.lang,
        "head_title": html.escape(head_title),
        "description": html.escape(description),
        "root": root,
        "fonts": "\n".join(_PRELOADED_FONT.format(root + assets[font]) for font in fonts),
        "css": assets["css"],
        "theme_js": assets["theme"],
        "site_js": assets["site"],
        "book_title": html.escape(project.title),
        "home": f"{root}{project.pages[0].output}",
        "footer": project.footer,
        "toc_button": "" if values["toc"] else " hidden",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], TEMPLATE.read_text(encoding="utf-8"))


def _typeset(fragment: str, page: Resolved, formulas: list[str]) -> str:
    """Put the formulas where their marks are; a short one and the punctuation that touches it stay on one line."""

    def place(match: re.Match) -> str:
        before, _, number, after = match.groups()
        index = int(number)
        whole = f"{before}{formulas[index]}{after}"
        formula = page.formulas[index]
        is_kept_whole = not formula.display and len(formula.tex) <= _SHORT_FORMULA
        return f'<span class="nowrap">{whole}</span>' if (before or after) and is_kept_whole else whole

    return _TOUCHED_FORMULA.sub(place, fragment)


def _scripts(file: PageFile, compiled: dict) -> str:
    module = compiled["pages"].get(file.id)
    if not module:
        return ""
    runtime = f'<link rel="modulepreload" href="{file.root}{compiled["assets"]["runtime"]}">'
    return f'{runtime}\n<script type="module" src="{file.root}{module["module"]}"></script>'


def _sidebar(chapters: list[Chapter], current: PageFile | None, root: str | None = None) -> str:
    prefix = root if root is not None else current.root
    lines, part = ["<ul>"], None
    for chapter in chapters:
        if chapter.file.part != part:
            lines += ["</ul></li>"] if part is not None else []
            part = chapter.file.part
            if part is not None:
                lines.append(f'<li class="part"><span class="part-title">{html.escape(part)}</span><ul>')
        mark = ' aria-current="page"' if chapter.file == current else ""
        lines.append(f'<li><a href="{prefix}{chapter.file.output}"{mark}>{chapter.heading}</a></li>')
    return "\n".join([*lines, *(["</ul></li>"] if part is not None else []), "</ul>"])


def _title_block(page: Resolved, fragment: Fragment, number: int | None) -> str:
    front, file = page.page.source.front, page.file
    identifier = page.page.source.title_attr[0]
    heading = f'<h1 class="title" id="{identifier}">' if identifier else '<h1 class="title">'
    lines = ['<header class="title-block">', f"{heading}{_numbered(number, fragment.title)}</h1>"]
    for key, words in (("subtitle", fragment.subtitle), ("description", fragment.description)):
        lines += [f'<p class="{key}">{words}</p>'] if words else []
    meta = []
    if "exactness" in front:
        kind = front["exactness"].replace(" ", "-")
        meta.append(f'<span class="exactness exactness-{kind}">{front["exactness"]}</span>')
    if page.page.source.is_notebook:
        meta.append(f'<a class="download" href="{file.source.name}" download>Download this notebook</a>')
    lines += [f'<div class="title-meta">{" ".join(meta)}</div>'] if meta else []
    return "\n".join([*lines, "</header>"])


def _toc(content: str) -> str:
    """Lists of the page's sections, nested by level."""
    lines, depth = [], 0
    for level, attributes, title in _HEADING.findall(content):
        identifier = re.search(r' id="([^"]+)"', attributes)
        if int(level) not in TOC_LEVELS or not identifier or "unlisted" in attributes:
            continue
        wanted = min(TOC_LEVELS.index(int(level)) + 1, depth + 1)
        if wanted > depth:
            lines.append("<ul>")
        else:
            lines.append("</li>" + "</ul></li>" * (depth - wanted))
        depth = wanted
        lines.append(f'<li><a href="#{identifier[1]}">{_without_links(title)}</a>')
    return "\n".join([*lines, "</li></ul>" * depth])


def _without_links(title: str) -> str:
    title = re.sub(r'<a [^>]*role="doc-noteref".*?</a>', "", title, flags=re.DOTALL)
    return re.sub(r'</?a\b[^>]*>| id="[^"]*"', "", title)


def _page_nav(chapters: list[Chapter], this: Chapter) -> str:
    index = chapters.index(this)
    neighbours = [("prev", "Previous", index - 1), ("next", "Next", index + 1)]
    lines = []
    for rel, label, position in neighbours:
        if 0 <= position < len(chapters):
            chapter = chapters[position]
            lines.append(
                f'<a rel="{rel}" href="{this.file.root}{chapter.file.output}">'
                f'<span class="page-nav-label">{label}</span>'
                f'<span class="page-nav-title">{chapter.heading}</span></a>'
            )
    return "\n".join(lines)

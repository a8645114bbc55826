"""What runs before and after Quarto: the site that it writes asks no other host for anything.

The sample page has what Quarto 1.3 to 1.11 put into pages with ``text/html`` outputs, OJS cells, formulas and themes,
reconstructed from pages of its making; ``test_quarto_site.py`` looks at a real rendering where there is Quarto.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from quarto import post_render, pre_render
from quarto.post_render import Stripped, strip_css, strip_site

REQUIRE = (
    '<script src="https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js"'
    ' integrity="sha512-x==" crossorigin="anonymous"></script>'
)
JQUERY = (
    '<script src="https://cdn.jsdelivr.net/npm/jquery@3.5.1/dist/jquery.min.js"'
    ' crossorigin="anonymous" data-relocate-top="true"></script>'
)
SHIM = "<script type=\"application/javascript\">define('jquery', [],function() {return window.jQuery;})</script>"
POLYFILL = '<script src="https://cdnjs.cloudflare.com/polyfill/v3/polyfill.min.js?features=es6"></script>'
MATHJAX = '<script src="https://cdn.jsdelivr.net/npm/mathjax@3/es5/tex-chtml-full.js" type="text/javascript"></script>'
PRECONNECT = '<link rel="preconnect" href="https://fonts.gstatic.com" crossorigin>'
FONTS = '<link rel="stylesheet"\n  href="//fonts.googleapis.com/css2?family=Source+Sans+Pro:wght@300;400&display=swap">'
INLINE = '<script type="text/javascript">\nif (1 < 2) { document.title; }\n</script>'

PAGE = f"""<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head>
<meta charset="utf-8">
<link href="../site_libs/bootstrap/bootstrap.min.css" rel="stylesheet" class="quarto-color-scheme">
<link rel="canonical" href="https://example.org/book/chapters/03.html">
@HEAD@
<script src="../site_libs/quarto-ojs/quarto-ojs-runtime.js" type="module"></script>
{INLINE}
</head><body>
<p>Wörter, <a href="https://arxiv.org/abs/2211.17192">a paper</a> and <math><mi>α</mi></math>.</p>
<img src="03_files/figure-html/cell-5-output-1.png" alt="Bars">
<script type="ojs-define">{{"contents":[{{"name":"source","value":"see https://arxiv.org <script src='https://x.org/a.js'>"}}]}}</script>
@BODY@
</body></html>
"""


def page(head="", body=""):
    return PAGE.replace("@HEAD@", head).replace("@BODY@", body)


CLEAN = page()


@pytest.mark.parametrize(
    ("tag", "host"),
    [
        (REQUIRE, "cdnjs.cloudflare.com"),
        (JQUERY, "cdn.jsdelivr.net"),
        (POLYFILL, "cdnjs.cloudflare.com"),
        (MATHJAX, "cdn.jsdelivr.net"),
        (PRECONNECT, "fonts.gstatic.com"),
        (FONTS, "fonts.googleapis.com"),
    ],
)
def test_a_foreign_script_or_style_goes_and_nothing_else(tag, host):
    stripped = Stripped(page(tag, tag))
    assert stripped.text == CLEAN
    assert len(stripped.removed) == 2 and all(
        host in address for address in stripped.removed
    )
    assert stripped.missed == []


def test_the_script_that_needs_requirejs_goes_with_it():
    assert Stripped(page(f"{REQUIRE}{JQUERY}{SHIM}")).text == CLEAN


def test_a_page_that_asks_nobody_stays_as_it_is():
    stripped = Stripped(CLEAN)
    assert (stripped.text, stripped.removed, stripped.missed) == (CLEAN, [], [])


@pytest.mark.parametrize(
    "element",
    [
        '<img src="https://img.shields.io/badge.svg" alt="">',
        '<img src="a.png" srcset="a.png 1x, https://example.org/b.png 2x" alt="">',
        '<iframe src="//www.youtube.com/embed/x"></iframe>',
        '<svg><image href="https://example.org/a.png"/></svg>',
        '<style>.a { background: url("https://example.org/a.png") }</style>',
    ],
)
def test_what_a_reader_would_miss_is_a_problem(element):
    stripped = Stripped(page(body=element))
    assert len(stripped.missed) == 1
    assert stripped.text == page(body=element)


def test_formulas_that_wait_for_mathjax_are_a_problem():
    formula = r'<span class="math inline">\(\alpha\)</span>'
    assert "html-math-method" in Stripped(page(MATHJAX, formula)).missed[0]
    assert Stripped(page(MATHJAX)).missed == []
    assert Stripped(page(body=formula)).missed == []


GOOGLE = (
    "https://fonts.googleapis.com/css2?family=Source+Sans+Pro:wght@300;400;700&display=swap"
)


@pytest.mark.parametrize(
    "statement",
    [f'@import"{GOOGLE}";', f"@import url({GOOGLE}) screen;", f"@import url('{GOOGLE}');"],
)
def test_a_foreign_import_goes_from_a_style(statement):
    rules = "a{background:url(\"data:image/svg+xml,%3csvg xmlns='http://www.w3.org/2000/svg'/%3e\")}"
    assert strip_css(statement + rules) == (rules, [GOOGLE], [])
    stripped = Stripped(page(f"<style>\n{statement}{rules}</style>"))
    assert (stripped.text, stripped.removed) == (
        page(f"<style>\n{rules}</style>"),
        [GOOGLE],
    )


@pytest.fixture
def site(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters/03.html").write_bytes(
        page(REQUIRE).replace("\n", "\r\n").encode()
    )
    (tmp_path / "theme.css").write_text(f'@import"{GOOGLE}";a{{color:red}}')
    (tmp_path / "figure.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_a_whole_site_is_stripped_once_and_for_all(site):
    removed, problems = strip_site(site)
    assert [address.split("/")[2] for address in removed] == [
        "cdnjs.cloudflare.com",
        "fonts.googleapis.com",
    ]
    assert problems == []
    assert (site / "chapters/03.html").read_bytes().decode() == CLEAN.replace("\n", "\r\n")
    assert (site / "theme.css").read_text() == "a{color:red}"
    assert strip_site(site) == ([], [])


def run_post_render(environment):
    return subprocess.run(
        [sys.executable, post_render.__file__],
        env=environment,
        capture_output=True,
        text=True,
    )


def test_quarto_hears_what_is_left(site):
    (site / "index.html").write_text(
        page(body='<iframe src="https://example.org"></iframe>')
    )
    done = run_post_render({"QUARTO_PROJECT_OUTPUT_DIR": str(site)})
    assert done.returncode == 1
    assert done.stderr == "ERROR: index.html: <iframe> shows https://example.org\n"
    assert "require.min.js" in done.stdout


@pytest.mark.parametrize("folder", [{}, {"QUARTO_PROJECT_OUTPUT_DIR": "/nowhere"}])
def test_no_site_to_strip_is_an_error(folder):
    done = run_post_render(folder)
    assert done.returncode == 1 and "QUARTO_PROJECT_OUTPUT_DIR" in done.stderr


def test_the_bundle_is_made_only_where_it_is_missing(tmp_path, monkeypatch):
    """In place of the command that bundles, a script that writes what it was asked for."""
    bundle = tmp_path / "widgets/vendor/observable.js"
    bundle.parent.mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/dev.py").write_text(
        f"import pathlib, sys\npathlib.Path({str(bundle)!r}).write_text(sys.argv[1])\n"
    )
    monkeypatch.setattr(pre_render, "ROOT", tmp_path)
    monkeypatch.setattr(pre_render, "BUNDLE", bundle)
    assert pre_render.main() == 0 and bundle.read_text() == "vendor"
    bundle.write_text("as committed")
    assert pre_render.main() == 0 and bundle.read_text() == "as committed"


def test_a_bundle_that_cannot_be_made_stops_quarto(tmp_path, monkeypatch):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/dev.py").write_text("raise SystemExit(3)\n")
    monkeypatch.setattr(pre_render, "ROOT", tmp_path)
    monkeypatch.setattr(pre_render, "BUNDLE", tmp_path / "observable.js")
    assert pre_render.main() == 3


def test_quarto_is_told_of_both_scripts():
    config = (Path(__file__).parents[2] / "_quarto.yml").read_text()
    assert "pre-render: tools/quarto/pre_render.py" in config
    assert "post-render: tools/quarto/post_render.py" in config

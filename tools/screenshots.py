"""Take pictures of every page of the built site: wide, tablet, phone, dark, print.

    .venv/bin/python tools/screenshots.py FOLDER [PAGE …]      (pages relative to _site; all when none is named)

For looking at what one has changed. Pictures are of the whole page, from its first line to its footer.
"""

import argparse
from pathlib import Path

from headless import browsing, draw_cells, find_chromium, serving, settle

SITE = Path(__file__).resolve().parent.parent / "_site"
DRAWN_WITHIN_MILLISECONDS = 15_000

# width in CSS pixels, colour scheme, medium
LOOKS = {
    "wide": (1440, "light", "screen"),
    "tablet": (820, "light", "screen"),
    "phone": (390, "light", "screen"),
    "dark": (1440, "dark", "screen"),
    "phone-dark": (390, "dark", "screen"),
    "print": (794, "light", "print"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", metavar="page")
    options = parser.parse_args()
    pages = options.pages or sorted(
        path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")
    )
    chromium = find_chromium()
    if chromium is None or not pages:
        parser.error("needs Chromium on the PATH and a built site (make book)")
    options.folder.mkdir(parents=True, exist_ok=True)
    with serving(SITE) as address, browsing(chromium) as browser:
        for page in pages:
            for look, (width, theme, medium) in LOOKS.items():
                name = f"{page.removesuffix('.html').replace('/', '-')}-{look}.png"
                _take(
                    browser,
                    f"{address}/{page}",
                    options.folder / name,
                    width,
                    theme,
                    medium,
                )
                print(options.folder / name)


def _take(browser, address: str, target: Path, width: int, theme: str, medium: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=theme)
    page.goto(address)
    settle(page)
    draw_cells(page, DRAWN_WITHIN_MILLISECONDS)
    page.emulate_media(media=medium, color_scheme=theme)
    page.screenshot(path=target, full_page=True)
    page.close()


if __name__ == "__main__":
    main()

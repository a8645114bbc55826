"""Measure the built site: what its pages weigh, how soon they answer, whether anything moves, how fast sliders are.

    .venv/bin/python bench/site.py               print it
    .venv/bin/python bench/site.py --record      and write bench/records/site.json, with machine and date
    .venv/bin/python bench/site.py --heights     measure instead how tall drawn cells are: bench/records/heights.json,
                                                 by which the renderer keeps their room; then build the book again

Needs Chromium on the PATH and a built site (make book). Figures depend on the machine, so no test looks at them.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import sys
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from headless import browsing, draw_cells, find_chromium, serving, settle  # noqa: E402

SITE = ROOT / "_site"
RECORDS = ROOT / "bench" / "records"
INSTRUMENTS = ROOT / "bench" / "site.js"

VIEWPORTS = {"laptop": (1280, 800), "phone": (390, 844)}
# Windows at which the text column, and so a widget, changes its width; between them heights hardly differ.
WIDTHS = (320, 360, 390, 430, 520, 640, 768, 860, 1024, 1120)
LOADS = 7
MOVES = 24
DRAWN_WITHIN_MILLISECONDS = 20_000
REDRAWN_AFTER_MILLISECONDS = 300

# The project's bars; the milliseconds are those of a page on this machine's own server.
BARS = {"kilobytes": 700, "interactive": 1000, "shift": 0.02, "p95": 50, "frames": 2}

KINDS = {
    ".html": "text", ".css": "style", ".js": "script", ".woff2": "font", ".png": "image", ".svg": "image",
}  # fmt: skip
COMPRESSED = {"text", "style", "script"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--record", action="store_true", help="write bench/records/site.json"
    )
    parser.add_argument(
        "--heights",
        action="store_true",
        help="write bench/records/heights.json and nothing else",
    )
    options = parser.parse_args()
    chromium = find_chromium()
    pages = sorted(path for path in SITE.rglob("*.html") if "widgets" not in path.parts)
    if chromium is None or not pages:
        parser.error("needs Chromium on the PATH and a built site (make book)")
    with serving(SITE) as address, browsing(chromium) as browser:
        bench = Bench(
            browser, address, [path.relative_to(SITE).as_posix() for path in pages]
        )
        if options.heights:
            write_record("heights.json", {"pages": bench.heights()})
            return
        results = bench.measure()
    if options.record:
        write_record(
            "site.json",
            {"machine": machine(browser_version=bench.version), "pages": results},
        )


class Bench:
    """The pages of a served site in a browser."""

    def __init__(self, browser, address: str, pages: list[str]):
        self.browser = browser
        self.address = address
        self.pages = pages
        self.version = browser.version

    @contextmanager
    def open(
        self,
        path: str,
        size: tuple[int, int],
        fragment: str = "",
        prepare=lambda page: None,
    ):
        """A page in a browser that has never seen the site; `prepare` is called before it is asked for."""
        width, height = size
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce"
        )
        page = context.new_page()
        page.add_init_script(path=INSTRUMENTS)
        prepare(page)
        page.goto(f"{self.address}/{path}{fragment}")
        yield page
        context.close()

    def measure(self) -> dict:
        """Measure and print page after page."""
        results = {}
        for path in self.pages:
            print(f"\n{path}")
            first_cell = self.first_cell(path)
            results[path] = {
                "first_load": self.weight(path, whole=False),
                "whole_page": self.weight(path, whole=True),
                "interactive": self.interactive(path, first_cell),
                "layout_shift": {
                    name: self.shift(path, size) for name, size in VIEWPORTS.items()
                },
                "sliders": self.sliders(path) if first_cell else [],
            }
            show(results[path])
        return results

    def first_cell(self, path: str) -> str | None:
        """The fragment that leads to the page's first widget."""
        with self.open(path, VIEWPORTS["laptop"]) as page:
            return page.evaluate(
                """() => {
                    const cell = document.querySelector('[data-ojs]');
                    return cell && '#' + (cell.closest('figure[id]')?.id || cell.id);
                }"""
            )

    def weight(self, path: str, whole: bool) -> dict:
        """Requests and bytes by kind, raw and as a server that compresses text sends them."""
        responses = []

        def listen(page):
            page.on("response", lambda response: responses.append(response))

        with self.open(path, VIEWPORTS["laptop"], prepare=listen) as page:
            settle(page)
            if whole:
                draw_cells(page, DRAWN_WITHIN_MILLISECONDS)
                settle(page)
            files = {
                response.url: response.body()
                for response in responses
                if response.url.startswith("http")
            }
        raw, sent = Counter(), Counter()
        for url, body in files.items():
            kind = KINDS.get(Path(urlsplit(url).path).suffix, "other")
            raw[kind] += len(body)
            sent[kind] += len(gzip.compress(body, 6)) if kind in COMPRESSED else len(body)
        by_kind = {kind: round(size / 1000, 1) for kind, size in sent.most_common()}
        return {
            "requests": len(files),
            "kilobytes": round(sent.total() / 1000, 1),
            "kilobytes_raw": round(raw.total() / 1000, 1),
            "kilobytes_by_kind": by_kind,
        }

    def interactive(self, path: str, first_cell: str | None) -> dict:
        """Medians of several first visits, until the first widget is drawn, or without widgets the page is wired.

        `milliseconds` is what a reader waits, `processor_milliseconds` what the page's own thread worked for it, which
        hardly depends on what else the machine does.
        """
        visits = []
        for _ in range(LOADS):
            with self.open(path, VIEWPORTS["laptop"], first_cell or "", count_work) as page:
                page.wait_for_load_state("load")
                drawn = page.evaluate("() => instruments.firstCellDrawn()")
                wired = page.evaluate(
                    "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
                )
                visits.append((drawn or wired, work(page)))
        waits, works = zip(*visits, strict=True)
        return {
            "milliseconds": round(statistics.median(waits)),
            "processor_milliseconds": round(statistics.median(works)),
        }

    def shift(self, path: str, size: tuple[int, int]) -> float:
        """The cumulative layout shift of a reader who goes through the page from top to end."""
        with self.open(path, size) as page:
            settle(page)
            page.evaluate("() => instruments.read()")
            return round(page.evaluate("() => instruments.shift()"), 4)

    def sliders(self, path: str) -> list[dict]:
        """For every slider of the page: milliseconds until the effect is painted, frames until the DOM has it."""
        with self.open(path, VIEWPORTS["laptop"]) as page:
            draw_cells(page, DRAWN_WITHIN_MILLISECONDS)
            handles = page.query_selector_all(":is(input[type=range], [role=slider])")
            return [result for slider in handles if (result := self.slider(page, slider))]

    def slider(self, page, slider) -> dict | None:
        name = slider.evaluate(
            """slider => (slider.closest('.widget')?.className.match(/widget-\\S+/)?.[0] || 'input') + ': ' +
                (slider.getAttribute('aria-label') || '')"""
        )
        effects = []
        slider.focus()
        for move in range(MOVES):
            pending = page.evaluate_handle(
                "slider => ({effect: instruments.effectOf(slider)})", slider
            )
            page.keyboard.press(("Home", "ArrowRight", "End", "ArrowLeft")[move % 4])
            effect = pending.evaluate("({effect}) => effect")
            effects += [effect] if effect else []
        if len(effects) < 4:
            return None
        milliseconds = sorted(effect["milliseconds"] for effect in effects)
        return {
            "slider": name,
            "p50": round(statistics.median(milliseconds), 1),
            "p95": round(milliseconds[int(0.95 * (len(milliseconds) - 1))], 1),
            "frames": max(effect["frames"] for effect in effects),
        }

    def heights(self) -> dict:
        """For each page with widgets, the height of each drawn cell at each width."""
        found = {}
        for path in self.pages:
            with self.open(path, (WIDTHS[0], 900)) as page:
                page_id = page.evaluate("() => document.body.dataset.page")
                draw_cells(page, DRAWN_WITHIN_MILLISECONDS)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    page.wait_for_timeout(REDRAWN_AFTER_MILLISECONDS)
                    for place, height in page.evaluate("() => instruments.rooms()").items():
                        found.setdefault(page_id, {}).setdefault(place, {})[str(width)] = (
                            height
                        )
        return {page_id: places for page_id, places in sorted(found.items())}


def count_work(page) -> None:
    """Have the browser count the processor time of a page that is about to be asked for."""
    page.bench_session = page.context.new_cdp_session(page)
    page.bench_session.send("Performance.enable", {"timeDomain": "threadTicks"})


def work(page) -> float:
    """Milliseconds of processor time that a page's main thread has used."""
    metrics = page.bench_session.send("Performance.getMetrics")["metrics"]
    seconds = {metric["name"]: metric["value"] for metric in metrics}
    return 1000 * seconds["TaskDuration"]


def show(result: dict) -> None:
    """Print a page's figures, each with its bar where it has one."""
    for name in ("first_load", "whole_page"):
        weight = result[name]
        kinds = ", ".join(
            f"{kind} {size}" for kind, size in weight["kilobytes_by_kind"].items()
        )
        print(
            f"  {name.replace('_', ' '):<12} {weight['requests']} requests, {weight['kilobytes']} kB gzip"
            f"{over(weight['kilobytes'], 'kilobytes')}: {kinds}; {weight['kilobytes_raw']} kB raw"
        )
    milliseconds, worked = result["interactive"].values()
    waited = f"{milliseconds} ms{over(milliseconds, 'interactive')}"
    print(f"  {'interactive':<12} {waited}, {worked} ms of processor time")
    shifts = ", ".join(
        f"{name} {shift}{over(shift, 'shift')}"
        for name, shift in result["layout_shift"].items()
    )
    print(f"  {'moved':<12} {shifts}")
    for slider in result["sliders"]:
        timing = f"p50 {slider['p50']:>6} ms  p95 {slider['p95']:>6} ms{over(slider['p95'], 'p95')}"
        frames = f"frames {slider['frames']}{over(slider['frames'], 'frames')}"
        print(f"  {'slider':<12} {timing}  {frames}  {slider['slider']}")


def over(value: float, bar: str) -> str:
    return f" (OVER {BARS[bar]})" if value > BARS[bar] else ""


def machine(**more: str) -> dict:
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 1),
        **more,
    }


def write_record(name: str, content: dict) -> None:
    RECORDS.mkdir(parents=True, exist_ok=True)
    record = {"date": datetime.now(UTC).date().isoformat(), **content}
    (RECORDS / name).write_text(
        json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    print(f"\nwritten: bench/records/{name}")


if __name__ == "__main__":
    main()

"""A headless Chromium and a local server: for the browser tests and for screenshots.

Importing this needs the standard library only; starting a browser needs playwright.
"""

import functools
import http.server
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

# The shell is the same engine without a window of its own, and does with half the work.
_COMMANDS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
_MAC_APPS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# True once every OJS cell of a page has been drawn or has failed.
# A cell is drawn when it comes near to what the reader sees, so this walks to each; what hides one is opened.
_DRAW_CELLS = """async (within) => {
    const end = performance.now() + within;
    for (const cell of document.querySelectorAll('[data-ojs]')) {
        for (let fold = cell.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
        const panel = cell.closest('[role=tabpanel][hidden]');
        if (panel) document.getElementById(panel.getAttribute('aria-labelledby')).click();
        cell.scrollIntoView({block: 'center'});
        while (!cell.dataset.ojsState && performance.now() < end) await new Promise(requestAnimationFrame);
    }
    scrollTo(0, 0);
}"""

_QUIET_MILLISECONDS = 200

# A browser that is started by a test asks nobody for anything: no updates, no sync, no first-run pages.
_LAUNCH_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> "str | None":
    """Return the path of Chromium or Chrome, or None where there is neither."""
    on_path = filter(None, map(shutil.which, _COMMANDS))
    in_applications = (app for app in _MAC_APPS if Path(app).exists())
    return next(on_path, None) or next(in_applications, None)


@contextmanager
def browsing(chromium):
    """Start the Chromium at a path; yield playwright's browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=_LAUNCH_ARGUMENTS
        )
        yield browser
        browser.close()


def draw_cells(page, within_milliseconds):
    """Have every OJS cell of a page drawn, one after the other, for at most so long."""
    page.evaluate(_DRAW_CELLS, within_milliseconds)


def settle(page):
    """Wait until a page is loaded and painted, its fonts too, and asks for nothing more.

    Playwright's ``networkidle`` would say the same, but on a busy machine it is now and then never told.
    """
    page.wait_for_load_state("load")
    page.evaluate("() => document.fonts.ready")
    asked = "() => performance.getEntriesByType('resource').length"
    before, after = -1, page.evaluate(asked)
    while before != after:
        page.wait_for_timeout(_QUIET_MILLISECONDS)
        before, after = after, page.evaluate(asked)


@contextmanager
def serving(folder):
    """Serve a folder on a free port of 127.0.0.1; yield its address, without a slash at the end."""
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing: a test's output is about the test."""

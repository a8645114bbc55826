"""The preview: serves the site on 127.0.0.1, rebuilds when a source changes, and reloads the open pages."""

import functools
import http.server
import os
import threading
import time
from pathlib import Path

from .builder import HERE, NOT_FOUND, build
from .errors import BuildError

POLL_SECONDS = 0.5
IGNORED = {"_site", "_book", "node_modules", "__pycache__"}  # and hidden folders
WATCHED = {".qmd", ".ipynb", ".yml", ".bib", ".js", ".mjs", ".css", ".html", ".json", ".svg", ".png", ".py"}
RELOAD_SCRIPT = """\
let seen = null;
setInterval(async () => {
  const version = await (await fetch("/__version")).text();
  if (seen !== null && seen !== version) location.reload();
  seen = version;
}, 700);
"""


class SiteHandler(http.server.SimpleHTTPRequestHandler):
    """Serves the site; with a `version`, pages reload when it changes."""

    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".json": "application/json",
        ".ipynb": "application/json",
        ".svg": "image/svg+xml",
        ".woff2": "font/woff2",
    }

    def __init__(self, *arguments, version=None, **options):
        self.version = version
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        if self.version and self.path == "/__version":
            self._answer(200, "text/plain", str(self.version()).encode())
        elif self.version and self.path == "/__reload.js":
            self._answer(200, "text/javascript", RELOAD_SCRIPT.encode())
        elif self._page():
            self._answer(200, "text/html; charset=utf-8", self._with_reload(self._page().read_bytes()))
        else:
            super().do_GET()

    def _page(self) -> Path | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() and self.path.split("?")[0].endswith("/") else path
        return path if path.suffix == ".html" and path.is_file() else None

    def _with_reload(self, page: bytes) -> bytes:
        if not self.version:
            return page
        return page.replace(b"</head>", b'<script src="/__reload.js" defer></script>\n</head>', 1)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory) / NOT_FOUND
        if code == 404 and page.is_file():
            self._answer(404, "text/html; charset=utf-8", self._with_reload(page.read_bytes()))
        else:
            super().send_error(code, message, explain)

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *arguments) -> None:
        """Say nothing of each request."""


def serve(folder: Path, port: int = 0, version=None) -> http.server.ThreadingHTTPServer:
    """A server for `folder` on 127.0.0.1, not yet running; port 0 takes a free one."""
    handler = functools.partial(SiteHandler, directory=str(folder), version=version)
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)


def preview(root: Path, out: Path | None = None, port: int = 0) -> None:
    """Build, serve and watch until interrupted; a build that fails is told, and the last good pages stay."""
    root, out = root.resolve(), out and out.resolve()
    builds = 0

    def rebuild() -> Path | None:
        nonlocal builds
        try:
            report = build(root, out)
        except (BuildError, RuntimeError) as error:
            print(error, flush=True)
            return None
        builds += 1
        return report.out

    seen = _snapshot(root, out)
    folder = rebuild()
    while folder is None:
        seen = _wait_for_change(root, out, seen)
        folder = rebuild()
    server = serve(folder, port, lambda: builds)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"Read the book at http://127.0.0.1:{server.server_port}/ (Ctrl-C ends the preview)", flush=True)
    try:
        while True:
            seen = _wait_for_change(root, folder, seen)
            rebuild()
    except KeyboardInterrupt:
        server.shutdown()


def _wait_for_change(root: Path, out: Path | None, seen: dict) -> dict:
    while (now := _snapshot(root, out)) == seen:
        time.sleep(POLL_SECONDS)
    return now


def _snapshot(root: Path, out: Path | None) -> dict[Path, int]:
    """Times of change of everything that a page may be made of."""
    times = {}
    for top in {root, HERE}:
        for folder, folders, names in os.walk(top):
            folders[:] = [
                name for name in folders if not (name in IGNORED or name.startswith(".") or Path(folder, name) == out)
            ]
            for name in names:
                path = Path(folder, name)
                if path.suffix in WATCHED:
                    times[path] = path.stat().st_mtime_ns
    return times

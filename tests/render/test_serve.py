"""The local server: types, the page for what is not found, and reloading in a preview."""

import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from render.serve import serve


@contextmanager
def running(folder, version=None):
    server = serve(folder, version=version)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def get(address: str):
    with urllib.request.urlopen(address) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_types(site):
    with running(site) as address:
        assert get(f"{address}/")[0].startswith("text/html")
        assert get(f"{address}/widgets/bars.js")[0] == "text/javascript"
        assert get(f"{address}/chapters/01-constructs.ipynb")[0] == "application/json"


def test_not_found(site):
    with running(site) as address, pytest.raises(urllib.error.HTTPError) as caught:
        get(f"{address}/chapters/nowhere.html")
    assert caught.value.code == 404 and "Page not found" in caught.value.read().decode()


def test_only_a_preview_reloads(site):
    with running(site) as address:
        assert "__reload" not in get(f"{address}/index.html")[1]
    with running(site, version=lambda: 7) as address:
        assert '<script src="/__reload.js" defer></script>' in get(f"{address}/index.html?a")[1]
        assert get(f"{address}/__version") == ("text/plain", "7")
        assert get(f"{address}/__reload.js")[0] == "text/javascript"

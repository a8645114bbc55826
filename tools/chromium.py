"""Where this machine's Chromium is, and how the tests and the screenshot tool start it (stdlib only)."""

import shutil
from pathlib import Path

_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC_APPS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# A browser that is started by a test asks nobody for anything: no updates, no sync, no first-run pages.
LAUNCH_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium():
    """Return the path of Chromium or Chrome, or None where there is neither."""
    on_path = (shutil.which(command) for command in _COMMANDS)
    in_applications = (app for app in _MAC_APPS if Path(app).exists())
    return next(filter(None, on_path), None) or next(in_applications, None)

"""Every page of the service, looked at by axe-core in Chromium: ``make test-axe``.

Light and dark, wide and as narrow as a phone; pages must not be wider than the window either. Give the path
of axe.min.js; with ``--pictures FOLDER``, pictures of the pages are kept.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
import time
from pathlib import Path

import lsdt
from lsdt.service.keys import add_key
from lsdt.service.server import in_background
from lsdt.storage import open_store
from service.devtools import Browser

ONE = "/experiments/buttons"
NAMES = ["control", "red button", "blue button", "green button", "a button whose name is long"]
PATHS = (
    "/", "/new", "/health", ONE, f"{ONE}/arms", f"{ONE}/arms/blue%20button", f"{ONE}/log",
    f"{ONE}/log?show=actions", f"{ONE}/stopping?tolerance=0.05", f"{ONE}/manage", f"{ONE}/manage/pause",
    f"{ONE}/manage/resume", f"{ONE}/manage/stop?arm=red%20button", f"{ONE}/manage/stop?arm=purple",
    f"{ONE}/manage/tolerance", f"{ONE}/manage/reinstate", f"{ONE}/manage/delete",
    "/experiments/none", "/login",
)  # fmt: skip
RUN = (
    "window.found = null; axe.run(document).then(each => { window.found = JSON.stringify("
    "each.violations.map(one => [one.id, one.nodes.map(node => node.failureSummary)])); }); 0"
)


def fill(url, key):
    """Begin an experiment that has something to show everywhere."""
    side = lsdt.SideInformation(5, arm_ids=NAMES)
    options = {"policy": "ts", "floor": {"control": 0.1}}
    with lsdt.Client.open(url, "buttons", side=side, key=key, **options) as agent:
        decisions = agent.ask(300)
        agent.tell_many((one, float(number % 3 == 0)) for number, one in enumerate(decisions))
        agent.retire("green button", reason="sold out")
        agent.stop("blue button", reason="good enough")


def look(page, url, path, width, dark, axe):
    """Open a page; return what is wrong with it."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.call("Emulation.setEmulatedMedia", features=[scheme])
    page.open("about:blank")
    page.wait("location.href === 'about:blank'")
    page.open(url + path)
    page.wait(f"location.pathname === '{path.partition('?')[0]}' && document.readyState === 'complete'")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.evaluate(f"{axe}; 0")
    page.evaluate(RUN)
    page.wait("window.found !== null")
    found = json.loads(page.evaluate("window.found"))
    wide = page.evaluate("document.documentElement.scrollWidth")
    return found + ([["wider than the window", [f"{wide} pixels"]]] if wide > width else [])


def main():
    """Look at all pages; return the exit code."""
    parser = argparse.ArgumentParser(description="Look at every page with axe-core.")
    parser.add_argument("axe", type=Path, help="axe.min.js of the package axe-core")
    parser.add_argument("--pictures", type=Path, help="keep pictures of the pages in this folder")
    options = parser.parse_args()
    axe, n_wrong, n_looks = options.axe.read_text(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/lsdt.db"
        with open_store(store) as opened:
            key, _ = add_key(opened, "admin", name="alice")
        with in_background(store) as url:
            fill(url, key)
            page = Browser(Path(folder) / "profile")
            page.open(f"{url}/login")
            page.wait("document.activeElement?.id === 'key'")
            page.type(key)
            page.press("Enter")
            page.wait("location.pathname === '/' && document.readyState === 'complete'")
            for width in (1200, 360):
                for dark in (False, True):
                    for path in PATHS:
                        wrong = look(page, url, path, width, dark, axe)
                        n_looks, n_wrong = n_looks + 1, n_wrong + len(wrong)
                        for each in wrong:
                            sys.stdout.write(
                                f"{path}, {width} pixels, {'dark' if dark else 'light'}: {each}\n"
                            )
                        if options.pictures:
                            keep(page, options.pictures, f"{path} {width} {'dark' if dark else 'light'}")
            page.close()
    sys.stdout.write(f"{n_looks} looks, {n_wrong} violations\n")
    return 1 if n_wrong else 0


def keep(page, folder, name):
    """Keep a picture of the whole page."""
    time.sleep(0.3)  # charts are drawn
    folder.mkdir(parents=True, exist_ok=True)
    data = page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
    file = name.strip("/").replace("/", "-").replace("?", "-").replace("%20", " ") + ".png"
    (folder / file).write_bytes(base64.b64decode(data))


if __name__ == "__main__":
    sys.exit(main())

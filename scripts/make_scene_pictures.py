"""Small pictures of the demo scenes for the menu of the viewer: `python scripts/make_scene_pictures.py [SCENE ...]`.

Each scene is drawn by the page itself with its first targets reached, without what stands over it, and stored with few
colours. Needs Chromium and Pillow.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

from make_viewer_pictures import open_scene
from PIL import Image
from playwright.sync_api import sync_playwright

from poise.viewer import scenes

sys.path.append(str(Path(__file__).parent.parent))
from tests.viewer.browser import ARGUMENTS, CHROMIUM, MISSING

FOLDER = Path(scenes.__file__).parent.parent / "web" / "scenes"
DRAWN_SIZE, SIZE, COLOURS = (576, 384), (144, 96), 64
RACED_MS = 4000  # of a race until its picture
BARE = """
body { display: block !important; } body > :not(#views) { display: none !important; }
#views { position: fixed; inset: 0; } .caption, .view-cube, .hint-ring { display: none !important; }
"""
ADOPT = """
(css) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [sheet];
}
"""
SHOW = """
window.poise.viewports.forEach((view) => {
  view.setShow({limits: false, ghost: false, trail: false, grid: false});
  view.resize();
  view.frameAll();
  view.view.backOff(0.8); // a small picture needs no room for handles
})
"""


def main() -> int:
    """Make the pictures of the named scenes, by default of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"one of {', '.join(scenes.names())}")
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit(MISSING)
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for name in given.scenes or scenes.names():
            path = FOLDER / f"{name}.png"
            path.write_bytes(draw(browser, name))
            print(f"{path}: {path.stat().st_size} bytes")
        browser.close()
    return 0


def draw(browser: Any, name: str) -> bytes:
    """A scene as a PNG of few colours."""
    with open_scene(browser, name, DRAWN_SIZE, "dark", motion="reduce") as tab:
        if tab.state["run"] == "race":
            tab.page.wait_for_timeout(RACED_MS)
        else:
            tab.answered()
        tab.get(ADOPT, BARE)
        tab.pictures()
        tab.get(SHOW)
        tab.page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB")
        tab.context.close()
    small = picture.resize(SIZE, Image.Resampling.LANCZOS)
    stored = io.BytesIO()
    small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE).save(
        stored, "PNG", optimize=True
    )
    return stored.getvalue()


if __name__ == "__main__":
    sys.exit(main())

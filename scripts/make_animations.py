"""The moving pictures of the README, from the viewer's page: `python scripts/make_animations.py [FOLDER]`.

A limb that is dragged, and a walk on stairs. They are WebP, each below 2 MB. Needs Chromium.
"""

from __future__ import annotations

import argparse
import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import poise
from poise.cli.view import ViewOptions, configure_document
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.server import Server
from poise.viewer.session.session_thread import SessionThread

sys.path.append(str(Path(__file__).parent.parent))
from tests.viewer.browser import ARGUMENTS, CHROMIUM, MISSING, Tab

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SIZE = (760, 560)  # of the page, in pixels
VIEW = "canvas"  # what is shown of it
# What the page shows: the figure and nothing that is explained elsewhere. Both sides are closed.
SHOWN = """
  const show = {limits: false, ghost: false, trail: true, shadows: true};
  localStorage.setItem("poise-settings", JSON.stringify({show}));
  document.addEventListener("DOMContentLoaded", () => document.body.classList.add("closed-left", "closed-right"));
"""
CAMERAS = {"drag": ([1.4, 1.35, 2.6], [-0.25, 0.95, 0.1]), "stairs": ([-3.3, 1.9, 1.3], [0.0, 1.3, 0.55])}  # place, aim
MOST = 2_000_000  # bytes of a picture
QUALITY = 80
DRAG = 60  # pictures of a drag, which ends where it began
DRAG_TIME, STEP_TIME = 66, 50  # [ms] that a picture of the drag and of the walk stands


def main() -> int:
    """Make both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=IMAGES)
    folder = parser.parse_args().folder
    if CHROMIUM is None:
        sys.exit(MISSING)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for name, document, pictures, milliseconds in (
            ("drag", reaching(), dragged, DRAG_TIME),
            ("stairs", stairs(), played, STEP_TIME),
        ):
            path = folder / f"{name}.webp"
            size = write(path, list(pictures(opened(browser, document, CAMERAS[name]))), milliseconds)
            print(f"{path}: {size / 1e6:.2f} MB")
        browser.close()
    return 0


def reaching() -> Document:
    """A whole body whose hand reaches: natural poses, both feet pinned."""
    document = scenes.build_scene("biped")
    kept = tuple(chain for chain in document.chains if chain.name != "head")
    return document.replace(chains=kept, solvers=(SolverChoice("auto"), *document.solvers[1:]), solve_start="start")


def stairs() -> Document:
    """The bundled walk, planted on stairs."""
    rig = poise.load(samples.path("humanoid.glb"))
    document = build_document(rig).replace(chains=())
    return configure_document(document, ViewOptions("walk", "stairs:0.15,0.30", True, None, None, None))


def opened(browser: Any, document: Document, camera: tuple[list[float], list[float]]) -> Tab:
    """The page of a document, all of it worked out, seen from a place."""
    server = Server(SessionThread(document)).__enter__()
    tab = Tab(browser, server.url, width=SIZE[0], height=SIZE[1], scheme="light", drawn=True)
    tab.studio, tab.server = server.session, server
    tab.page.add_init_script(SHOWN)
    tab.open()
    tab.answered()
    tab.get("() => document.querySelectorAll('.view-cube, .caption').forEach((part) => part.style.display = 'none')")
    tab.get("([position, target]) => window.poise.viewports[0].view.set({position, target})", list(camera))
    return tab


def dragged(tab: Tab) -> Iterator[Image.Image]:
    """The hand's target goes round: out to the side, up, across the chest and down before the knees again."""
    for i in range(DRAG):
        turn = 2.0 * math.pi * i / DRAG
        place = [
            0.3 + 0.3 * math.sin(turn),
            1.0 - 0.4 * math.cos(turn) + 0.25 * math.sin(turn) ** 2,
            0.4 + 0.1 * math.cos(turn),
        ]
        tab.server.session.post_action({"do": "target", "chain": "left_hand", "position": place})
        yield picture(tab)
    tab.server.close()


def played(tab: Tab) -> Iterator[Image.Image]:
    """The clip, frame by frame."""
    tab.until_state("state.contacts.length > 0")
    tab.server.session.post_action({"do": "play", "on": False})
    clip = tab.server.session.document.rig.clips[0]
    for time in clip.times[:-1]:
        tab.server.session.post_action({"do": "seek", "time": float(time)})
        yield picture(tab)
    tab.server.close()


def picture(tab: Tab) -> Image.Image:
    """What the page shows once all that was asked for is drawn."""
    tab.answered()
    tab.page.wait_for_timeout(60)
    return Image.open(io.BytesIO(tab.page.locator(VIEW).first.screenshot())).convert("RGB")


def write(path: Path, pictures: list[Image.Image], milliseconds: int) -> int:
    """Write a moving picture that begins again and again; its size in bytes."""
    first, *rest = pictures
    first.save(path, save_all=True, append_images=rest, duration=milliseconds, loop=0, quality=QUALITY, method=6)
    size = path.stat().st_size
    if size > MOST:
        sys.exit(f"{path} has {size} bytes, more than {MOST}")
    return size


if __name__ == "__main__":
    sys.exit(main())

"""Pictures of the viewer's page for the documentation: `python scripts/make_page_pictures.py [FOLDER]`.

viewer.png   the page as it opens on a character whose hand is at its target
walk.png     the page with a walk on stairs, contacts and all
ground.webp  four kinds of ground under the same walk
notebook.png what notebooks show of a result and of planted feet, on light and on dark paper
roles.png    a figure with the roles of its joints

Each is below 300 kB. Needs Chromium, and Matplotlib for the roles.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import sync_playwright

import poise
from poise.cli.view import ViewOptions, configure_document
from poise.io import samples
from poise.plot.scene_drawing import encode_figure, open_canvas
from poise.viewer.document.document import Document, build_document
from poise.viewer.server import Server
from poise.viewer.session.session_thread import SessionThread

sys.path.append(str(Path(__file__).parent.parent))
from tests.viewer.browser import ARGUMENTS, CHROMIUM, MISSING, Tab

IMAGES = Path(__file__).parent.parent / "docs" / "images"
MOST = 300_000  # bytes of a picture
WINDOW, TILE = (1280, 760), (560, 600)
STEP = 0.55  # of the clip: where the walk is shown
# What the page shows: limits would cover the skin. Of a view alone neither side.
PLAIN = 'localStorage.setItem("poise-settings", JSON.stringify({show: {limits: false, ghost: false, shadows: true}}));'
ALONE = f"""{PLAIN}
  document.addEventListener("DOMContentLoaded", () => document.body.classList.add("closed-left", "closed-right"));
"""
COLOURS = 128  # of a picture of the page
GROUNDS = {
    "slope:12": "slope:12", "stairs:0.15,0.30": "stairs:0.15,0.30",
    "noise:0.05": "noise:0.05", "hills.npz": str(samples.path("hills.npz")),
}  # fmt: skip
BESIDE = ([-3.1, 1.5, -0.6], [0.0, 0.85, 0.35])  # place and aim of the camera, from the ground under the hips
CELL_COLOURS = (("#ffffff", "#212121"), ("#111111", "#e0e0e0"))  # of paper and ink
SIDES = {"left": "#0b66c3", "right": "#a5560a"}  # of roles
SIZE, MARGIN = (6.6, 5.4), 0.5  # of the drawing [inch]; how far words are from the middle [m]
# Where the word of a part of the arm is from its joint, outwards and upwards; how much others are raised.
SHIFTS = {"Shoulder": (0.06, 0.3), "UpperArm": (0.0, -0.11), "LowerArm": (-0.06, 0.13), "Hand": (-0.06, -0.13)}
RAISED = {"hips": 0.06, "head": 0.13}


def main() -> int:
    """Make all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=IMAGES)
    folder = parser.parse_args().folder
    if CHROMIUM is None:
        sys.exit(MISSING)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        kept(folder / "viewer.png", shot(browser, reaching(), WINDOW))
        kept(folder / "walk.png", shot(browser, walking("stairs:0.15,0.30"), WINDOW, camera=BESIDE))
        tiles = [shot(browser, walking(words), TILE, camera=BESIDE, alone=True) for words in GROUNDS.values()]
        kept(folder / "ground.webp", sheet(tiles, list(GROUNDS)))
        kept(folder / "notebook.png", cells(browser))
        browser.close()
    (folder / "roles.png").write_bytes(roles(poise.load(samples.path("humanoid.glb"))))
    check(folder / "roles.png")
    return 0


def cells(browser: Any) -> Image.Image:
    """A result and planted feet as a notebook shows them."""
    rig = poise.load(samples.path("humanoid.glb"))
    goal = poise.Position("LeftHand", [0.3, 1.2, 0.4], root="LeftShoulder")
    planted = poise.plant_feet(rig.clips[0], poise.Terrain.heightmap(samples.path("hills.npz")), rig=rig)
    values = (poise.solve(rig.rest, goal, solver="ccd", trace=True), planted)
    parts = [
        f'<div style="padding:8px 14px;background:{paper};color:{ink}">{value._repr_html_()}</div>'
        for value, (paper, ink) in zip(values, CELL_COLOURS, strict=True)
    ]
    page = browser.new_page(viewport={"width": 960, "height": 400})
    page.set_content(f"<!doctype html><body style='margin:0'>{''.join(parts)}")
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True)))
    page.close()
    return picture


def reaching() -> Document:
    """The bundled character."""
    return build_document(poise.load(samples.path("humanoid.glb")), scope="limbs")


def walking(ground: str) -> Document:
    """The bundled walk with its feet on a ground."""
    document = build_document(poise.load(samples.path("humanoid.glb"))).replace(chains=())
    return configure_document(document, ViewOptions("walk", ground, True, None, None, None))


def shot(
    browser: Any, document: Document, size: tuple[int, int], *, camera: Any = None, alone: bool = False
) -> Image.Image:
    """The page, or the view alone, at rest; of a walk a step, seen from beside and above the figure."""
    with Server(SessionThread(document)) as server:
        tab = Tab(browser, server.url, width=size[0], height=size[1], scheme="light", drawn=True)
        tab.studio, tab.server = server.session, server
        tab.page.add_init_script(ALONE if alone else PLAIN)
        tab.open()
        tab.answered()
        if document.clip_name is None:
            drag(tab, (0.4, 1.2, 0.35))
        else:
            tab.until_state("state.contacts.length > 0")
            server.session.post_action({"do": "play", "on": False})
            server.session.post_action({"do": "seek", "time": STEP * tab.state["duration"]})
        tab.answered()
        if camera is not None:
            place(tab, *camera)
        if alone:
            tab.get("() => document.querySelectorAll('.view-cube, .caption').forEach((one) => one.remove())")
        tab.page.wait_for_timeout(400)
        data = tab.page.locator("canvas").first.screenshot() if alone else tab.page.screenshot()
        tab.close()
    return Image.open(io.BytesIO(data)).convert("RGB")


def drag(tab: Tab, target: tuple[float, float, float]) -> None:
    """The hand's target to a place, by way of others: the first solves load the kernels, and the page shows times."""
    chain = tab.state["chains"][0]["id"]
    for away in (0.03, 0.02, 0.01, 0.0):
        tab.server.session.post_action({"do": "target", "chain": chain, "position": [target[0] + away, *target[1:]]})
        tab.answered()


def place(tab: Tab, position: list[float], aim: list[float]) -> None:
    """The camera where it looks at the figure: both are measured from the ground below its hips."""
    row = next(i for i, joint in enumerate(tab.model["joints"]) if joint["name"] == "Hips")
    x, y, z = tab.get("(row) => [...window.poise.viewports[0].readPosition(row, 0)]", row)
    moved = [[a + b for a, b in zip(point, (x, y - 0.95, z), strict=True)] for point in (position, aim)]
    tab.get("([position, target]) => window.poise.viewports[0].view.set({position, target})", moved)


def sheet(tiles: list[Image.Image], words: list[str]) -> Image.Image:
    """Pictures two by two, each with its words in a corner."""
    width, height = tiles[0].size
    whole = Image.new("RGB", (2 * width + 6, 2 * height + 6), "white")
    font = ImageFont.load_default(18)
    for i, (tile, text) in enumerate(zip(tiles, words, strict=True)):
        at = ((i % 2) * (width + 6), (i // 2) * (height + 6))
        whole.paste(tile, at)
        drawing = ImageDraw.Draw(whole)
        box = drawing.textbbox((at[0] + 12, at[1] + 10), text, font=font)
        drawing.rectangle((box[0] - 5, box[1] - 4, box[2] + 5, box[3] + 4), fill="white")
        drawing.text((at[0] + 12, at[1] + 10), text, fill="#1b1f24", font=font)
    return whole


def kept(path: Path, picture: Image.Image) -> None:
    """Write a picture as small as its format can."""
    if path.suffix == ".png":
        picture.quantize(COLOURS).save(path, optimize=True)
    else:
        picture.save(path, quality=82, method=6)
    check(path)


def check(path: Path) -> None:
    """Say how large a picture is; SystemExit where it is too large."""
    size = path.stat().st_size
    print(f"{path}: {size / 1e3:.0f} kB")
    if size > MOST:
        sys.exit(f"{path} has {size} bytes, more than {MOST}")


def roles(rig: poise.Rig) -> bytes:
    """The figure from the front, a word with a thin line for each role."""
    found, rest = poise.find_roles(rig).joints, rig.rest.world
    at = {role: rest[joint].positions for role, joint in found.items()}
    skeleton = rig.skeleton
    with open_canvas(*SIZE) as drawing:
        axes = drawing.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_aspect("equal")
        for row, name in enumerate(skeleton.names):
            above = skeleton.parents[row]
            if above >= 0 and name in found.values():
                a, b = rest[skeleton.names[above]].positions, rest[name].positions
                axes.plot([a[0], b[0]], [a[1], b[1]], color="#9aa3ad", lw=5, solid_capstyle="round", zorder=1)
        _words(axes, at)
        axes.set_xlim(-1.12, 1.12)
        axes.set_ylim(-0.1, 1.8)
        return encode_figure(drawing, "png")


def _words(axes: Any, at: dict[str, Any]) -> None:
    """Words of an arm above and below it, all others in a column at the side of their joint."""
    for role, (x, y, _) in at.items():
        colour = next((colour for side, colour in SIDES.items() if role.startswith(side)), "#1b1f24")
        side = 1.0 if x > 1e-6 or role in ("spine", "neck") else -1.0
        shift = next((shift for part, shift in SHIFTS.items() if part in role), None)
        if shift is None:
            word = (side * MARGIN, y + RAISED.get(role, 0.0))
        else:
            word = (x + side * shift[0], y + shift[1])
        axes.plot([x, word[0]], [y, word[1]], color=colour, lw=0.7, zorder=2)
        axes.plot([x], [y], "o", color=colour, ms=6, zorder=3)
        axes.annotate(
            role, word, ha="left" if side > 0 else "right", va="center", color=colour, fontsize=10, zorder=4,
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"},
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

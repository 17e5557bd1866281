"""Pictures of the viewer's page, to be looked at: `python scripts/make_viewer_pictures.py FOLDER [SCENE ...]`.

Every scene in a large, a small and a narrow window, dark and light. Needs Chromium.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from poise.viewer import scenes
from poise.viewer.server import Server
from poise.viewer.session.session_thread import SessionThread

sys.path.append(str(Path(__file__).parent.parent))
from tests.viewer.browser import ARGUMENTS, CHROMIUM, MISSING, Tab

SIZES = (1600, 1000), (1000, 600), (400, 800)
THEMES = ("dark", "light")


def main() -> int:
    """Make the pictures of the named scenes, by default of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"one of {', '.join(scenes.names())}")
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit(MISSING)
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for name in given.scenes or scenes.names():
            for size in SIZES:
                for theme in THEMES:
                    path = given.folder / f"{name}-{size[0]}x{size[1]}-{theme}.png"
                    picture(browser, name, size, theme, path)
                    print(path)
        browser.close()
    return 0


@contextmanager
def open_scene(
    browser: Any, name: str, size: tuple[int, int], theme: str, *, motion: str | None = None
) -> Iterator[Tab]:
    """Open a scene in a page of its own. A clip that plays rests in its middle."""
    with Server(SessionThread(scenes.build_scene(name))) as server:
        tab = Tab(browser, server.url, width=size[0], height=size[1], scheme=theme, drawn=True)
        tab.studio, tab.server = server.session, server
        tab.page.emulate_media(reduced_motion=motion)
        tab.open()
        if tab.state["clip"] is not None:
            tab.until_state("state.contacts.length > 0 || !state.plant")
            server.session.post_action({"do": "play", "on": False})
            server.session.post_action({"do": "seek", "time": 0.5 * tab.state["duration"]})
            tab.until_state("!state.playing")
        yield tab


def picture(browser: Any, name: str, size: tuple[int, int], theme: str, path: Path) -> None:
    """A scene as it opens, its first targets reached."""
    with open_scene(browser, name, size, theme) as tab:
        tab.answered()
        tab.page.wait_for_timeout(300)
        tab.page.screenshot(path=path)
        tab.close()


if __name__ == "__main__":
    sys.exit(main())

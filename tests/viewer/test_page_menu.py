"""The menu of scenes: a small picture beside each, and the scene behind it."""

from __future__ import annotations

from pathlib import Path

import poise.viewer
from poise.viewer import scenes

MOST_BYTES = 8_000
PICTURES = Path(poise.viewer.__file__).parent / "web" / "scenes"


def test_each_scene_has_a_small_picture():
    assert sorted(path.stem for path in PICTURES.glob("*.png")) == sorted(scenes.names())
    assert all(path.stat().st_size < MOST_BYTES for path in PICTURES.iterdir())


def test_the_menu_shows_the_pictures_and_opens_a_scene(served):
    tab = served("ccd")
    tab.click("scene-menu")
    loaded = "[...document.querySelectorAll('.scenes img')].filter((image) => image.naturalWidth > 0).length"
    tab.get("document.querySelectorAll('.scenes img').forEach((image) => (image.loading = 'eager'))")
    tab.until(f"{loaded} === {len(scenes.names())}")
    tab.click("scene-four_bar")
    tab.until_state("state.scene === 'four_bar'")
    assert not tab.at("scene-ccd").is_visible()

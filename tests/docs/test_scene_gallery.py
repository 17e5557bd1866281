"""The gallery of scenes in the documentation lists each scene, as the viewer's menu does."""

from __future__ import annotations

from poise.viewer import scenes
from tests.conftest import ROOT


def test_each_scene_is_in_the_gallery():
    text = (ROOT / "docs" / "scene_gallery.md").read_text(encoding="utf-8")
    for name in scenes.names():
        about = scenes.describe_scene(name)
        assert f'src="pages/{name}.html"' in text
        assert f"<b>{about.title}</b><span>{about.hint}</span>" in text
    assert text.count("<iframe ") == len(scenes.names())

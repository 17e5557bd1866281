"""The viewer's page in short: it opens, a hand is dragged, and what is shown is saved. All else of it is long."""

from __future__ import annotations

import numpy as np

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.browser import assert_shown_is_solved


def test_it_opens_and_what_was_dragged_is_saved_and_loaded(served, tmp_path):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    before = tab.studio.pose_state.build_view_pose(0).world["LeftHand"].positions
    tab.drag(*[(i, -2 * i) for i in range(30)])
    assert_shown_is_solved(tab)
    pose = tab.studio.pose_state.build_view_pose(0)
    assert np.linalg.norm(pose.world["LeftHand"].positions - before) > 0.05
    for suffix in ("glb", "bvh"):
        path = tab.save(f"save-{suffix}", tmp_path)
        assert path.suffix == f".{suffix}"
        loaded = poise.load(path)
        world = loaded.pose.world if suffix == "glb" else loaded.clips[0].at(0.0).world
        names = [name for name in loaded.skeleton.names if name in pose.skeleton.names]
        assert len(names) >= len(pose.skeleton) - 1
        for name in names:
            np.testing.assert_allclose(world[name].positions, pose.world[name].positions, atol=1e-4)
        tab.until(
            f"[...document.querySelectorAll('[data-testid=message]')].some((m) => m.innerText.includes({path.name!r}))"
        )

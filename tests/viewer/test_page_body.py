"""A whole body in the page: any part is pulled by its skin, feet stay, and clicks pin hands and feet."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.browser import assert_shown_is_solved
from tests.viewer.test_page_pointers import CAMERA, VIEW, Hand, joint_on_screen

WAY = [(6 * i, -5 * i) for i in range(1, 11)]  # of a drag [pixels]


@pytest.fixture
def tab(served):
    """The bundled humanoid as a whole body."""
    return served(build_document(poise.load(samples.path("humanoid.glb"))))


def find_pulled(tab):
    """The chain that is pulled, and where its point is in the displayed pose [file units]."""
    document = tab.studio.document
    chain = document.find_chain(document.pulled)
    pose = tab.studio.pose_state.build_view_pose(0)
    affine = pose.world[chain.tip].affine
    return chain, affine[:, :3] @ np.array(chain.offset) + affine[:, 3]


def test_a_hand_is_pulled_by_its_skin_and_the_feet_stay(tab):
    tab.answered()
    assert tab.state["scope"] == "body"
    feet = [tab.studio.pose_state.build_view_pose(0).world[foot].positions for foot in ("LeftFoot", "RightFoot")]
    camera = tab.get(CAMERA)
    x, y = joint_on_screen(tab, "LeftHand", 0.3)
    Hand(tab, "mouse").drag(x, y, WAY)
    tab.until_state("state.pulled === 'pull'")
    tab.answered()
    chain, point = find_pulled(tab)
    assert chain.tip == "LeftHand"
    np.testing.assert_allclose(point, chain.position, atol=2e-3)
    shown = tab.get(f"(point) => {VIEW}.screenOf(point)", list(point))
    np.testing.assert_allclose(shown, np.add((x, y), WAY[-1]), atol=1.0)
    pose = tab.studio.pose_state.build_view_pose(0)
    np.testing.assert_allclose([pose.world[foot].positions for foot in ("LeftFoot", "RightFoot")], feet, atol=1e-3)
    assert tab.get(CAMERA) == camera
    assert tab.messages_shown() == []
    assert_shown_is_solved(tab)

"""The skin of the viewer's figure: closed, on its bones, and as its script makes it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.scene_rigs import load_character
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def rig():
    return load_character()


def test_it_has_the_bones_and_limits_of_the_sample(rig):
    sample = poise.load(samples.path("humanoid.glb"))
    assert rig.skeleton.names == sample.skeleton.names
    assert rig.skeleton.limits == sample.skeleton.limits
    np.testing.assert_allclose(rig.rest.world.positions, sample.rest.world.positions, atol=1e-6)


def test_its_skin_is_closed_and_near_its_bones(rig, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    skin = importlib.import_module("figure_mesh").skin()
    edges = np.sort(np.concatenate([skin.triangles[:, pair] for pair in ((0, 1), (1, 2), (2, 0))]).astype(int), axis=-1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] % 2 == 0).all()
    assert (skin.weights.astype(int).sum(-1) == 255).all()
    bones = rig.rest.world.positions[skin.joints[:, 0]]
    assert np.linalg.norm(skin.positions - bones, axis=-1).max() < 0.52  # a knee, from its hip
    assert skin.positions[:, 1].min() > -0.01

"""Long names and tens of thousands of joints: the work grows with them, and not with their square."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.cli import info
from poise.model.roles.bone_names import parse_joint_name
from poise.model.roles.role_search import build_character_tree
from tests.model.humanoid_figures import skeleton_of
from tests.timeouts import assert_linear, no_hang
from tests.workload import draw

WORDS = ("thigh", "shin", "foot", "toe", "arm", "leg", "hand", "palm", "middle")


def comb(n):
    """A line of joints, of which each has a leaf beside the next one."""
    return [-1] + [row - 1 if row % 2 else max(row - 2, 0) for row in range(1, n)]


def star(n):
    return [-1] + [0] * (n - 1)


def chain(n):
    return [row - 1 for row in range(n)]


def limbs(n):
    """A line of joints, of which each carries a pair of limbs of three joints."""
    parents, spine = [-1], 0
    while len(parents) + 7 <= n:
        here = len(parents)
        parents += [spine, here, here + 1, here + 2, here, here + 4, here + 5]
        spine = here
    return parents + [spine] * (n - len(parents))


SHAPES = {"comb": comb, "star": star, "chain": chain, "limbs": limbs}


def figure(shape, n, *, nameless=False):
    """A skeleton whose joints have the names of limbs, all of them left or right."""
    parents = SHAPES[shape](n)
    names = [f"q{row}" if nameless else f"{'LR'[row % 2]}_{WORDS[row % len(WORDS)]}_{row}" for row in range(n)]
    points = np.zeros((n, 3))
    points[:, 0] = np.where(np.arange(n) % 2, -1.0, 1.0) * (1 + np.arange(n) % 7)
    points[:, 1] = -(np.arange(n) % 5)
    if shape == "limbs":  # six joints after one of the line: a limb of three to the left, one to the right
        part = (np.arange(n) - 1) % 7
        points = np.stack(
            [np.where(part > 3, -1.0, 1.0) * (part > 0), -((part - 1) % 3) * (part > 0), np.arange(n) // 7], axis=1
        )
    return skeleton_of(names, parents, points)


@pytest.mark.long
@pytest.mark.parametrize("shape", ["comb", "star", "chain"])
def test_the_search_for_roles_grows_with_the_joints(shape):
    skeletons = {n: figure(shape, n) for n in (600, 1200, 1800)}
    assert_linear(lambda n: poise.find_roles(skeletons[n]), 600)


def test_the_search_for_pairs_of_limbs_ends_where_there_are_too_many():
    found = poise.find_roles(figure("limbs", 3000, nameless=True))
    assert found.kind == "other"
    assert "pairs of limbs; legs are searched in up to 200" in found.left_out["legs"]


@pytest.mark.long
def test_what_info_shows_of_a_joint_with_many_children_grows_with_them():
    skeleton = figure("star", 20_000)
    rig = poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))
    with no_hang():
        assert len(info.format_lines(rig, Path("star.glb"))) > 20_000


def test_joints_above_and_below_are_those_of_the_tree():
    rng = np.random.default_rng(3)
    parents = [-1, -1, *(int(rng.integers(0, row)) for row in range(2, 60))]
    observed = build_character_tree(skeleton_of([f"q{row}" for row in range(60)], parents, rng.normal(size=(60, 3))))
    above = {row: {row} | (set() if parents[row] < 0 else {parents[row]}) for row in range(60)}
    for row in range(60):
        if parents[row] >= 0:
            above[row] |= above[parents[row]]
    for row in range(60):
        for other in range(60):
            assert observed.is_above(other, row) == (other in above[row])
            both = above[row] & above[other]
            assert observed.find_common_ancestor([row, other]) == max(both, default=-1)
        some = rng.integers(0, 60, size=3).tolist()
        assert observed.is_above_any(row, observed.find_preorder_numbers(some)) == any(
            row in above[one] for one in some
        )


@pytest.mark.parametrize("piece", ["x", "leg", "rx", "_left", "Aa", "1a"])
@pytest.mark.long
def test_a_name_of_a_million_letters_is_read_at_once(piece):
    name = "abc" + piece * (1_000_000 // len(piece))
    with no_hang():
        parse_joint_name(name)
        assert poise.find_roles(skeleton_of(["hips", name], [-1, 0], [(0, 0, 0), (0, 1, 0)])).kind == "other"


@pytest.mark.long
def test_an_unknown_joint_among_many_long_names_is_reported_at_once():
    names = [f"{'x' * 190}{row}" for row in range(5_000)]
    skeleton = skeleton_of(names, chain(5_000), np.zeros((5_000, 3)))
    with no_hang(), pytest.raises(poise.UnknownNameError, match="no joint 'xxx"):
        skeleton.index("x" * 195)


@pytest.mark.long
@pytest.mark.parametrize("shape", draw("large figure", SHAPES, 1))
def test_thirty_thousand_joints_are_loaded_shown_and_saved(shape, tmp_path):
    skeleton = figure(shape, 30_000)
    with no_hang():
        poise.save(poise.Pose(skeleton, skeleton.rest_q), tmp_path / "large.glb")
        rig = poise.load(tmp_path / "large.glb")
        assert len(rig.rest.world.positions) == 30_000
        info.format_lines(rig, Path("large.glb"))
        poise.save(rig, tmp_path / "again.glb")

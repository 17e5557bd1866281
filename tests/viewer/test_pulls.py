"""What pulls and pins change in a document, with and without a clip."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.document import build_document
from poise.viewer.document.pulls import settle_pull
from tests.viewer.watcher import refusal

FEET = ["LeftFoot", "RightFoot"]
HAND = [0.4, 1.3, 0.3]
WALK = ("clip", {"name": "walk"})
STOP = ("clip", {"name": None})


@pytest.fixture(scope="module")
def body():
    """The bundled humanoid as a whole body."""
    return build_document(poise.load(samples.path("humanoid.glb")))


@pytest.fixture(scope="module")
def frame(body):
    """A pose of the clip."""
    return body.rig.clip("walk").at(0.3)


def done(document, *steps, pose=None):
    """The document after actions (name, arguments), with a pose shown."""
    for name, args in steps:
        document = ACTIONS[name].apply(document, args, pose)
    return document


def pull(joint, phase="start", **args):
    return ("pull", {"joint": joint, "phase": phase, "position": HAND, **args})


def list_pins(document):
    return sorted(chain.tip for chain in document.active_chains if chain.kind == "pin")


class TestPins:
    @pytest.mark.parametrize("scope", ["body", "limbs", "chains"])
    def test_one_that_is_off_is_switched_on_where_the_joint_is(self, body, frame, scope):
        pinned = done(body, ("scope", {"value": scope}), ("pin", {"joint": "RightHand", "on": True}))
        off = done(pinned, ("chain_change", {"chain": "pin RightHand", "enabled": False}))
        on = done(off, ("pin", {"joint": "RightHand", "on": True}), pose=frame)
        assert "RightHand" in list_pins(on)
        assert len(on.chains) == len(off.chains)
        np.testing.assert_array_equal(on.find_chain("pin RightHand").position, frame.world["RightHand"].positions)
        assert "RightHand" not in [chain.tip for chain in done(on, ("pin", {"joint": "RightHand", "on": False})).chains
                                   if chain.kind == "pin"]  # fmt: skip

    def test_there_is_an_end_of_them_and_of_pulls(self, body):
        many = done(body, *[("chain_add", {"tip": "RightHand"})] * (64 - len(body.chains)))
        for step in (("pin", {"joint": "RightHand", "on": True}), pull("RightHand")):
            assert "64 chains" in refusal(lambda step=step: done(many, step))
        assert len(done(many, ("pin", {"joint": "LeftFoot", "on": True})).chains) == 64

    @pytest.mark.parametrize("step", [("pin", {"joint": "RightHand", "on": True}), pull("RightHand")])
    def test_names_are_unique(self, body, step):
        taken = {"pin": "pin RightHand", "pull": "pull"}[step[0]]
        own = done(body, ("chain_add", {"tip": "LeftHand"})).chains[-1].replace(name=taken)
        after = done(body.replace(chains=(*body.chains, own)), step)
        assert len({chain.name for chain in after.chains}) == len(after.chains)
        assert after.find_chain(taken) == own


class TestClips:
    @pytest.mark.parametrize("scope", ["body", "limbs"])
    def test_chains_of_a_new_scope_are_off_while_one_plays(self, body, frame, scope):
        other = {"body": "limbs", "limbs": "body"}[scope]
        playing = done(body, ("scope", {"value": other}), WALK, ("scope", {"value": scope}), pose=frame)
        assert playing.chains
        assert playing.active_chains == ()

    def test_own_pins_come_back_when_one_stops(self, body):
        pinned = done(body, ("pin", {"joint": "RightHand", "on": True}), ("pin", {"joint": "LeftFoot", "on": False}))
        stopped = done(pinned, WALK, STOP)
        assert list_pins(stopped) == ["RightFoot", "RightHand"]
        assert stopped.chains == pinned.chains

    def test_pins_are_at_the_start_and_nothing_is_pulled_when_one_stops(self, body, frame):
        moved = done(body, ("pin", {"joint": "RightHand", "on": True}), pull("LeftHand"), pose=frame)
        stopped = done(moved, WALK, STOP, pose=frame)
        assert stopped.pulled is None
        assert [chain.name for chain in stopped.chains] == [
            chain.name for chain in moved.chains if chain.name != "pull"
        ]
        for joint in ["RightHand", *FEET]:
            place = stopped.find_chain(f"pin {joint}").position
            np.testing.assert_array_equal(place, stopped.start.world[joint].positions)

    def test_no_clip_stops_nothing(self, body):
        pulled = done(body, pull("LeftHand"))
        assert done(pulled, STOP).is_same(pulled)


class TestPulls:
    def test_how_far_they_take_the_body_along_is_kept_after_a_pinned_foot(self, body, frame):
        slid = done(body, pull("LeftHand"), ("chain_change", {"chain": "pull", "pull": 0.25}), pose=frame)
        foot = settle_pull(done(slid, pull("LeftFoot"), pose=frame), frame, is_reached=True)
        assert foot.find_chain("pin LeftFoot").pull == 1.0
        assert done(foot, pull("RightHand"), pose=frame).find_chain("pull").pull == 0.25

    def test_the_head_turns_back_little_by_little_after_a_pull(self, body, frame):
        document = done(body, pull("LeftHand", position=[0.9, 1.0, 0.2]), pose=frame)
        eye, yaws = frame.world["Head"].positions, []
        while document.find_chain("gaze").enabled:
            x, _, z = document.find_chain("gaze").position - eye
            yaws.append(abs(np.arctan2(x, z)))
            assert len(yaws) < 30
            document = settle_pull(document, frame, is_reached=True)
        assert len(yaws) > 4
        assert (np.diff(yaws) < 0).all()
        assert settle_pull(document, frame, is_reached=True) is document

    def test_a_move_that_turns_begins_another_one(self, body, frame):
        moved = done(body, pull("LeftHand", offset=[0.0, 0.1, 0.0]), pose=frame)
        turned = done(moved, pull("LeftHand", "move", rotation=[0, 1, 0, 0]), pose=frame)
        chain = turned.find_chain("pull")
        assert (chain.kind, chain.offset, chain.rotation) == ("place", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0))
        back = done(turned, pull("LeftHand", "move", offset=[0.0, 0.1, 0.0]), pose=frame).find_chain("pull")
        assert (back.kind, back.offset) == ("position", (0.0, 0.1, 0.0))

    def test_a_turn_of_a_pinned_foot_is_about_its_own_place(self, body, frame):
        moved = done(body, pull("LeftFoot", offset=[0.0, 0.1, 0.0]), pose=frame)
        assert moved.find_chain("pin LeftFoot").offset == (0.0, 0.1, 0.0)
        turned = done(moved, pull("LeftFoot", "move", rotation=[0, 1, 0, 0]), pose=frame)
        assert turned.find_chain("pin LeftFoot").offset == (0.0, 0.0, 0.0)
        assert turned.pulled == "pin LeftFoot"

    @pytest.mark.parametrize("joint", ["LeftHand", "LeftFoot"])
    def test_without_its_chain_nothing_is_pulled(self, body, joint):
        pulled = done(body, pull(joint))
        assert pulled.pulled is not None
        assert done(pulled, ("chain_remove", {"chain": "gaze"})).pulled == pulled.pulled
        assert done(pulled, ("chain_remove", {"chain": pulled.pulled})).pulled is None

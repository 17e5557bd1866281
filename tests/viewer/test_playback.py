"""The playhead; clips with chains on top; planting beside the dragging."""

from __future__ import annotations

import dataclasses
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.ground.contact.contacts import Contacts
from poise.viewer import scenes
from poise.viewer.document import terrain
from poise.viewer.document.contact_intervals import list_contacts
from poise.viewer.document.playhead import MAX_SPEED, MIN_SPEED, Playhead
from poise.viewer.session import commands
from tests.viewer.action_cases import HAND, everything, rig
from tests.viewer.watcher import watched


@pytest.fixture
def clip():
    return rig().clip("walk")


class TestPlayhead:
    def test_time_passes_only_while_it_plays(self, clip):
        head = Playhead(clip)
        head.advance(0.3)
        assert head.time == 0.0
        head.is_playing = True
        head.advance(0.3)
        assert head.time == pytest.approx(0.3)
        head.speed = 0.5
        head.advance(0.2)
        assert head.time == pytest.approx(0.4)

    @given(st.lists(st.floats(0, 5), max_size=20), st.floats(MIN_SPEED, MAX_SPEED))
    def test_it_starts_again_at_its_end(self, clips, speed):
        head = Playhead(rig().clip("walk"), is_playing=True, speed=speed)
        for seconds in clips:
            head.advance(seconds)
            assert 0.0 <= head.time < head.clip.duration
        assert abs((head.time - sum(clips) * speed + 0.5) % 1.0 - 0.5) < 1e-6  # on the circle of one second

    def test_it_is_sought_inside_the_clip(self, clip):
        head = Playhead(clip)
        for requested, found in ((0.5, 0.5), (99.0, clip.duration), (-1.0, 0.0)):
            head.seek(requested)
            assert head.time == found
        with pytest.raises(poise.InputError, match="no clip"):
            Playhead().seek(0.0)

    def test_poses_are_those_of_the_clip(self, clip):
        head = Playhead(clip)
        for time in (0.0, 0.123, 1.0):
            head.seek(time)
            np.testing.assert_array_equal(head.compute_pose(rig().skeleton).q, clip.at(time).q)
        assert Playhead().compute_pose(rig().skeleton) is None

    def test_another_clip_starts_the_same_on_other_ground_goes_on(self, clip):
        head = Playhead(clip, time=0.4, is_playing=True)
        head.set_clip(poise.Clip(clip.times, clip.poses, "walk"))
        assert (head.time, head.is_playing) == (0.4, True)
        head.set_clip(poise.Clip(clip.times, clip.poses, "run"))
        assert (head.time, head.is_playing) == (0.0, True)
        head.set_clip(None)
        assert (head.time, head.is_playing) == (0.0, False)

    def test_a_clip_of_a_single_moment(self, clip):
        head = Playhead(poise.Clip(clip.times[:1], clip.poses[:1], "still"), is_playing=True)
        head.advance(0.5)
        assert head.time == 0.0

    def test_a_foot_stands_as_long_as_its_heel_or_its_ball_does(self, clip):
        steps = {"heel": [(0.1, 0.3), (0.6, 0.9)], "ball": [(0.2, 0.4), (0.65, 0.7)]}
        walk = terrain.plant_clip(rig(), clip, "flat")
        contacts = Contacts.from_intervals({"left": steps}, walk.contacts.legs, np.linspace(0.0, 1.0, 101))
        reported = {
            foot["foot"]: foot["intervals"] for foot in list_contacts(dataclasses.replace(walk, contacts=contacts))
        }
        np.testing.assert_allclose(reported["left"], [[0.1, 0.4], [0.6, 0.9]], atol=0.011)
        assert reported["right"] == []

    def test_only_planted_clips_have_contacts(self, clip):
        assert list_contacts(clip) == []
        assert list_contacts(None) == []


class TestInTheStudio:
    def test_a_clip_plays_pauses_and_is_sought(self):
        with watched(everything()) as page:
            page.until(lambda page: page.frame)
            page.send("clip", name="walk")
            page.until(lambda page: page.state["clip"] == "walk" and page.state["duration"] == 1.0)
            page.send("seek", time=0.5)
            page.until(lambda page: page.frame.time == 0.5)
            page.send("speed", value=2)
            page.send("play", on=True)
            page.until(lambda page: page.frame.flags == 1 and page.frame.time != 0.5)
            page.until(lambda page: page.state["speed"] == 2.0)
            page.send("play", on=False)
            page.until(lambda page: not page.state["playing"])
            page.send("seek", time=0.25)
            page.until(lambda page: page.frame.time == 0.25)
            page.send("chain_change", chain="left_arm", enabled=False)
            wanted = rig().clip("walk").at(0.25).world.positions
            page.until(lambda page: np.allclose(page.frame.rows[0, 0, :, :3], wanted, atol=1e-5))
            page.send("clip", name=None)
            page.until(lambda page: page.state["clip"] is None and page.state["duration"] == 0.0)

    def test_chains_are_solved_on_top(self):
        hand, foot = (rig().skeleton.index(name) for name in ("LeftHand", "RightFoot"))
        with watched(everything()) as page:
            page.send("clip", name="walk")  # its chains are off now: their targets are those of another pose
            page.send("chain_change", chain="left_arm", enabled=True)
            page.send("seek", time=0.4)
            page.send("target", chain="left_arm", position=HAND, serial=4)
            frame = page.answered(4)
            np.testing.assert_allclose(frame.rows[0, 0, hand, :3], HAND, atol=2e-3)
            walking = rig().clip("walk").at(0.4).world.positions
            np.testing.assert_allclose(frame.rows[0, 0, foot, :3], walking[foot], atol=1e-5)

    def test_without_a_clip_there_is_nothing_to_play(self):
        with watched(everything()) as page:
            for name, args in (("play", {"on": True}), ("seek", {"time": 1})):
                count = len(page.errors)
                page.send(name, **args)
                page.until(lambda page, count=count: len(page.errors) > count)
                assert "no clip" in page.errors[-1]

    def test_a_scene_with_a_clip_plays_at_once(self):
        with watched(everything(), scene="walk_on_hills") as page:
            page.until(lambda page: page.state is not None and page.state["playing"])
            page.until(lambda page: page.state["contacts"])


class TestPlanting:
    def test_it_is_done_beside_the_dragging(self, monkeypatch):
        """While it is worked out targets are answered; then the clip has contacts and stands on the ground."""
        release, plant = threading.Event(), commands.plant_clip

        def slow(*args):
            assert release.wait(60)
            return plant(*args)

        monkeypatch.setattr(commands, "plant_clip", slow)
        with watched(everything()) as page:
            page.send("clip", name="walk")
            page.send("terrain", words="stairs:0.15,0.30")
            page.send("plant", on=True)
            page.until(
                lambda page: any(
                    message["text"] for message in page.all("busy") if "planting" in (message["text"] or "")
                )
            )
            for serial in range(1, 6):
                page.send("target", chain="left_arm", position=[0.4, 1.2, serial / 50], serial=serial)
                page.answered(serial)
            assert page.state["contacts"] == []
            release.set()
            page.until(lambda page: page.state["contacts"])
            assert page.newest("busy")["text"] is None
            for foot in page.state["contacts"]:
                intervals = foot["intervals"]
                assert intervals == sorted(intervals)
                assert all(0.0 <= start <= end <= 1.0 + 1e-9 for start, end in intervals)
                assert all(a[1] < b[0] for a, b in pairwise(intervals))
            assert page.errors == []

    def test_it_is_done_once_for_each_ground(self, monkeypatch):
        planted, plant = [], commands.plant_clip
        monkeypatch.setattr(commands, "plant_clip", lambda *args: (planted.append(args[-1]), plant(*args))[1])
        with watched(everything()) as page:
            page.send("clip", name="walk")
            page.send("plant", on=True)
            page.until(lambda page: page.state is not None and page.state["contacts"])
            for name, args in (("plant", {"on": False}), ("plant", {"on": True}), ("undo", {}), ("redo", {})):
                page.send(name, **args)
                on = args.get("on", name == "redo")
                page.until(lambda page, on=on: bool(page.state["contacts"]) == on and page.state["plant"] == on)
        assert planted == ["flat"]

    def test_what_cannot_be_planted_is_reported_and_switched_off(self, monkeypatch):
        def refuse(*_):
            raise poise.UnsupportedError("no feet")

        monkeypatch.setattr(commands, "plant_clip", refuse)
        with watched(everything()) as page:
            page.send("clip", name="walk")
            page.send("plant", on=True)
            page.until(lambda page: page.errors)
            assert page.errors == ["no feet"]
            page.until(lambda page: not page.state["plant"])
            assert page.newest("busy")["text"] is None

    def test_a_scene_chosen_meanwhile_keeps_its_own_clip(self, monkeypatch):
        release, plant = threading.Event(), commands.plant_clip
        monkeypatch.setattr(commands, "plant_clip", lambda *args: (release.wait(60), plant(*args))[1])
        with watched(scenes.build_scene("walk_on_hills")) as page:
            page.until(lambda page: page.frame)
            page.send("scene", name="ccd")
            page.until(lambda page: page.state["scene"] == "ccd")
            release.set()
            page.until(lambda page: page.newest("busy")["text"] is None)
            page.send("target", chain="arm", position=[0.6, 0.5, 0.2], serial=9)
            page.answered(9)
            assert (page.state["contacts"], page.state["duration"]) == ([], 0.0)
            assert page.errors == []

"""Sooner: stances end sooner, or begin later, where a joint would pop otherwise, and only there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise.errors import InputError
from poise.ground import sooner
from poise.ground.sooner import ends_near
from poise.ground.stages import Allowed
from tests.ground.motions import load

FRAMES = 40


def ends(pop, *, stands=(10, 30), found=None, step=0.05, short=True):
    """The frames that a stance of some frames may give up next, where a joint pops in one frame."""
    marks = np.zeros((3, FRAMES, 1), dtype=np.bool_)
    for row, (start, stop) in zip(marks, (found or stands, stands, (pop, pop + 1)), strict=True):
        row[start:stop] = True
    return np.flatnonzero(ends_near(step * np.arange(FRAMES), *marks, short=short)).tolist()


class TestEndsNear:
    def test_the_end_of_a_stance_beside_a_pop(self):
        assert ends(30) == [29]
        assert ends(9) == [10]

    def test_a_pop_that_is_farther_away_is_not_its_fault(self):
        assert ends(33) == [29]  # 0.2 s
        assert ends(34) == []
        assert ends(20) == []

    def test_the_one_frame_of_a_short_stance_that_it_can_spare(self):
        assert ends(14, stands=(10, 14)) == [10, 13]
        assert ends(13, stands=(10, 13)) == []

    def test_short_stances_of_clips_of_many_frames_and_of_locked_feet_have_none(self):
        assert ends(25, stands=(10, 25), step=0.025) == []
        assert ends(14, stands=(10, 14), short=False) == []
        assert ends(30, short=False) == [29]

    def test_a_quarter_of_what_was_found_in_all_and_no_more_than_the_most(self):
        assert ends(29, stands=(10, 29), found=(10, 30)) == [28]
        assert ends(27, stands=(10, 27), found=(10, 30)) == []
        assert ends(12, stands=(10, 15), found=(10, 16)) == [10]
        assert ends(14, stands=(11, 14), found=(10, 14)) == [13]

    def test_as_much_time_in_clips_of_many_frames(self):
        assert ends(31, step=0.025) == [29]
        assert ends(31, stands=(10, 29), found=(10, 30), step=0.025) == [28]
        assert ends(31, stands=(10, 28), found=(10, 30), step=0.025) == []
        assert ends(43, stands=(1, 41), step=0.0125) == []

    @pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
    def test_the_last_digits_of_a_step_decide_nothing(self, off):
        assert ends(30, step=0.05 + off) == [29]
        assert ends(33, step=0.05 + off) == [29]
        assert ends(30, stands=(0, 30), step=0.025 + off) == [29]

    def test_a_stance_that_the_clip_cuts_off_counts_as_long(self):
        assert ends(3, stands=(0, 3)) == [2]
        assert ends(FRAMES - 4, stands=(FRAMES - 3, FRAMES)) == [FRAMES - 3]

    def test_the_ends_of_the_clip_are_no_ends_of_stances(self):
        assert ends(FRAMES - 1, stands=(10, FRAMES)) == []
        assert ends(0, stands=(0, 30)) == []


def calmed(monkeypatch, cost, *, given=False, bearing=None):
    """Which frames are tried, and which given up, of stances from 10 to 30 and from 250 to 270, at 30 frames a second.

    cost  how large the pops in frames 30 and 250 are, for stances (300,)
    """
    times, stands, tried = np.arange(300) / 30.0, np.zeros((300, 1), dtype=np.bool_), []
    stands[10:30] = stands[250:270] = True
    repeats = SimpleNamespace(spread=lambda rows: rows, kept=lambda value: value, middle=slice(0, 300))

    def seen(stands):
        clock = SimpleNamespace(times=times)
        return SimpleNamespace(motion=clock, repeats=repeats, given=given, bearing=bearing, stands=stands)

    def brought(seen, *_):
        over = np.zeros((300, 1))
        over[[30, 250], 0] = cost(seen.stands[:, 0])
        return SimpleNamespace(seen=seen, down=SimpleNamespace(held=SimpleNamespace(any=seen.stands)), over=over)

    def without(before, frames):
        tried.append(np.flatnonzero(frames).tolist())
        return seen(before.stands & ~frames)

    for stage in (brought, without):
        monkeypatch.setattr(sooner, stage.__name__, stage)
    monkeypatch.setattr(sooner, "set_down", lambda seen, *_: brought(seen).down)
    monkeypatch.setattr(sooner, "let_go", lambda seen, down, *_: (seen, down))
    best = sooner.stand(seen(stands), None, Allowed())
    return tried, np.flatnonzero(stands & ~best.down.held.any).tolist()


class TestStand:
    def test_as_little_as_helps_is_given_up(self, monkeypatch):
        tried, given_up = calmed(monkeypatch, lambda stands: (0.0, 5.0 * stands[250]))
        assert given_up == [250]
        assert tried == [[250]]

    def test_more_each_time_that_it_helps(self, monkeypatch):
        tried, given_up = calmed(monkeypatch, lambda stands: (2.0 ** stands[10:30].sum(), 0.0))
        assert given_up == [26, 27, 28, 29]  # of 33 ms each: 0.15 s at most
        assert tried == [[29], [28], [27], [26]]

    def test_what_is_far_apart_is_tried_at_once_and_judged_by_itself(self, monkeypatch):
        tried, given_up = calmed(monkeypatch, lambda stands: (5.0, 5.0 * stands[250]))
        assert given_up == [250]
        assert tried == [[29, 250], [250]]

    def test_what_is_worse_is_not_kept(self, monkeypatch):
        tried, given_up = calmed(monkeypatch, lambda stands: (1.0 + (stands.sum() < 40), 0.0))
        assert (tried, given_up) == ([[29]], [])

    def test_a_share_of_a_pop_too_small_to_count_is_none(self, monkeypatch):
        assert calmed(monkeypatch, lambda stands: (5.0 + 0.05 * stands[29], 0.0))[1] == []

    def test_so_many_times_at_most(self, monkeypatch):
        monkeypatch.setattr(sooner, "_TRIES", 3)
        assert len(calmed(monkeypatch, lambda stands: (2.0 ** stands[10:30].sum(), 0.0))[0]) == 3

    def test_a_shorter_stance_that_finds_no_ground_is_none(self, monkeypatch):
        def cost(stands):
            if not stands[29]:
                raise InputError("this ground is too steep")
            return 5.0, 0.0

        assert calmed(monkeypatch, cost) == ([[29]], [])

    def test_what_was_given_is_held(self, monkeypatch):
        assert calmed(monkeypatch, lambda stands: (5.0 * stands[29], 0.0), given=True) == ([], [])

    def test_so_is_what_a_figure_that_is_on_more_than_its_feet_stands_on(self, monkeypatch):
        assert calmed(monkeypatch, lambda stands: (5.0 * stands[29], 0.0), bearing=object()) == ([], [])


class TestPlanted:
    @pytest.mark.usefixtures("not_spread")
    def test_a_short_step_to_another_tread_takes_the_time_that_it_needs(self, data, monkeypatch):
        rig = load(data / "glb/knight_kaykit.glb")
        stairs = poise.Terrain.stairs(0.15, 0.30, direction=(0.0, 0.0, -1.0))
        shorter = poise.plant_feet(rig.clip("2H_Melee_Attack_Stab"), stairs, rig=rig)
        assert shorter.report.ok
        assert any("was let go" in note for note in shorter.notes)
        monkeypatch.setattr(sooner, "_TRIES", 0)
        held = poise.plant_feet(rig.clip("2H_Melee_Attack_Stab"), stairs, rig=rig)
        assert [worse.measure for worse in held.report.worse] == ["d2"]
        assert not (shorter.contacts.any & ~held.contacts.any).any()

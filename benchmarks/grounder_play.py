"""Feet on the ground, live, as a game plays: what is seen from frame to frame, beside the animation itself.

A walk and a run of the test data become loops of one gait cycle, in step with each other. A script plays them at 60
frames a second: speed (between 0.8 of the walk and 1.2 of the run) and heading change at random, and the place of the
figure follows from what is blended. Three scripts, 20 s each or ten minutes with `--long`, on flat ground, a slope and
stairs. No frame is left out and nothing is smoothed.

Hips: largest change of height in a frame beyond the animation's own; on a slope and on stairs that holds the climb
itself. d2: largest second difference of an ankle's place, in mm per frame^2, and the same beyond the animation's
largest within 0.1 s, since a run turns its feet round faster than a walk.
Depth: of heel and ball below the ground. Times: elapsed, one call at a time.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import harness
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import poise
from poise import Clip, Grounder, Pose, Terrain
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, Motion, motion_of
from poise.ground.report.measures import paths_of
from poise.maths import rotations

CLIPS = ("bvh/walk_mass.bvh", "bvh/run_mass.bvh")
GROUNDS = {"flat": Terrain.flat, "slope 15": lambda: Terrain.slope(15), "stairs": lambda: Terrain.stairs(0.15, 0.30)}
SCRIPTS, SECONDS, LONG, RATE, CROWD = 3, 20.0, 600.0, 60.0, 500
FINE = 240  # poses of a loop
CYCLES = (0.45, 1.4)  # [s] a gait cycle is so long
CHANGE = 1.5  # [s] between new wishes of speed and heading
EASE = 0.35  # [s] in which a wish is followed
DEEP = 0.030  # [m]
NEAR = 6  # frames: d2 counts beside the source's within 0.1 s
PIECE = 3000  # frames measured at once


class Loop:
    """One gait cycle: poses without their way, and the way per cycle."""

    def __init__(self, clip: Clip) -> None:
        figure = figure_of(clip)
        start, stop = _cycle(clip)
        q = clip.at(np.linspace(clip.times[start], clip.times[stop], FINE + 1)).q.copy()
        self.seconds = float(clip.times[stop] - clip.times[start])
        self.level = [0, 2] if figure.up == "y" else [0, 1]
        self.way = (q[-1] - q[0])[self.level]
        q[:, self.level] -= q[0, self.level] + np.linspace(0.0, 1.0, FINE + 1)[:, None] * self.way
        # What does not close is spread over the cycle, so that playing it again shows no corner.
        ends = q[-1] * np.where(_same_side(q[0], q[-1]), 1.0, -1.0)
        q = q[:-1] - np.linspace(0.0, 1.0, FINE + 1)[:-1, None] * (ends - q[0])
        self.q = _unit(q)
        ahead = motion_of(Clip(np.arange(FINE) / FINE, Pose(clip.skeleton, self.q)), figure).places[:, 0, ANKLE, :2]
        goes = rotations.rotate(figure.turn, _level(self.way, figure.up))[:2]
        self.q = np.roll(self.q, -int(np.argmax(ahead @ goes)), axis=0)

    def at(self, phase: float) -> np.ndarray:
        """The configuration at a phase from 0 to 1."""
        place = phase * FINE
        i, u = int(place) % FINE, place - int(place)
        return _mixed(self.q[i], self.q[(i + 1) % FINE], u)


def _level(way: np.ndarray, up: str) -> np.ndarray:
    return np.array([way[0], 0.0, way[1]]) if up == "y" else np.array([*way, 0.0])


def _cycle(clip: Clip) -> tuple[int, int]:
    """The two frames that are most alike and a gait cycle apart."""
    local = clip.poses.q[:, 7:]
    best = (np.inf, 0, 1)
    for start in range(len(clip) // 2):
        low, high = (min(int(start + s * clip.fps), len(clip)) for s in CYCLES)
        if low >= high:
            break
        away = np.linalg.norm(np.abs(local[low:high]) - np.abs(local[start]), axis=1)
        best = min(best, (float(away.min()), start, low + int(away.argmin())))
    return best[1], best[2]


def _same_side(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which numbers belong to quaternions on the same half of the sphere; places always do."""
    same = np.ones(len(a), dtype=bool)
    for at in range(3, len(a), 4):
        same[at : at + 4] = np.dot(a[at : at + 4], b[at : at + 4]) >= 0.0
    return same


def _unit(q: np.ndarray) -> np.ndarray:
    """Quaternions of length 1."""
    turns = q[..., 3:].reshape(*q.shape[:-1], -1, 4)
    q[..., 3:] = (turns / np.linalg.norm(turns, axis=-1, keepdims=True)).reshape(q[..., 3:].shape)
    return q


def _mixed(a: np.ndarray, b: np.ndarray, u: float) -> np.ndarray:
    """Between two configurations: places along the line, rotations along the chord."""
    return _unit((1.0 - u) * a + u * np.where(_same_side(a, b), 1.0, -1.0) * b)


def played(loops: list[Loop], up: str, seed: int, seconds: float) -> np.ndarray:
    """The configurations (F, nq) of one script."""
    rng, frames, dt = np.random.default_rng(seed), int(seconds * RATE), 1.0 / RATE
    q = np.empty((frames, loops[0].q.shape[1]))
    phase, speed, heading, place = 0.0, 0.0, 0.0, np.zeros(3)
    wish, turn, rate = 0.0, 0.0, 1.0
    axis = np.array([0.0, 1.0, 0.0] if up == "y" else [0.0, 0.0, 1.0])
    for i in range(frames):
        if i % int(CHANGE * RATE) == 0:
            wish, turn, rate = rng.uniform(0.0, 1.0), rng.uniform(-1.0, 1.0), rng.uniform(0.8, 1.2)
        speed += (wish - speed) * dt / EASE
        heading += turn * dt
        cycle = (1.0 - speed) * loops[0].seconds + speed * loops[1].seconds
        step = dt * rate / cycle
        yaw = rotations.about(axis, heading)
        way = _level((1.0 - speed) * loops[0].way + speed * loops[1].way, up)
        place += rotations.rotate(yaw, way * step)
        phase = (phase + step) % 1.0
        q[i] = _mixed(loops[0].at(phase), loops[1].at(phase), speed)
        q[i, :3] = rotations.rotate(yaw, q[i, :3]) + place
        q[i, 3:7] = rotations.multiply(yaw, q[i, 3:7])
    return q


def _pieces(count: int) -> list[slice]:
    """Frames in pieces that overlap by two, so that second differences see all of them."""
    return [slice(start, min(start + PIECE + 2, count)) for start in range(0, max(count - 2, 1), PIECE)]


def _nearby(values: np.ndarray) -> np.ndarray:
    """The most within NEAR frames before and after."""
    return sliding_window_view(np.pad(values, NEAR, mode="edge"), 2 * NEAR + 1).max(axis=1)


def observed(source: np.ndarray, shown: np.ndarray, live: Grounder) -> harness.Row:
    """Hips, ankles and depth of all frames, in mm, beside the source."""
    figure, footing = live.figure, Footing(live.terrain, live.figure)
    rows, depths = [], []
    for piece in _pieces(len(shown)):
        times = np.arange(piece.stop - piece.start) / RATE
        before, after = (_motion(figure, q[piece], times) for q in (source, shown))
        hips = [np.abs(np.diff(m.places[:, :, HIP, 2].mean(axis=1)))[1:] for m in (before, after)]
        d2 = [np.linalg.norm(np.diff(m.places[:, :, ANKLE], 2, axis=0), axis=2).max(axis=1) for m in (after, before)]
        rows.append([hips[1] - hips[0], *d2])
        paths = paths_of(after, live.gait.soles, footing)
        depths.append(-np.minimum(paths.heights[2:, :, :2], 0.0).min(axis=(1, 2)))
    beyond, d2, own = (1000.0 * np.concatenate(column) for column in zip(*rows, strict=True))
    depth = np.concatenate(depths)
    return {
        "hips beyond source, most [mm]": beyond.max(), "above 5 mm [% of frames]": 100 * (beyond > 5.0).mean(),
        "ankle d2, most [mm]": d2.max(), "source's [mm]": own.max(), "d2 beyond source, most [mm]":
        (d2 - _nearby(own)).max(), "deeper than 30 mm [% of frames]": 100 * (depth > DEEP).mean(),
        "deepest [mm]": 1000 * depth.max(),
    }  # fmt: skip


def _motion(figure: Figure, q: np.ndarray, times: np.ndarray) -> Motion:
    return motion_of(Clip(times, Pose(figure.skeleton, q)), figure)


def row(kind: str, script: int, reference: Clip, source: np.ndarray) -> harness.Row:
    """One script on one ground."""
    live = Grounder(reference, GROUNDS[kind]())
    poses, shown, seconds = [Pose(reference.skeleton, q) for q in source], np.empty_like(source), np.empty(len(source))
    for i, pose in enumerate(poses):
        began = time.perf_counter()
        answer = live(pose, 1.0 / RATE)
        seconds[i] = time.perf_counter() - began
        shown[i] = answer.q
    median, slow = harness.spread(seconds[10:], 1e-6)
    return {
        "ground": kind, "script": script + 1, **observed(source, shown, live),
        "a frame, median [us]": median, "99 % [us]": slow,
        f"one of a crowd of {CROWD} [us]": crowd(reference, kind, source),
    }  # fmt: skip


def crowd(reference: Clip, kind: str, source: np.ndarray) -> float:
    """Median microseconds a frame for one figure of a crowd that plays the script from places of its own."""
    live, seconds = Grounder(reference, GROUNDS[kind]()), []
    for i in range(60):
        pose = Pose(reference.skeleton, source[(i + 2 * np.arange(CROWD)) % len(source)])
        began = time.perf_counter()
        live(pose, 1.0 / RATE)
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds[10:]) / CROWD * 1e6)


def main() -> int:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="ten minutes a script")
    options, _ = parser.parse_known_args()
    data, rows, length = harness.data_folder(), [], LONG if options.long else SECONDS
    requested = (
        f"{SCRIPTS} scripts of {length:g} s, {RATE:g} frames a second. Asked for: hips at most 5 mm a frame beyond the "
        "source on flat ground, 1 % of frames deeper than 30 mm on stairs, ankle d2 at most 25 mm, medians of 12 us on "
        f"flat ground and 40 us on stairs, 2 us for one of a crowd of {CROWD}."
    )
    notes = [requested]
    if data is None:
        notes.append("Left out, the test data is not here: set POISE_DATA.")
    else:
        clips = [_load(data / name) for name in CLIPS]
        loops, up = [Loop(clip) for clip in clips], figure_of(clips[0]).up
        for script in range(SCRIPTS):
            source = played(loops, up, script, length)
            rows += [row(kind, script, clips[0], source) for kind in GROUNDS]
    harness.report("grounder_play", "Feet on the ground, live, as a game plays", rows, notes)
    return 0


def _load(path: Path) -> Clip:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poise.load(path).clips[0]


if __name__ == "__main__":
    sys.exit(main())

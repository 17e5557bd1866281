"""Walks and runs of the test data on stairs, with strides as they are and with strides that fit the treads.

Stairs of 0.15 by 0.30 m go up and down the way of each clip. A step goes from a plant of one foot to the next plant of
the other; the treads that it climbs are counted by the heights of the two. Pops are changes of step beyond the bound of
the report, whose source has the same strides, and beyond that of the clip as it came.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path

import harness
import numpy as np
from plant_all_clips import ways

import poise
from poise import Terrain
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import motion_of
from poise.ground.plant import Planted, Stride
from poise.ground.report.jumps import jumps_of
from poise.ground.report.verdict import STEPS

RISE, GOING = 0.15, 0.30
STRIDES: tuple[Stride, ...] = ("keep", "fit")
CLIPS = {
    "CMU 12_01, BVH": ("bvh/cmu_12_01_walk.bvh", None),
    "mass walks": ("bvh/walk_mass.bvh", None),
    "mass runs": ("bvh/run_mass.bvh", None),
    "MakeHuman walks": ("bvh/walk_makehuman_zup.bvh", None),
    "CMU 02_01, ASF": ("asf/02_01.amc", None),
    "PAB walks": ("fbx/pab_walk.fbx", None),
    "PAB jogs": ("fbx/pab_jog.fbx", None),
    "knight walks": ("glb/knight_kaykit.glb", "Walking_A"),
    "robot walks": ("glb/robot_quaternius.glb", "Robot_Walking"),
    "CesiumMan": ("glb/cesium_man.gltf", None),
    "fox walks": ("glb/fox.glb", "Walk"),
    "CMU walk, VRMA": ("vrma/walk_cmu.vrma", None),
}


UNNAMED = ("CesiumMan",)  # planted on what structure alone says of its legs, which planting asks to be said


def with_reported_roles(rig: poise.Rig) -> poise.Rig:
    """The rig with the roles that are found for it, as its sidecar would say them."""
    roles = dict(poise.find_roles(rig).joints)
    message = rig.with_skeleton(dataclasses.replace(rig.skeleton, roles=roles))
    return dataclasses.replace(message, humanoid=roles, sidecar_roles=frozenset(roles))


def treads(planted: Planted) -> np.ndarray:
    """How many treads each step climbs or goes down, from a foot to the other one of its pair."""
    leg, start, _, _ = planted.plants.stances
    legs, height = planted.figure.legs, planted.plants.ball[:, 2]
    found = []
    for i in np.argsort(start, kind="stable"):
        others = [
            k for k in range(len(leg))
            if leg[k] != leg[i] and legs[leg[k]].position == legs[leg[i]].position and start[k] < start[i]
        ]  # fmt: skip
        if others:
            found.append(abs(height[i] - height[max(others, key=lambda k: start[k])]) / RISE)
    return np.rint(found)


def beyond(before: poise.Clip, planted: Planted) -> float:
    """By how much the largest change of step is beyond what a source allows [mm]."""
    motions = motion_of(before, planted.figure), motion_of(planted, planted.figure)
    jumps = jumps_of(motions, room=STEPS.step)
    return float(np.maximum(jumps.after - jumps.bound, 0.0).max())


def measured(planted: Planted, stride: str) -> harness.Row:
    """The columns of a clip with such strides."""
    report, climbed = planted.report, treads(planted)
    return {
        f"two treads or more, {stride}": f"{np.count_nonzero(climbed > 1)} of {len(climbed)}",
        f"ok, {stride}": "yes" if report.ok else ", ".join(worse.measure for worse in report.worse),
        f"pops, {stride} [mm]": beyond(planted.travelled, planted),
        f"pops after the source, {stride} [mm]": beyond(planted.source, planted),
        f"skate, {stride} [cm/s]": round(report.after.skate, 3),
        f"depth, {stride} [mm]": round(report.after.penetration, 3),
    }


def rows_of(folder: Path) -> list[harness.Row]:
    """Up and down for every clip."""
    rows: list[harness.Row] = []
    for name, (file, clip_name) in CLIPS.items():
        if not (folder / file).is_file():
            print(f"strides: without {file}, which is not here", flush=True)
            continue
        rig = with_reported_roles(poise.load(folder / file)) if name in UNNAMED else poise.load(folder / file)
        clip = rig.clip(clip_name) if clip_name else rig.clips[0]
        figure = figure_of(clip, rig=rig)
        ahead = ways(clip, figure)[0]
        for way, direction in (("up", ahead), ("down", -ahead)):
            stairs = Terrain.stairs(RISE, GOING, direction=direction, up=figure.up)
            row: harness.Row = {"clip": name, "stairs": way}
            for stride in STRIDES:
                row |= measured(poise.plant_feet(clip, stairs, rig=rig, stride=stride), stride)
            rows.append(row)
    return rows


def total(rows: list[harness.Row]) -> str:
    """All of them in a sentence."""
    message = []
    for stride in STRIDES:
        counts = np.array([row[f"two treads or more, {stride}"].split(" of ") for row in rows], dtype=int).sum(axis=0)
        ok = sum(row[f"ok, {stride}"] == "yes" for row in rows)
        pops, after = (sum(row[f"{name}, {stride} [mm]"] for row in rows) for name in ("pops", "pops after the source"))
        message.append(
            f'stride="{stride}": {counts[0]} of {counts[1]} steps climb two treads or more, {ok} of {len(rows)} ok, '
            f"pops add up to {pops:.0f} mm ({after:.0f} mm after the source)"
        )
    return "All: " + "; ".join(message) + "."


def main() -> int:
    """Plant everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("strides needs the real clips: set POISE_DATA to their folder")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = rows_of(folder)
    notes = [total(rows), __doc__.split("\n\n", 1)[1].strip()]
    harness.report("strides", "Strides that fit stairs", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Two hands on a box: at relative places, and with a range along the box."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLACK, BLUE, COLOURS, GREY, LINES, PALE, chain, figure, save
from poise import samples

WIDTHS = np.linspace(0.1, 0.9, 41)
ARM = ["LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand"]
OTHER_ARM = [name.replace("Left", "Right") for name in ARM]


def draw(path: Path) -> None:
    """Draw the arms on boxes of three widths, and what each hand moves for all widths."""
    rig = poise.load(samples.path("humanoid.glb"))
    start = hold_box(rig)
    drawing, (left, right) = figure(columns=2, height=3.4)
    for width, colour, line in zip((0.2, 0.4, 0.6), COLOURS, LINES, strict=False):
        pose = poise.solve(start, hands_apart(start, width)).pose
        for joints in (ARM, OTHER_ARM):
            points = np.array([pose.world[name].positions for name in joints])[:, [0, 2]]
            chain(left, points, colour=colour, linestyle=line)
        hands = np.array([pose.world[joints[-1]].positions for joints in (ARM, OTHER_ARM)])
        left.plot(*hands[:, [0, 2]].T, color=PALE, linewidth=5, zorder=0)
    left.set(title="from above", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    both, one = (measure_moves(start, follow=follow) for follow in (False, True))
    right.plot(WIDTHS, both[:, 0], color=BLUE, label="both move: left hand")
    right.plot(WIDTHS, both[:, 1], color=BLUE, linestyle="--", label="both move: right hand")
    right.plot(WIDTHS, one[:, 0], color=GREY, label="follow: left hand")
    right.plot(WIDTHS, one[:, 1], color=BLACK, linestyle=":", label="follow: right hand")
    right.set(title="how far the hands move", xlabel="width of the box [m]", ylabel="[m]")
    drawing.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    save(drawing, path)


def hold_box(rig: poise.Rig) -> poise.Pose:
    """The start of the tutorial: both hands in front of the chest."""
    sides = [poise.Position(f"{side}Hand", [0.2 * sign, 1.2, 0.35]) for side, sign in (("Left", 1), ("Right", -1))]
    return poise.solve(rig.rest, sides).require().pose


def hands_apart(start: poise.Pose, width: float, *, follow: bool = False) -> poise.Position:
    """The left hand beside the right one, along the line between them at the start."""
    left, right = start.world["LeftHand"], start.world["RightHand"]
    along = poise.rotations.rotate(poise.rotations.inverse(right.rotations), left.positions - right.positions)
    along *= width / np.linalg.norm(along)
    return poise.Position("LeftHand", along, relative_to="RightHand", follow=follow)


def measure_moves(start: poise.Pose, *, follow: bool) -> np.ndarray:
    """Measure the ways [m] of the left and the right hand for all widths, NaN where a width is not reached."""
    ways = []
    for width in WIDTHS:
        result = poise.solve(start, hands_apart(start, width, follow=follow))
        moved = [result.pose.world[n].positions - start.world[n].positions for n in ("LeftHand", "RightHand")]
        ways.append(np.linalg.norm(moved, axis=-1) if result.reached else [np.nan, np.nan])
    return np.array(ways)

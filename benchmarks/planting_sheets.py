"""Sheets of a planted clip: the frames around each toe-off, from the side and from the front, under their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import planting_judge as judge
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

MOST = 6  # toe-offs on a sheet
SIDE, EVERY = 5, 2  # frames on either side of a toe-off, every second
WIDE, BELOW, ABOVE = 0.75, 0.35, 1.75  # [m] of a cell: to either side of the pelvis, below and above the ground
LONGEST = 0.65  # [m] longer bones lead to where a file has its origin
INCH, DOTS = 1.25, 70  # of the picture for a metre, and in an inch
BODY, GROUND, STANDS = "#1F2933", "#8A6D3B", "#D00000"
LEGS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")


def draw_sheet(scene: judge.Scene, title: str, path: Path) -> str:
    """Draw rows of source and result, side and front, for the first toe-offs; return what is on the sheet."""
    held = [np.array([judge.find_contacts(scene, point) for point in points]) for points in scene.soles]
    events = sorted(
        (event["frame"], event["leg"]) for event in judge.list_events(scene, held) if event["kind"] == "toe-off"
    )
    events = events[:MOST] or [(len(scene.result.places) // 2, "middle")]
    columns, rows = 2 * SIDE + 1, 4 * len(events)
    wide, tall = 2 * WIDE, BELOW + ABOVE
    figure = Figure(figsize=(INCH * columns * wide, INCH * (rows * tall + 0.3)), dpi=DOTS)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, columns * wide)
    axes.set_ylim(-rows * tall, 0.3)
    axes.text(0.05, 0.1, f"{title}: source above result, side and front, every second frame around toe-offs", size=10)
    standing = np.array([mask[:2].any(axis=0) for mask in held])
    for band, (centre, _) in enumerate(events):
        for column in range(columns):
            frame = centre + EVERY * (column - SIDE)
            if not 0 <= frame < len(scene.result.places):
                continue
            marks = "".join(leg.name[0] if on else "-" for leg, on in zip(scene.legs, standing[:, frame], strict=True))
            for row in range(4):
                corner = np.array([(column + 0.5) * wide, -(4 * band + row) * tall - ABOVE])
                draw_frame(axes, scene, frame, corner, of_source=row % 2 == 0, front=row > 1)
            colour = STANDS if frame == centre else BODY
            axes.text(column * wide + 0.05, -4 * band * tall - 0.15, f"{frame} {marks}", size=8, color=colour)
        axes.axhline(-4 * band * tall, color="#DDDDDD", lw=0.8)
    figure.savefig(path)
    return f"{path}: toe-offs at " + ", ".join(f"{frame} ({leg})" for frame, leg in events)


def draw_frame(axes: Any, scene: judge.Scene, frame: int, corner: np.ndarray, *, of_source: bool, front: bool) -> None:
    """Draw one frame with its ground at a place of the sheet."""
    ahead = judge.find_heading(scene.source, scene.legs, scene.up, scene.metre)
    right = np.cross(np.eye(3)[scene.up], ahead) if front else ahead
    places = (scene.source if of_source else scene.result).places[frame]
    centre = places[scene.pelvis]
    run = np.linspace(-WIDE, WIDE, 201)[:, None] * right * scene.metre + centre
    ground = np.full(len(run), scene.floor) if of_source else scene.terrain.heights(run)
    base = scene.floor if of_source else find_base(scene, frame)

    def put(points: np.ndarray, heights: np.ndarray) -> np.ndarray:
        return corner + np.stack([(points - centre) @ right, heights - base], axis=-1) / scene.metre

    inside = np.abs(ground - base) < ABOVE * scene.metre
    axes.plot(*put(run, ground)[inside].T, color=GROUND, lw=0.7)
    joints = put(places, places[..., scene.up])
    pairs, colours = list_bones(scene)
    axes.add_collection(LineCollection(list(joints[pairs]), colors=colours, linewidths=1.3))


def find_base(scene: judge.Scene, frame: int) -> float:
    """Mean height of the ground under all feet in a quarter of a second, so that a cell does not jump on stairs."""
    near = max(1, round(scene.rate / 8))
    frames = slice(max(0, frame - near), frame + near + 1)
    return float(scene.terrain.heights(scene.result.places[frames][:, [leg.ankle for leg in scene.legs]]).mean())


def list_bones(scene: judge.Scene) -> tuple[np.ndarray, list[str]]:
    """Rows (n, 2) of the bones below the pelvis, and their colours: each leg has its own."""
    own = {leg.hip: LEGS[number % len(LEGS)] for number, leg in enumerate(scene.legs)}
    colours = {scene.pelvis: BODY}
    lengths = np.linalg.norm(scene.source.places[0] - scene.source.places[0][scene.parents], axis=-1)
    pairs: list[tuple[int, int]] = []
    for row, parent in enumerate(scene.parents.tolist()):
        if parent in colours and lengths[row] < LONGEST * scene.metre:
            colours[row] = own.get(row, colours[parent])
            pairs.append((parent, row))
    return np.array(pairs), [colours[row] for _, row in pairs]

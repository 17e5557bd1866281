"""Pictures of poses, solves, planted feet and retargeted clips, with Matplotlib.

Matplotlib, the extra `poise[plot]`, is imported only when a picture is made. `scene.py` computes layout, error curve
and a parallel projection, `limit_outlines.py` the limits, `drawing.py` draws them, `planted_feet.py` draws planted
feet. `frame_sheet.py` lays out sheets of frames, `retargeted_frames.py` draws those of source over target.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_count, check_type
from poise.calls.old_names import accept_path_first
from poise.errors import InputError, quote_value
from poise.ground.plant import Planted
from poise.io.files import as_path, write_atomically
from poise.model.pose import Pose
from poise.plot.error_curve import ErrorCurve, build_error_curve
from poise.plot.planted_feet import render_feet
from poise.plot.retargeted_frames import render_frames
from poise.plot.scene_drawing import render_scene
from poise.plot.scene_layout import check_plain_text, prepare_scene
from poise.problem.goals import Pole, Position
from poise.retargeting.retarget import Retargeted
from poise.solving.result import Result

__all__ = [
    "SUFFIXES",
    "draw_feet",
    "draw_frames",
    "draw_poses",
    "draw_solve",
]

SUFFIXES = (".png", ".svg", ".pdf")


@accept_path_first
def draw_poses(
    poses: Sequence[tuple[str, Pose]],
    path: str | PathLike[str],
    *,
    target: ArrayLike | None = None,
    chain: Sequence[str] = (),
    title: str = "",
) -> None:
    """Draw labelled poses side by side as stick figures. Write the picture to a file.

    Parameters
    ----------
    poses
        Pairs (label, pose), drawn from left to right at one scale; single poses, not batches.
    path
        The file, ending with .png, .svg or .pdf.
    target
        (3,) a point [file units]; with a chain, its distance from the last joint is drawn and written.
    chain
        Names of the joints to highlight, from root to tip, the tip included.
    title
        Title above the picture.

    Raises
    ------
    InputError
        For another suffix, no poses, a batch, or a target that is not three numbers.
    UnknownNameError
        For an unknown joint of the chain.
    FileError
        Where the file cannot be written.
    UnsupportedError
        Without Matplotlib (the extra `plot`).

    Notes
    -----
    Up is the skeleton's up axis; without one in the file it is the longer extent of y and z. Joints above the first
    moving one are omitted; helper bones far from the figure are drawn faintly.
    """
    path, title = _check_path(path), check_plain_text(title, "the title")
    write_atomically(path, render_scene(path.suffix.lower()[1:], *prepare_scene(poses, target, chain), title))


@accept_path_first
def draw_solve(
    start: Pose, result: Result, path: str | PathLike[str], *, label: str = "", target: ArrayLike | None = None,
    title: str = "",
) -> None:  # fmt: skip
    """Draw a solve: poses, limits, tip path and error.

    The poses are those before and after; limits are those of the joints that moved.

    Parameters
    ----------
    start
        The pose before.
    result
        The result of one target. With a trace (`solve(..., trace=True)`) the tip path of the best restart and the error
        per iteration are drawn; for many restarts the best error so far, and dots.
    path
        The file, ending with .png, .svg or .pdf.
    label
        Label above the pose after; by default the result's own status.
    target
        (3,) a point [file units].
    title
        Title above the picture.

    Raises
    ------
    InputError, UnknownNameError, FileError, UnsupportedError
        As `draw_poses` does.

    Notes
    -----
    A limit is drawn at its joint as swept by the next bone: the sector of a hinge, the rim of a cone, the edges of a
    box of angles. A touched limit has the colour of the target. A pole is a line from the bending joint to the point of
    the pole. A legend names the lines.
    """
    path, title, label = _check_path(path), check_plain_text(title, "the title"), check_plain_text(label, "the label")
    check_type(start, Pose, "the pose before a solve")
    if check_type(result, Result, "the result to draw").shape:
        raise InputError(f"draw one result, not a batch of shape {result.shape}: solve for one target")
    goal = next(goal for goal in result.goals if hasattr(goal, "joint"))
    chain = [*result.joints, goal.joint]  # pyright: ignore[reportAttributeAccessIssue]
    poses = [("start", start), (label or str(result.status).replace("_", " "), result.pose)]
    poles = [(goal.joint, goal.target) for goal in result.goals if isinstance(goal, Pole)]
    panels, scene = prepare_scene(
        poses, target, chain, joints_with_limits=result.joints, traced_result=result, poles=poles
    )
    curve: ErrorCurve | None = build_error_curve(result)
    write_atomically(path, render_scene(path.suffix.lower()[1:], panels, scene, title, curve, has_legend=True))


def draw_result(path: str | PathLike[str], result: Result, *, title: str = "") -> None:
    """Draw a result with its own start and target. See `Result.plot`."""
    if result.shape:
        raise InputError("plot() draws the answer to one target; this is a batch of them: solve for one")
    goal = next((goal for goal in result.goals if hasattr(goal, "target")), None)
    target = getattr(goal, "target", None)
    is_point = isinstance(target, np.ndarray) and target.shape == (3,) and isinstance(goal, Position)
    draw_solve(result.problem.start, result, path, target=target if is_point else None, title=title)


@accept_path_first
def draw_feet(planted: Planted, path: str | PathLike[str]) -> None:
    """Draw the planted feet of a clip from the side. Height and speed of each foot over time stand below.

    Parameters
    ----------
    planted
        The result of `plant_feet` or `lock_feet`.
    path
        The file, ending with .png, .svg or .pdf.

    Raises
    ------
    InputError
        For another suffix.
    FileError
        Where the file cannot be written.
    UnsupportedError
        Without Matplotlib (the extra `plot`).

    Notes
    -----
    The ground is drawn along the line from the first to the last position of the hips; a character in place is seen
    from the side. The clip before is grey and dashed, bars are heel and ball in contact.
    """
    path = _check_path(path)
    check_type(planted, Planted, "the clip to draw")
    write_atomically(path, render_feet(path.suffix.lower()[1:], planted))


def draw_frames(done: Retargeted, path: str | PathLike[str], *, every: int | None = None) -> None:
    """Draw a retargeted clip frame by frame, the source over the target.

    Parameters
    ----------
    done
        The result of `retarget`.
    path
        The file, ending with .png, .svg or .pdf.
    every
        Draw each so many frames; by default each third one, and of long clips at most 32 frames.

    Raises
    ------
    InputError
        For another suffix, or a step that is not 1 or more.
    FileError
        Where the file cannot be written.
    UnsupportedError
        Without Matplotlib (the extra `plot`).

    Notes
    -----
    Each frame is seen from the side and from the front of the target. The source is grey, as large as the target by leg
    lengths, its hips at the target's. Limbs of the target have a colour each; what exceeds its bound, since the frame
    before, is red and named. Circles are ankles of feet that stand, lines the ground below them.
    """
    path = _check_path(path)
    check_type(done, Retargeted, "the clip to draw")
    step = None if every is None else check_count(every, "every")
    write_atomically(path, render_frames(path.suffix.lower()[1:], done, step))


def _check_path(path: str | PathLike[str]) -> Path:
    path = as_path(path)
    if path.suffix.lower() not in SUFFIXES:
        message = f"cannot draw to {quote_value(path.name)}: the name of a picture ends with {', '.join(SUFFIXES)}"
        raise InputError(message)
    return path

"""plant_pose(): put the feet of poses on the ground. Of a single pose, or of each pose of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_type
from poise.errors import InputError
from poise.ground.figure.figure import Up
from poise.ground.grounder import Grounder
from poise.ground.stages import STEEPEST_RAD
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import abbreviate
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig


def plant_pose(
    pose: Pose,
    terrain: Terrain,
    *,
    reference: Clip | Pose | None = None,
    rig: Rig | None = None,
    legs: Sequence[str] | None = None,
    contacts: ArrayLike | None = None,
    level: float | None = None,
    up: Up | None = None,
    metre: float | None = None,
    steepest: float = STEEPEST_RAD,
) -> Pose:
    """Put the feet of a pose on the ground. For a figure in a level editor, or a crowd that stands or waits.

    Parameters
    ----------
    pose
        One pose, or a batch with any leading axes. Each is planted by itself, with the same bits as alone.
    terrain
        The ground.
    reference
        What says where the soles are, how the knees bend, and how high the animation's floor is: a clip of the figure
        or a pose that stands on its floor. By default `rig.rest` where a rig is given, else the pose itself, which must
        then be a single one that stands.
    rig, legs
        As for `plant_feet`.
    contacts
        (L, 2) or (..., L, 2) whether heel and ball of each foot stand; by default those that are low over the floor.
    level
        Height of the animation's floor [file units], instead of the one of the reference.
    up, metre
        As for `plant_feet`.
    steepest
        [rad] by which a foot is tilted at most.

    Returns
    -------
    Pose
        The pose on the ground, with the shape that it had. Feet in the air stay as high over the ground as they were
        over their floor.

    Raises
    ------
    InputError
        For what is no Pose, a batch without a reference, a pose of another skeleton than the reference, contacts of
        other legs, or an unusable terrain.

    Notes
    -----
    It is the first frame of a `Grounder`, in which nothing has to be eased: feet that stand come to lie on the ground
    under them, the pelvis goes up or down with the ground and sinks for a leg that is too short, knees keep their
    side. The ground counts as the plane that touches it under heel and ball: where a foot stands over an edge, it is
    not moved off that edge, and where the step is higher than the foot may tilt, heel or ball stays in the ground by
    the rest.

    Examples
    --------
    >>> standing = poise.plant_pose(rig.rest, poise.Terrain.slope(15), rig=rig)
    """
    if not isinstance(pose, Pose):
        raise InputError(f"plant_pose() takes a Pose, such as clip.at(seconds), not {abbreviate(pose)}")
    if rig is not None:
        check_type(rig, Rig, "the rig of plant_pose()")
    if reference is None:
        reference = pose if rig is None else rig.rest
        if rig is None and pose.shape:
            raise InputError("a batch of poses needs to know how the figure stands: give rig= or reference=")
    live = Grounder(reference, terrain, rig=rig, legs=legs, up=up, metre=metre, level=level, steepest=steepest)
    return live(pose, 0.0, contacts=contacts)

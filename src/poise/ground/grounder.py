"""Live foot placement: one call per frame, without knowledge of the next. And of single poses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels
from poise.calls.argument_checks import check_type
from poise.calls.old_names import accept_old_keywords, make_alias
from poise.errors import InputError, UnsupportedError
from poise.ground.checks import check_terrain
from poise.ground.contact.contacts import Thresholds
from poise.ground.contact.plants import STEEPEST_RAD
from poise.ground.figure.figure import Figure, Up, figure_of
from poise.ground.live import Gait, Springs, gait_of, pack
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, abbreviate, check_finite, check_real, prepare_for_kernel
from poise.model.clip import Clip
from poise.model.kinematics import KinematicsTable
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Skeleton

_PAUSE = 0.25  # [s] after a longer one everything begins anew
# A foot is let go as soon as it moves as animated: what it is held back by it has to make up for.
_USUAL = Thresholds(on_speed=0.3, off_speed=0.4, rise=0.4, ball_off=0.02)


class Grounder:
    """Put feet on the ground live. Call it once per frame with the animated pose.

    Parameters
    ----------
    reference
        A clip of the figure, from which soles, the way its knees bend, and the height of its animations' floor are
        taken; or a single pose that stands on its floor, such as `rig.rest`.
    terrain
        The ground.
    rig, legs, up, metre
        As for `plant_feet`.
    level
        Height of the animation's floor [file units], instead of the one of the reference.
    thresholds
        When heel and ball stand, as for `plant_feet`; by default they stand up to 0.4 m/s (looser where the reference
        walks in place). Speeds are means over the last moments; `rest_height` counts for clips only.
    blend_half_life
        [s] in which a change (a foot is let go, comes to lie, climbs a step) is half over.
    pelvis_half_life
        [s] the same for the pelvis; it rises again four times more slowly than it sinks.
    lift_half_life
        [s] the same for the lift of a swinging foot over ground ahead.
    farthest
        [m] A locked foot that is animated farther away than this is let go until it lifts.
    steepest
        [rad] by which a foot is tilted at most.

    Notes
    -----
    A pose may have leading axes: a crowd of the same figure, each with a state of its own, with the same bits as alone.
    Poses must travel over the ground: where a game moves the figure itself, put its place into the pose.

    In every frame: a heel or ball that has come to rest near the animation's floor is locked to the ground under it and
    stays there until it is as fast as 0.4 m/s, high, or more than `farthest` from where it is animated. The foot turns
    about the locked point; where heel and ball stand it comes to lie on the ground and is held. A foot that is let go
    returns to its animation over the ground by a spring that starts with its place and speed, so that nothing jumps,
    and level pushes by at most 32 m/s^2. How far a swinging foot is above where it would be over the ground, its lift,
    jumps down as much as the ground under it jumps up, so that the foot does not, and goes to zero by a spring, by at
    most 40 m/s^2. Swinging feet are lifted out of the ground, and over a step that they come to in the next 0.2 s and
    0.5 m, by at most 45 m/s^2; steps that rise ahead also lift them by their mean slope, as fast as they go. A foot
    between two steps stands on the higher one and its other end hangs over the edge; one that a step has overtaken as
    it lands comes out of it by a spring. The pelvis follows the plane that fits the ground under the feet, by at most
    20 m/s^2, up steps as fast as they rise on average below it, and above ankles that come nearer to the hips than 0.3
    of the leg. It sinks for a leg that is too short, by at most 15 m/s^2 and 0.15 m; what a leg then lacks, its foot
    gives. A knee changes its step by at most 45 m/s^2 more than as animated, for which an ankle gives 2 cm at most; no
    leg gets straighter than 99 % of its length, or than it is animated. Toes bend out of the ground, their tips by at
    most 40 m/s^2, and no farther than 60 degrees or as the clip bends them. A figure with arms leans by 0.3 of the
    slope, into it going up and back going down: of that by which its pelvis rises as it goes, by a spring. Springs are
    stepped exactly, but for bounds of their push: the frame rate changes little more than when a contact is noticed.

    It begins anew, without springs, in the first frame, after `reset`, after a pause of more than 0.25 s, and where an
    ankle jumps faster than anybody runs (30 m/s), so that a figure that is put elsewhere does not fly there.

    It cannot look ahead. A plant is where the foot comes to rest, not in the middle of its slide, and is not moved off
    an edge; a contact is noticed about 10 ms late; a foot that leaves the ground close to a riser is in it for some
    frames. For two walks on flat ground, a slope of 15 degrees and bumps of 5 cm, ankles are half of the time within
    2.5 cm (of a 1.7 m figure) of those of `plant_feet`, 95 % of it within 7 cm and always within 10 cm; hips within 3,
    7.5 and 9 cm. A run up that slope is in the air where the ground rises: its ankles are within 5.5, 13.5 and 14.5 cm.

    Examples
    --------
    >>> grounder = poise.Grounder(clip, poise.Terrain.slope(10))
    >>> shown = grounder(pose, dt=1 / 60)
    """

    @accept_old_keywords(
        blend_halflife="blend_half_life", pelvis_halflife="pelvis_half_life", lift_halflife="lift_half_life"
    )
    def __init__(
        self,
        reference: Clip | Pose,
        terrain: Terrain,
        *,
        rig: Rig | None = None,
        legs: Sequence[str] | None = None,
        up: Up | None = None,
        metre: float | None = None,
        level: float | None = None,
        thresholds: Thresholds | None = None,
        blend_half_life: float = 0.05,
        pelvis_half_life: float = 0.08,
        lift_half_life: float = 0.04,
        farthest: float = 0.15,
        steepest: float = STEEPEST_RAD,
    ) -> None:
        check_terrain(terrain)
        if not isinstance(reference, Clip) and (not isinstance(reference, Pose) or reference.shape):
            raise InputError("the reference of a Grounder is a Clip of the figure, or a single Pose, such as rig.rest")
        if isinstance(reference, Clip) and not len(reference):
            raise InputError(f"clip {reference.name!r} has no frames: it says nothing of the figure's feet")
        self.terrain = terrain
        self.figure: Figure = figure_of(reference, rig=rig, legs=legs, up=up, metre=metre)
        if self.figure.is_robot:
            raise UnsupportedError(
                "the legs of this robot turn on hinges: single poses are planted for legs that turn freely; "
                "lock_feet() and plant_feet() take a whole clip of a robot"
            )
        self.gait: Gait = gait_of(_clip(reference), self.figure)
        if level is not None:
            self.gait = self.gait._replace(level=_size(level, "level", -math.inf) / self.figure.metre)
        springs = Springs(
            blend=_size(blend_half_life, "blend_half_life"),
            pelvis=_size(pelvis_half_life, "pelvis_half_life"),
            lift=_size(lift_half_life, "lift_half_life"),
            farthest=_size(farthest, "farthest"),
            steepest=_size(steepest, "steepest", most=0.5 * math.pi),
            pause=_PAUSE,
        )
        self._live = pack(self.figure, self.gait, terrain, _rule(thresholds, self.gait), springs)
        self._tables: dict[tuple[bool, bool], KinematicsTable] = {}
        self._step = kernels.ground.grounder.step
        self.reset()

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the poses."""
        return self.figure.skeleton

    @property
    def contacts(self) -> Bools:
        """(..., L, 2) whether heel and ball stood in the last frame. As found or as given."""
        k = kernels.ground.grounder_walk
        return self._unpack_batch(self._state[..., [k.ON, k.POINT + k.ON]] > 0.0)

    @property
    def locked(self) -> Bools:
        """(..., L) whether each foot was locked in the last frame."""
        return self._unpack_batch(self._state[..., kernels.ground.grounder_walk.MODE] > 0.0)

    @property
    def offsets(self) -> Floats:
        """(..., L, 3) displacement of ankles in the last frame [file units]. From where it was animated."""
        k = kernels.ground.grounder_walk
        moved = self._state[..., k.OUT : k.OUT + 3] - self._state[..., k.ANKLE : k.ANKLE + 3]
        return self._unpack_batch(rotations.rotate(rotations.inverse(self.figure.turn), moved) * self.figure.metre)

    @property
    def pelvis(self) -> Floats:
        """(...) rise of the figure in the last frame [file units]. Above where it was animated."""
        return self._body[:, kernels.ground.grounder_walk.UP].reshape(self._shape) * self.figure.metre

    def __getstate__(self) -> dict[str, Any]:
        """Copy the arrays for copies.

        Copies stand where this one does and go on by themselves: its arrays are written to in every frame.
        """
        own = {name: value for name, value in vars(self).items() if name not in {"_step", "_tables"}}
        return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in own.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        k = kernels.ground.grounder_walk
        widths = *(state[name].shape[-1] for name in ("_state", "_frames", "_body")), len(state["_live"].settings)
        if widths != (k.STATE, k.FRAME, k.BODY, k.SETTINGS):  # the kernel would write beyond the ends of its arrays
            raise InputError("this Grounder was pickled by another version of Poise; make it anew, of its reference")
        self.__dict__.update(state, _tables={}, _step=kernels.ground.grounder.step)

    def __repr__(self) -> str:
        return f"Grounder({len(self.figure.legs)} legs on {type(self.terrain.surface).__name__.lower()} ground)"

    def reset(self) -> None:
        """Forget all state. The next frame is a first one, of any number of figures."""
        self._begin(())
        self._count = -1

    def __call__(self, pose: Pose, dt: float = 1 / 60, *, contacts: ArrayLike | None = None) -> Pose:
        """Return the pose with its feet on the ground.

        Parameters
        ----------
        pose
            The animated pose, single or with leading axes.
        dt
            [s] Time since the last frame, 0 or more; it does not matter in the first frame.
        contacts
            (L, 2) or (..., L, 2) whether heel and ball of each foot stand, where the animation knows; else they are
            found.

        Raises
        ------
        InputError
            For a pose of another skeleton, another number of figures than before, or a time that is negative or no
            number. After this, and after an error of the terrain, everything begins anew.
        """
        seconds = dt if type(dt) is float else check_real(dt, "dt")
        if not 0.0 <= seconds < math.inf:
            raise InputError(f"dt is the time since the last frame, 0 or more seconds, not {dt!r}")
        if not isinstance(pose, Pose):
            raise InputError(f"a Grounder takes a Pose, such as clip.at(seconds), not {abbreviate(pose)}")
        if pose.skeleton is not self.figure.skeleton and pose.skeleton != self.figure.skeleton:
            raise InputError("the pose is of another skeleton than the figure that the Grounder was made for")
        q = np.array(pose.q)
        rows = q.reshape(-1, q.shape[-1])
        if q.shape[:-1] != self._shape or self._count < 0:
            self._enter(q.shape[:-1])
        given = self._unknown if contacts is None else self._pack_contacts(contacts)
        translations, scales = self._beside(pose)
        try:
            self._run(seconds, given, rows, translations, scales)
        except Exception:
            self.reset()
            raise
        moved = translations.reshape(*self._shape, *translations.shape[1:]) if translations.shape[1] else None
        return Pose.make_unchecked(pose.skeleton, q, moved, pose.scales)

    step: ClassVar[Any] = make_alias("Grounder.step", __call__, "grounder(pose, dt)")

    def _run(self, dt: float, given: Floats, q: Floats, translations: Floats, scales: Floats) -> None:
        """Move q and translations on by a frame."""
        live, k = self._live, kernels.ground.grounder
        table = self._table(moved=translations.shape[1] > 0, scaled=scales.shape[1] > 0)
        for phase in (k.BOTH,) if live.known else (k.WALK, k.GROUND):
            if phase == k.GROUND:
                ground = self.terrain.sample(self._sample_points)
                self._heights[...], self._normals[...] = ground.heights, ground.normals
            self._step(
                phase, table.constants, live.rows, table.q_columns, live.legs, live.marks, live.settings, self._state,
                self._body, self._work, self._maps, self._frames, self._sample_points, self._heights, self._normals,
                given, q, translations, scales, dt,
            )  # fmt: skip

    def _enter(self, shape: tuple[int, ...]) -> None:
        """Allocate state for the characters of the first frame. Later their number stays."""
        if self._count >= 0:
            message = f"poses with batch axes {shape} follow poses with {self._shape}; call reset() between them"
            raise InputError(message)
        self._begin(shape)

    def _begin(self, shape: tuple[int, ...]) -> None:
        k = kernels.ground.grounder_walk
        count, legs, rows = math.prod(shape), len(self.figure.legs), len(self._live.rows)
        used = len(self._table(moved=False, scaled=False).q_columns)
        self._shape, self._count = shape, count
        self._state, self._body = np.zeros((count, legs, k.STATE)), np.zeros((count, k.BODY))
        self._body[:, k.FRESH] = 1.0
        self._work, self._maps = np.zeros((count, used + 6 * rows)), np.zeros((count, rows + 1, 12))
        self._frames, self._sample_points = np.zeros((count, legs, k.FRAME)), np.zeros((count, legs, k.SAMPLES, 3))
        self._heights, self._normals = np.zeros((count, legs, k.SAMPLES)), np.zeros((count, legs, k.SAMPLES, 3))
        self._unknown, self._nothing = np.full((count, legs, 2), -1.0), np.zeros((count, 0, 3))

    def _table(self, *, moved: bool, scaled: bool) -> KinematicsTable:
        key = moved, scaled
        if key not in self._tables:
            self._tables[key] = self._live.table(moved=moved, scaled=scaled)
        return self._tables[key]

    def _beside(self, pose: Pose) -> tuple[Floats, Floats]:
        """Return translations (k, n|0, 3) and scales (k, n|0, 3). Translations may be written to."""
        translations = scales = self._nothing
        size = (self._count, len(self.skeleton), 3)
        if pose.translations is not None:
            translations = np.array(pose.translations, order="C").reshape(size)
        elif self._live.moves:
            translations = np.empty(size)
            translations[:] = self.skeleton.A[:, :3]
        if pose.scales is not None:
            scales = np.array(pose.scales, order="C").reshape(size)
        return translations, scales

    def _pack_contacts(self, contacts: ArrayLike) -> Floats:
        """Contacts as the kernel reads them."""
        values = check_finite(contacts, "contacts", last_axis_length=2, accepts_bools=True)
        shape = (*self._shape, len(self.figure.legs), 2)
        try:
            rows = np.broadcast_to(values, shape)
        except ValueError as error:
            names = ", ".join(leg.name for leg in self.figure.legs)
            message = f"contacts are two truth values, heel and ball, for each of {names}: {shape}, not {values.shape}"
            raise InputError(message) from error
        return prepare_for_kernel((rows != 0.0).astype(np.float64).reshape(self._count, len(self.figure.legs), 2))

    def _unpack_batch(self, values: np.ndarray) -> np.ndarray:
        """Reshape values (k, ...) of characters to the poses' batch axes."""
        return values.reshape(*self._shape, *values.shape[1:])


def _clip(reference: Clip | Pose) -> Clip:
    """Return the reference clip for soles, knees and floor. A single pose becomes a clip of one frame."""
    if isinstance(reference, Clip):
        return reference
    translations, scales = reference.translations, reference.scales
    beside = [None if values is None else values[None] for values in (translations, scales)]
    return Clip(np.zeros(1), Pose(reference.skeleton, reference.q[None], *beside))


def _rule(given: Thresholds | None, gait: Gait) -> Thresholds:
    """Return the caller's thresholds, or default ones. The default is looser if the reference walks in place."""
    if given is not None:
        if not isinstance(given, Thresholds):
            raise InputError(f"thresholds are a poise.Thresholds, not {abbreviate(given)}")
        return given
    return _USUAL.loosen(gait.speed) if gait.speed > 0 else _USUAL


def _size(value: float, what: str, least: float = 0.0, most: float = math.inf) -> float:
    """A number in a range, ends included but for infinity."""
    number = check_real(value, what)
    if not (least <= number <= most and math.isfinite(number)):
        limits = f"from {least:g} to {most:g}" if math.isfinite(most) else "finite and 0 or more"
        raise InputError(f"{what} must be {limits if math.isfinite(least) else 'finite'}, not {value}")
    return number


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

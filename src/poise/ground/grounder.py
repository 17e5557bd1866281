"""Grounder: feet on the ground, live: one call per frame, with no knowledge of the next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels, rotations
from poise.arrays import Bools, Floats, real
from poise.clip import Clip
from poise.errors import InputError, UnsupportedError
from poise.ground.contacts import Thresholds
from poise.ground.figure import Figure, Up, figure_of
from poise.ground.live import Gait, Springs, gait_of, pack
from poise.ground.terrain import Terrain
from poise.kinematics import Table
from poise.pose import Pose
from poise.rig import Rig
from poise.skeleton import Skeleton

_PAUSE = 0.25  # [s] after a longer one everything begins anew


class Grounder:
    def __init__(
        self,
        figure: Figure | Rig | Clip | Skeleton,
        terrain: Terrain,
        *,
        gait: Gait | Clip | None = None,
        legs: Any = None,
        up: Up | None = None,
        metre: float | None = None,
        level: float | None = None,
        thresholds: Thresholds | None = None,
        blend_halflife: float = 0.05,
        pelvis_halflife: float = 0.08,
        lift_halflife: float = 0.04,
        farthest: float = 0.15,
        steepest: float = 40.0,
    ) -> None:
        thing = _clip_of(figure.skeleton if isinstance(figure, Figure) else figure)
        self.figure = figure if isinstance(figure, Figure) else figure_of(figure if isinstance(figure, Rig) else thing, legs=legs, up=up, metre=metre)
        if not isinstance(gait, Gait):
            gait = gait_of(thing if gait is None else gait, self.figure)
        if level is not None:
            gait = gait._replace(level=level / self.figure.metre)
        self.terrain = terrain
        springs = Springs(blend_halflife, pelvis_halflife, lift_halflife, farthest, math.radians(steepest), _PAUSE)
        self._live = pack(self.figure, gait, terrain, thresholds or Thresholds(), springs)
        self._tables: dict[tuple[bool, bool], Table] = {}
        self._plane = bool(self._live.settings[17])
        self._step = kernels.grounder.step
        self.reset()

    @classmethod
    def for_clip(cls, clip: Clip, terrain: Terrain, **options: Any) -> Grounder:
        return cls(clip, terrain, **options)

    @property
    def skeleton(self) -> Skeleton:
        return self.figure.skeleton

    def reset(self) -> None:
        self._count = -1

    def _begin(self, count: int) -> None:
        """Make room for so many characters."""
        k = kernels.grounder_walk
        legs, rows = len(self.figure.legs), len(self._live.rows)
        used = len(self._table(moved=False, scaled=False).used)
        self._state, self._body = np.zeros((count, legs, k.STATE)), np.zeros((count, k.BODY))
        self._body[:, k.FRESH] = 1.0
        self._work = np.zeros((count, used + 6 * rows))
        self._maps = np.zeros((count, rows + 1, 12))
        self._frames, self._asked = np.zeros((count, legs, k.FRAME)), np.zeros((count, legs, k.SAMPLES, 3))
        self._heights, self._normals = np.zeros((count, legs, k.SAMPLES)), np.zeros((count, legs, k.SAMPLES, 3))
        self._unknown = np.full((count, legs, 2), -1.0)
        self._nothing = np.zeros((count, 0, 3))
        self._count = count

    def _table(self, *, moved: bool, scaled: bool) -> Table:
        key = moved, scaled
        if key not in self._tables:
            self._tables[key] = self._live.table(moved=moved, scaled=scaled)
        return self._tables[key]

    def step(self, pose: Pose, seconds: float, *, contacts: ArrayLike | None = None) -> Pose:
        if pose.skeleton is not self.figure.skeleton:
            self._check_skeleton(pose)
        if not 0.0 <= seconds < math.inf:
            raise InputError(f"seconds since the last frame must be finite and not negative, not {seconds}")
        shape = pose.q.shape
        q = np.array(pose.q)
        rows = q.reshape(-1, shape[-1])
        if len(rows) != self._count:
            self._begin(len(rows))
        given = self._unknown if contacts is None else self._given(contacts, shape[:-1])
        live = self._live
        translations, scales = self._beside(pose)
        table = self._table(moved=translations.shape[1] > 0, scaled=scales.shape[1] > 0)
        for phase in (2,) if self._plane else (0, 1):
            if phase == 1:
                ground = self.terrain.sample(self._asked)
                self._heights[...], self._normals[...] = ground.heights, ground.normals
            code = self._step(
                phase, table.constants, live.rows, table.used, live.legs, live.marks, live.settings, self._state, self._body,
                self._work, self._maps, self._frames, self._asked, self._heights, self._normals, given, rows, translations, scales,
                float(seconds),
            )  # fmt: skip
            if code:
                raise UnsupportedError("a scale above a leg is not uniform: its feet cannot be planted")
        moved = translations.reshape(*shape[:-1], -1, 3) if translations.shape[1] else None
        return Pose.unchecked(pose.skeleton, q, moved, pose.scales)

    def _beside(self, pose: Pose) -> tuple[Floats, Floats]:
        """Translations (k, n|0, 3), a copy, and scales (k, n|0, 3)."""
        translations = scales = self._nothing
        size = (self._count, len(self.skeleton), 3)
        if pose.translations is not None:
            translations = np.array(pose.translations).reshape(size)
        elif self._live.moves:
            translations = np.empty(size)
            translations[:] = self.skeleton.A[:, :3]
        if pose.scales is not None:
            scales = np.array(pose.scales).reshape(size)
        return translations, scales

    def _given(self, contacts: ArrayLike, batch: tuple[int, ...]) -> Floats:
        return np.broadcast_to(np.asarray(contacts, dtype=float), (*batch, len(self.figure.legs), 2)).reshape(self._count, -1, 2).copy()

    def _check_skeleton(self, pose: Pose) -> None:
        if pose.skeleton != self.skeleton:
            raise InputError("the pose is of another skeleton than the Grounder's")


def _clip_of(thing):
    if isinstance(thing, Clip):
        return thing
    rest = thing.rest if isinstance(thing, Rig) else Pose(thing, thing.rest_q)
    return Clip(np.zeros(1), rest[None] if rest.shape else Pose(rest.skeleton, rest.q[None]))

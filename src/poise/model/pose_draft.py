"""Drafts of poses: single joints change before there is a new pose."""

from __future__ import annotations

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, check_finite
from poise.model.joints import Kind
from poise.model.numpy_kinematics import normalise_rotations
from poise.model.pose import Pose


class PoseDraft:
    """Numbers of a pose, to write to. Joints are where they are in the pose, whatever was written."""

    def __init__(self, pose: Pose) -> None:
        self._pose, self._translations = pose, None
        self.q = pose.q.copy()

    @property
    def translations(self) -> Floats:
        """(..., n, 3) those of the pose. Those of slides and free joints are in q."""
        if self._translations is None:
            self._translations = self._read_translations().copy()
        return self._translations

    def _read_translations(self) -> Floats:
        given, rest = self._pose.translations, self._pose.skeleton.A[:, :3]
        return np.broadcast_to(rest, (*self._pose.shape, *rest.shape)) if given is None else given

    def move(self, row: int, vectors: Floats) -> None:
        """Move a joint by vectors (..., 3) in the world. What hangs below it goes along."""
        skeleton, local = self._pose.skeleton, self._turn_local(row, vectors)
        if skeleton.kinds[row] == Kind.FREE:
            start, turn = int(skeleton.q_start[row]), skeleton.A[row, 3:]
            self.q[..., start : start + 3] += rotations.rotate(rotations.inverse(turn), local)
        else:
            self.translations[..., row, :] += local

    def place(self, row: int, places: Floats) -> None:
        """Put a joint at places (..., 3) in the world."""
        skeleton, affine = self._pose.skeleton, self._pose.world.affine
        if skeleton.kinds[row] == Kind.FREE:
            self.move(row, places - affine[..., row, :, 3])
            return
        parent = int(skeleton.parents[row])
        above = affine[..., parent, :, 3] if parent >= 0 else np.zeros(3)
        self.translations[..., row, :] = self._turn_local(row, places - above)

    def finish(self) -> Pose:
        """Make the pose. Translations that did not change stay the same object."""
        pose, changed = self._pose, self._translations
        if changed is None or np.array_equal(changed, self._read_translations()):
            changed = pose.translations
        else:
            check_finite(changed, "translations")
        q = normalise_rotations(pose.skeleton, check_finite(self.q, "q"))
        return Pose.make_unchecked(pose.skeleton, q, changed, pose.scales)

    def _turn_local(self, row: int, vectors: Floats) -> Floats:
        """Turn vectors (..., 3) of the world to a joint's parent.

        They get its axes and lengths.
        """
        parent = int(self._pose.skeleton.parents[row])
        if parent < 0:
            return vectors
        linear = self._pose.world.affine[..., parent, :, :3]
        return np.asarray(np.linalg.solve(linear, vectors[..., None])[..., 0], dtype=np.float64)

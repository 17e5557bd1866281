"""ikpy: SciPy's bounded least squares with finite differences, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.comparison.peers.library import InProcess, Library, as_place, checked, clipped
from poise.comparison.peers.serial import Segment, SerialArm, roll_pitch_yaw
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats

_LIBRARY = Library("ikpy.chain", "ikpy")
_MOST = 60  # links: a target takes seconds at this number, a minute at three times it, and cannot be interrupted


class Ikpy(InProcess):
    """`Chain.inverse_kinematics_frame` on links made from the arm."""

    name = "ikpy"
    label = _LIBRARY.label("ikpy")
    goals = ("Position", "Place")
    keeps_limits = True
    source = "Python library for serial chains (pip install ikpy)"
    notes = (
        "scipy.optimize.least_squares inside the limits from the start, NumPy backend, its own stopping tests; a ball "
        "joint is three hinges; it does not report whether it reached the target"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, kind: str, tolerance: tuple[float, float]) -> None:
        checked(self.name, self.goals, kind)
        if len(arm.links) > _MOST:
            raise UnsupportedError(
                f"ikpy is limited to {_MOST} hinges, with seconds a target; this chain has {len(arm.links)}"
            )
        links, chain = Library("ikpy.link", "ikpy").load(), _LIBRARY.load()
        parts = [_link(links, link) for link in arm.links]
        turn = roll_pitch_yaw(arm.tip[:3, :3])
        end = links.URDFLink("tip", arm.tip[:3, 3], turn, joint_type="fixed")
        self.moves = np.array([False, *[True] * len(parts), False])
        self.chain = chain.Chain([links.OriginLink(), *parts, end], active_links_mask=self.moves)
        self.arm, self.mode = arm, "all" if kind == "Place" else None

    def solve(self, target: Floats, values: Floats) -> Any:
        """Call the library once from the start."""
        every = np.zeros(len(self.moves))
        every[self.moves] = clipped(self.arm, values)
        found = self.chain.inverse_kinematics_frame(
            as_place(target), initial_position=every, orientation_mode=self.mode
        )
        return np.asarray(found)[self.moves], None, None


def _link(links: Any, link: Segment) -> Any:
    turn = roll_pitch_yaw(link.place[:3, :3])
    how = {"translation": link.axis, "joint_type": "prismatic"} if link.slide else {"rotation": link.axis}
    return links.URDFLink(link.name, link.place[:3, 3], turn, bounds=(link.low, link.high), **how)

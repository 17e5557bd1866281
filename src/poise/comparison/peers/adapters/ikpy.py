"""ikpy: SciPy's bounded least squares with finite differences, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.comparison.peers import adapter_base
from poise.comparison.peers.serial_chain import ChainLink, SerialArm, compute_roll_pitch_yaw
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats

_LIBRARY = adapter_base.OptionalLibrary("ikpy.chain", "ikpy")
_MAX_LINKS = 60  # links: a target takes seconds at this number, a minute at three times it, and cannot be interrupted


class Ikpy(adapter_base.InProcessAdapter):
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
        adapter_base.check_goal_kind(self.name, self.goals, kind)
        if len(arm.links) > _MAX_LINKS:
            raise UnsupportedError(
                f"ikpy is limited to {_MAX_LINKS} hinges, with seconds a target; this chain has {len(arm.links)}"
            )
        links, chain = adapter_base.OptionalLibrary("ikpy.link", "ikpy").load(), _LIBRARY.load()
        parts = [_make_link(links, link) for link in arm.links]
        tip_angles = compute_roll_pitch_yaw(arm.tip[:3, :3])
        end = links.URDFLink("tip", arm.tip[:3, 3], tip_angles, joint_type="fixed")
        self.moves = np.array([False, *[True] * len(parts), False])
        self.chain = chain.Chain([links.OriginLink(), *parts, end], active_links_mask=self.moves)
        self.arm, self.mode = arm, "all" if kind == "Place" else None

    def solve(self, target: Floats, values: Floats) -> Any:
        """Call the library once from the start."""
        every = np.zeros(len(self.moves))
        every[self.moves] = adapter_base.clip_values(self.arm, values)
        output = self.chain.inverse_kinematics_frame(
            adapter_base.make_transform(target), initial_position=every, orientation_mode=self.mode
        )
        return np.asarray(output)[self.moves], None, None


def _make_link(links: Any, link: ChainLink) -> Any:
    angles = compute_roll_pitch_yaw(link.place[:3, :3])
    how = {"translation": link.axis, "joint_type": "prismatic"} if link.is_slide else {"rotation": link.axis}
    return links.URDFLink(link.name, link.place[:3, 3], angles, bounds=(link.low, link.high), **how)

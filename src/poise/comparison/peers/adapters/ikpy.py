"""Adapter of ikpy: SciPy's bounded least squares with finite differences."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from poise.comparison.peers import adapter_base
from poise.comparison.peers.serial_chain import ChainLink, SerialArm, compute_roll_pitch_yaw
from poise.errors import UnsupportedError
from poise.maths.arrays import Floats
from poise.problem.problem import Tolerance

_LIBRARY = adapter_base.OptionalLibrary("ikpy.chain", "ikpy")
_MAX_LINKS = 60  # links: a target takes seconds at this number, a minute at three times it, and cannot be interrupted


class Ikpy(adapter_base.InProcessAdapter):
    """Adapter of `Chain.inverse_kinematics_frame` on links made from the arm."""

    name = "ikpy"
    versioned_name: ClassVar[str] = _LIBRARY.format_versioned_name("ikpy")
    goals: ClassVar[tuple[str, ...]] = ("Position", "Place")
    keeps_limits = True
    source = "Python library for serial chains (pip install ikpy)"
    notes = (
        "scipy.optimize.least_squares inside the limits from the start, NumPy backend, its own stopping tests; a ball "
        "joint is three hinges; it does not report whether it reached the target"
    )
    library = _LIBRARY

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        adapter_base.check_goal_kind(self.name, self.goals, goal_kind)
        if len(arm.links) > _MAX_LINKS:
            raise UnsupportedError(
                f"ikpy is limited to {_MAX_LINKS} hinges, with seconds a target; this chain has {len(arm.links)}"
            )
        link_module, chain_module = adapter_base.OptionalLibrary("ikpy.link", "ikpy").load(), _LIBRARY.load()
        library_links = [_make_link(link_module, link) for link in arm.links]
        tip_angles = compute_roll_pitch_yaw(arm.tip_transform[:3, :3])
        tip_link = link_module.URDFLink("tip", arm.tip_transform[:3, 3], tip_angles, joint_type="fixed")
        self.active_mask = np.array([False, *[True] * len(library_links), False])
        self.chain = chain_module.Chain(
            [link_module.OriginLink(), *library_links, tip_link], active_links_mask=self.active_mask
        )
        self.arm, self.orientation_mode = arm, "all" if goal_kind == "Place" else None

    def solve(self, target: Floats, values: Floats) -> Any:
        """Call the library once from the start."""
        library_values = np.zeros(len(self.active_mask))
        library_values[self.active_mask] = adapter_base.clip_values(self.arm, values)
        output = self.chain.inverse_kinematics_frame(
            adapter_base.make_transform(target), initial_position=library_values, orientation_mode=self.orientation_mode
        )
        return np.asarray(output)[self.active_mask], None, None


def _make_link(link_module: Any, link: ChainLink) -> Any:
    roll_pitch_yaw = compute_roll_pitch_yaw(link.transform[:3, :3])
    joint_options = {"translation": link.axis, "joint_type": "prismatic"} if link.is_slide else {"rotation": link.axis}
    return link_module.URDFLink(
        link.name, link.transform[:3, 3], roll_pitch_yaw, bounds=(link.low, link.high), **joint_options
    )

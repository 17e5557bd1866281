"""Methods of a comparison from other libraries.

This connects the adapters of peers/ to the Method protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from poise.comparison import peers
from poise.comparison.method import Method, MethodOutput, PreparedMethod
from poise.comparison.peers.serial_chain import SerialArm, build_serial_chain
from poise.comparison.task import Task
from poise.errors import InputError, PoiseError, UnsupportedError, quote_value
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.problem.goals import GOAL_NAMES, Orientation, Place


def build_peer_methods(requested: str | Iterable[str]) -> list[Method]:
    """Build the methods of the requested peers, or all.

    A peer that is not installed refuses every task with an installation hint.
    """
    if isinstance(requested, str) and requested != "all":
        raise InputError(
            f'peers is a list of names, or "all", not {quote_value(requested)}; there are: {", ".join(peers.names())}'
        )
    return [
        LibraryMethod(peers.load_adapter(name))
        for name in (peers.names() if requested == "all" else dict.fromkeys(requested))
    ]


class LibraryMethod:
    """Method of a comparison: another library through its adapter."""

    family = "peer"

    def __init__(self, adapter_class: type[peers.LibraryAdapter]) -> None:
        """Describe the method by its adapter class. `prepare` makes the adapter."""
        self.adapter_class = adapter_class
        self.name: str = adapter_class.versioned_name
        self.description: str = f"{adapter_class.source}; {adapter_class.notes}"
        self.options: dict[str, str] = {}
        self.abilities: dict[str, bool] = {goal: goal in adapter_class.goals for goal in GOAL_NAMES} | {
            "Range": adapter_class.keeps_limits
        }

    def prepare(self, task: Task) -> PreparedMethod:
        """Pass the chain to the library."""
        install_hint = self.adapter_class.find_install_hint()
        if install_hint is not None:
            raise UnsupportedError(install_hint)
        if isinstance(task.goal, Orientation):
            raise UnsupportedError(
                f"{self.adapter_class.name} is compared for Position and Place goals, not for Orientation"
            )
        arm = build_serial_chain(task.start, task.goal)
        return _PreparedLibraryMethod(self._make_adapter(arm, task), arm, task)

    def _make_adapter(self, arm: SerialArm, task: Task) -> peers.LibraryAdapter:
        """Make the adapter on this arm. Any failure becomes the reason of a refusal."""
        try:
            return self.adapter_class(arm, type(task.goal).__name__, task.tolerance)
        except (PoiseError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of compiled code is no Exception
            raise UnsupportedError(f"{self.adapter_class.name} cannot take this chain: {error}") from error


class _PreparedLibraryMethod:
    def __init__(self, adapter: peers.LibraryAdapter, arm: SerialArm, task: Task) -> None:
        self.adapter, self.arm, self.task = adapter, arm, task
        self.start_values = arm.q_to_values(task.start.q)

    def pack_target(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        """Convert to the arm's frame, units and values."""
        values = self.start_values if q is None else self.arm.q_to_values(q)
        return self.arm.to_arm_frame(self._make_target_matrix(target)), values

    def _make_target_matrix(self, target: Floats) -> Floats:
        if not isinstance(self.task.goal, Place):
            return target
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = rotations.as_matrix(target[3:]), target[:3]
        return matrix

    def solve(self, *arguments: Any) -> Any:
        return self.adapter.solve(*arguments)

    def read_output(self, raw: Any) -> MethodOutput:
        result = self.adapter.read_output(raw)
        q = np.full(len(self.task.start.q), np.nan) if result.values is None else self.arm.values_to_q(result.values)
        return MethodOutput(q, result.claims_reached, result.iterations, self.adapter.read_seconds(raw))

    def solve_many(self, rows: Floats) -> Floats | None:
        """Return None: these libraries have no batch call."""
        del rows

    def read_claims(self, rows: Floats, start_q: Floats) -> Bools | None:
        """Return None: claims come with each answer."""
        del rows, start_q

    def trace_path(self, target: Floats) -> Floats | None:
        """Return None: these libraries do not show their iterations."""
        del target

    def close(self) -> None:
        self.adapter.close()

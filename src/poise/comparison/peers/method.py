"""Other libraries as methods of a comparison. This connects the adapters of peers/ to the Method protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from poise.comparison import peers
from poise.comparison.peers.serial import SerialArm, serial
from poise.comparison.trials.method import Answered, Method, Ready
from poise.comparison.trials.task import Task
from poise.errors import InputError, PoiseError, UnsupportedError, quoted
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.problem.goals import NAMES as GOALS
from poise.problem.goals import Orientation, Place


def peer_methods(chosen: str | Iterable[str]) -> list[Method]:
    """Build the methods of the requested peers, or all.

    A peer that is not installed refuses every task with an installation hint.
    """
    if isinstance(chosen, str) and chosen != "all":
        raise InputError(
            f'peers is a list of names, or "all", not {quoted(chosen)}; there are: {", ".join(peers.names())}'
        )
    return [Beside(peers.named(name)) for name in (peers.names() if chosen == "all" else dict.fromkeys(chosen))]


class Beside:
    """Other library, through its own call."""

    family = "peer"

    def __init__(self, peer: type[peers.Peer]) -> None:
        """Take an adapter class."""
        self.peer = peer
        self.name = peer.label
        self.text = f"{peer.source}; {peer.notes}"
        self.options: dict[str, str] = {}
        self.does = {goal: goal in peer.goals for goal in GOALS} | {"Range": peer.keeps_limits}

    def ready(self, task: Task) -> Ready:
        """Pass the chain to the library."""
        missing = self.peer.missing()
        if missing is not None:
            raise UnsupportedError(missing)
        if isinstance(task.goal, Orientation):
            raise UnsupportedError(f"{self.peer.name} is compared for Position and Place goals, not for Orientation")
        arm = serial(task.start, task.goal)
        return _BesideReady(self._made(arm, task), arm, task)

    def _made(self, arm: SerialArm, task: Task) -> peers.Peer:
        """Make the adapter on this arm. Any failure becomes the reason of a refusal."""
        try:
            return self.peer(arm, type(task.goal).__name__, (task.tolerance.distance, task.tolerance.angle))
        except (PoiseError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of compiled code is no Exception
            raise UnsupportedError(f"{self.peer.name} cannot take this chain: {error}") from error


class _BesideReady:
    def __init__(self, peer: peers.Peer, arm: SerialArm, task: Task) -> None:
        self.peer, self.arm, self.task = peer, arm, task
        self.start = arm.values(task.start.q)

    def told(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        """Convert to the arm's frame, units and values."""
        values = self.start if q is None else self.arm.values(q)
        return self.arm.inside(self._matrix(target)), values

    def _matrix(self, target: Floats) -> Floats:
        if not isinstance(self.task.goal, Place):
            return target
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = rotations.as_matrix(target[3:]), target[:3]
        return matrix

    def solve(self, *told: Any) -> Any:
        return self.peer.solve(*told)

    def read(self, raw: Any) -> Answered:
        answer = self.peer.read(raw)
        q = np.full(len(self.task.start.q), np.nan) if answer.values is None else self.arm.q(answer.values)
        return Answered(q, answer.claims, answer.iterations, self.peer.seconds_of(raw))

    def solve_many(self, rows: Floats) -> Floats | None:
        """Return None: these libraries have no batch call."""
        del rows

    def claims(self, rows: Floats, begins: Floats) -> Bools | None:
        """Return None: claims come with each answer."""
        del rows, begins

    def path_of(self, target: Floats) -> Floats | None:
        """Return None: these libraries do not show their iterations."""
        del target

    def close(self) -> None:
        self.peer.close()

"""Race of methods: the solve of each view, iteration by iteration.

targets -> ViewSolver.trace_path() -> SolvePath of each view -> RaceClock -> displayed poses
                                   -> LiveRecord -> RaceFigures, as in compare()
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from poise.comparison.live import LIVE_COLUMNS, LiveComparison, describe_live_columns
from poise.comparison.results import format_value
from poise.errors import InputError, PoiseError
from poise.model.pose import Pose
from poise.solving.solve import choose_solver
from poise.viewer.document.chains import TargetedChain
from poise.viewer.document.document import Document, SolverChoice, build_scope
from poise.viewer.view_solver import find_solver_refusals

MIN_RACE_SPEED, MAX_RACE_SPEED = 0.1, 240.0  # [iterations/s]
_SLOW_MOTION_SPEED = 5.0  # [iterations/s]
_FIGURES_INTERVAL_S = 0.5  # [s] between two measurements of the answers so far
_RACED_COUNT = 4  # methods of a race that is opened with fewer than two views
# who races, in this order, if it takes the chain
_RACED_SOLVERS = (
    "ccd", "fabrik", "jacobian_transpose", "levenberg_marquardt", "damped_least_squares", "two_bone", "pseudo_inverse",
    "selectively_damped",
)  # fmt: skip


@dataclass
class RaceClock:
    """The displayed iteration of a race.

    iteration   the one that is displayed; it is between two of them while it plays
    last        last iteration of the method with the most
    is_playing  whether it goes on by itself
    speed       [iterations/s]
    """

    iteration: float = 0.0
    last: int = 0
    is_playing: bool = False
    speed: float = _SLOW_MOTION_SPEED

    def restart(self) -> None:
        """Play from the start pose on."""
        self.iteration, self.is_playing = 0.0, True

    def play(self, *, is_on: bool) -> None:
        """Play or pause. At its end a race restarts."""
        if is_on and self.iteration >= self.last:
            self.restart()
        self.is_playing = is_on

    def advance(self, time_step: float) -> None:
        """Advance by a time step [s]. It pauses at the end."""
        if self.is_playing:
            self.iteration = min(self.iteration + time_step * self.speed, float(self.last))
            self.is_playing = self.iteration < self.last

    def step(self, count: int) -> None:
        """Pause and go some iterations on, or back."""
        self.seek(int(self.iteration) + count)

    def seek(self, iteration: float) -> None:
        """Pause and show an iteration."""
        self.iteration, self.is_playing = float(min(max(int(iteration), 0), self.last)), False

    def set_last(self, last: int) -> None:
        """Set the last iteration. A race at its end stays there."""
        is_at_end = 0 < self.last <= self.iteration
        self.last = last
        self.iteration = float(last) if is_at_end else min(self.iteration, float(last))


class RaceFigures(NamedTuple):
    """Figures of the methods as text, or the reason against them.

    `is_stale` says whether they lack the newest targets.
    """

    columns: tuple[dict[str, Any], ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    reason: str | None = None
    is_stale: bool = False

    def describe(self) -> dict[str, Any]:
        """Describe the figures for the page."""
        return {"columns": list(self.columns), "rows": list(self.rows), "reason": self.reason}


class LiveRecord:
    """Record of the methods of a race on the newest targets.

    The session's thread makes it and hands it to solves and answers, one after the other. After a cancelled one it is
    forgotten, because that one may still use it.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._target: object = None
        self._measured_time = 0.0
        self._is_stale = False
        self._figures: RaceFigures | None = None

    @cached_property
    def _comparison(self) -> LiveComparison | str:
        """The comparison of the methods, or the reason against it."""
        try:
            return _build_comparison(self._document)
        except PoiseError as error:
            return str(error)

    def follow(self, chain: TargetedChain, start: Pose) -> None:
        """Solve for the target of a chain if it is new."""
        if isinstance(self._comparison, str) or chain == self._target:
            return
        self._target = chain
        self._comparison.follow(chain.build_goals(start.skeleton)[0].rows())
        self._is_stale = True

    def measure(self) -> RaceFigures:
        """Measure the figures for the page, twice a second at most."""
        if isinstance(self._comparison, str):
            return RaceFigures(reason=self._comparison)
        is_due = self._is_stale and time.perf_counter() - self._measured_time >= _FIGURES_INTERVAL_S
        if self._figures is None or is_due:
            self._figures = _describe_comparison(self._comparison)
            self._measured_time, self._is_stale = time.perf_counter(), False
        return self._figures._replace(is_stale=self._is_stale)


def _build_comparison(document: Document) -> LiveComparison:
    chains = list(document.active_chains)
    if len(chains) != 1:
        raise InputError("figures are measured for one chain: switch the others off")
    if document.free_root:
        raise InputError("figures are measured with a root that stays: switch Free root off")
    start, chain = document.solver_start, chains[0]
    goals = chain.build_goals(start.skeleton)
    raced = [choice.build_solver() for choice in document.solvers[: document.view_count]]
    solvers = [choose_solver(solver, start, tuple(goals)) for solver in raced]
    if len(goals) > 1:
        raise InputError("figures are measured for a position or a place, without a pole")
    return LiveComparison(start, goals[0], solvers, document.tolerance)


def _describe_comparison(comparison: LiveComparison) -> RaceFigures:
    columns = tuple(describe_live_columns(comparison.task.start.skeleton.metres_per_unit))
    rows = tuple(
        {
            "values": [format_value(column, value) for column, value in zip(LIVE_COLUMNS, row.values, strict=True)],
            "refused": row.refused,
        }
        for row in comparison.list_rows()
    )
    return RaceFigures(columns, rows)


# --- Open a race -----------------------------------------------------------------------------------------------------


def build_race(document: Document, chain_name: str | None, displayed_pose: Pose) -> Document:
    """Build the document of a race for one chain. The others are switched off.

    With two views or more their methods race; otherwise some that take the chain. Raise InputError without a chain.
    """
    if document.is_driven:
        raise InputError("a program shows the poses: no methods can race")
    if len(document.character_positions) > 1:
        raise InputError("a race is of one character, and this scene has several")
    document = document.replace(clip_name=None, plants_feet=False, free_root=False)
    if document.scope == "body":
        document = _leave_body(document, displayed_pose)
        chain_name = None if chain_name not in {chain.name for chain in document.chains} else chain_name
    raced = _choose_chain(document, chain_name)
    chains = tuple(chain.replace(enabled=chain.name == raced.name) for chain in document.chains)
    document = document.replace(chains=chains, pace="race")
    if document.view_count > 1:
        return document
    refusals = find_solver_refusals(document)
    names = [name for name in _RACED_SOLVERS if name not in refusals][:_RACED_COUNT]
    if not names:
        raise InputError(next(iter(refusals.values())))
    return document.replace(view_count=len(names), solvers=tuple(SolverChoice(name) for name in names))


def _leave_body(document: Document, displayed_pose: Pose) -> Document:
    """Return the document with the limb of the pulled part. Its target stays."""
    pulled = next((chain for chain in document.chains if chain.name == document.pulled), None)
    document = document.replace(**build_scope(document.rig, displayed_pose, "limbs"))
    if pulled is None:
        return document
    limb = next((chain for chain in document.chains if pulled.tip in chain.list_joints(document.skeleton)), None)
    if limb is None:
        return document
    if limb.tip == pulled.tip:
        limb = limb.replace(position=pulled.position)
    others = tuple(chain for chain in document.chains if chain.name != limb.name)
    return document.replace(chains=(limb, *others))


def _choose_chain(document: Document, name: str | None) -> TargetedChain:
    """Choose the chain of a name. Without one it is the first with a target that moves."""
    if name is not None:
        return document.find_chain(name)
    candidates: Sequence[TargetedChain] = [chain for chain in document.chains if chain.kind != "pin"]
    enabled = [chain for chain in candidates if chain.enabled]
    if not candidates:
        raise InputError("there is no chain to race for: add one by its root and tip")
    return (enabled or candidates)[0]

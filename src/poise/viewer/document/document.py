"""Document of the viewer: its complete work as one frozen value.

    Document -> goals (TargetedChain) -> poses (view_solver.py) -> frames (protocol.py)

Actions turn one Document into the next (`actions.py`); nothing else changes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from poise import solvers
from poise.errors import InputError, UnknownNameError
from poise.io.bvh_reader import BvhDocument
from poise.model.limits import Limit, Range, find_hinge_axis
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.viewer.body_parts import find_feet, has_whole_body
from poise.viewer.document.chains import TargetedChain, Vector, build_default_chains
from poise.viewer.document.clip_keys import Key
from poise.viewer.document.program_widgets import Control, HandleState, PointCloud
from poise.viewer.document.whole_body import build_whole_body_chains, find_floor_height

LimitMode: TypeAlias = Literal["limits", "hinge", "plain"]
SolvePace: TypeAlias = Literal["live", "iterate", "step", "race"]
SolveStart: TypeAlias = Literal["last", "start"]
PullScope: TypeAlias = Literal["body", "limbs", "chains"]

SCOPES: tuple[str, ...] = get_args(PullScope)

AUTO_SOLVER = "auto"
MAX_VIEWS = 6  # views side by side
# what new views show, in this order, without those of other views
_VIEW_SOLVERS = ("ccd", "fabrik", "levenberg_marquardt", "damped_least_squares", "jacobian_transpose", "pseudo_inverse")
_MAX_CHAINS = 64  # chains of a document: more than any rig has limbs
_UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class SolverChoice:
    """Solver name and options of one view of the page."""

    name: str = AUTO_SOLVER
    options: tuple[tuple[str, Any], ...] = ()

    def build_solver(self) -> solvers.Solver | str:
        """Build the solver, or return "auto". Raise InputError for invalid options."""
        return self.name if self.name == AUTO_SOLVER else solvers.make_solver(self.name, **dict(self.options))

    def with_option(self, name: str, value: Any) -> SolverChoice:
        """Return the choice with one option set. The solver checks it."""
        options = tuple(option for option in self.options if option[0] != name)
        choice = SolverChoice(self.name, (*options, (name, value)))
        choice.build_solver()
        return choice


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """Complete state of the viewer's work.

    rig                  the rig with the displayed and saved file
    name                 title on the page
    skeleton             the rig's, with the limits as edited
    start                initial pose of solves and of Reset; on the rig's skeleton
    chains               chains of joints, each with its target
    solvers              of each view, A first; those of hidden views come last
    view_count           1 to 6
    limit_mode           "limits": joints keep them; "hinge": hinges keep their axes without range; "plain": only
                         slides keep their limits
    pace                 "live": solve to the end for each target; "iterate": one iteration a frame; "step": one per
                         Step command; "race": to the end from the start pose, shown iteration by iteration
    solve_start          "last": solve from the displayed pose; "start": from the start pose each time
    tolerance            [file units] None: the library's own
    free_root            whether the root rotates and translates
    scope                what a drag on the figure moves: "body": the part itself, and the whole body follows; "limbs":
                         the tip of the limb; "chains": the tip of a chain that somebody chose
    pulled               name of the chain of the pulled part, or None
    pull_share           `pull` of the next pulled part: how far it takes hips and other limbs along
    character_positions  position of each character of a crowd [file units]; targets are relative to the first
    clip_name            name of the clip that gives the base pose, or None
    keys                 keyed bone rotations in clips of the rig
    plants_feet          whether the clip's feet are planted on the terrain
    terrain_spec         specification such as "stairs:0.15,0.30", or None
    handles              handles of a program
    controls             sliders, buttons and texts of a program
    marks                point marks of a program
    is_driven            whether a program sets the poses: then nothing is solved
    idles                whether the figure breathes and shifts its weight while nobody touches it
    scene_name           name of the demo scene, or None
    package_folders      folders for meshes of package://, besides the file's own
    retargeting          what is retargeted, where source and target are shown side by side; else None
    """

    rig: Rig
    name: str
    skeleton: Skeleton
    start: Pose
    chains: tuple[TargetedChain, ...] = ()
    solvers: tuple[SolverChoice, ...] = (SolverChoice(), SolverChoice("ccd"))
    view_count: int = 1
    limit_mode: LimitMode = "limits"
    pace: SolvePace = "live"
    solve_start: SolveStart = "last"
    tolerance: float | None = None
    free_root: bool = False
    scope: PullScope = "chains"
    pulled: str | None = None
    pull_share: float = 1.0
    character_positions: tuple[Vector, ...] = ((0.0, 0.0, 0.0),)
    clip_name: str | None = None
    keys: tuple[Key, ...] = ()
    plants_feet: bool = False
    terrain_spec: str | None = None
    handles: tuple[HandleState, ...] = ()
    controls: tuple[Control, ...] = ()
    marks: tuple[PointCloud, ...] = ()
    is_driven: bool = False
    idles: bool = False
    scene_name: str | None = None
    package_folders: tuple[Path, ...] = ()
    retargeting: Any = None

    def replace(self, **changes: Any) -> Document:
        """Return the document with some fields changed."""
        return dataclasses.replace(self, **changes)

    def is_same(self, other: Document) -> bool:
        """Return whether all fields are equal."""
        fields = (field.name for field in dataclasses.fields(self))
        pairs = ((getattr(self, name), getattr(other, name)) for name in fields)
        return all(a is b or a == b for a, b in pairs)

    def with_program_controls(self, current: Document) -> Document:
        """Return the document with the current controls and marks of a program."""
        return self.replace(controls=current.controls, marks=current.marks)

    def has_same_work(self, other: Document) -> bool:
        """Return whether the savable content is the same.

        It is start pose, limits, chains and keys, but no view settings.
        """
        own_chains, other_chains = (
            tuple(chain.replace(enabled=True) for chain in document.chains) for document in (self, other)
        )
        has_same_start = self.rig is other.rig and self.start is other.start and own_chains == other_chains
        return has_same_start and self.keys == other.keys and self.skeleton.limits == other.skeleton.limits

    def find_chain(self, name: str) -> TargetedChain:
        """Find a chain by name. UnknownNameError lists all names."""
        for chain in self.chains:
            if chain.name == name:
                return chain
        raise UnknownNameError("chain", name, [chain.name for chain in self.chains])

    def with_chain(self, new_chain: TargetedChain) -> Document:
        """Return the document with the chain of this name replaced."""
        return self.replace(chains=tuple(new_chain if chain.name == new_chain.name else chain for chain in self.chains))

    def with_new_chain(self, new_chain: TargetedChain) -> Document:
        """Return the document with one more chain, the last one.

        A name that is used gets a number. Raise InputError if there are 64 chains already.
        """
        if len(self.chains) >= _MAX_CHAINS:
            raise InputError(f"there are {_MAX_CHAINS} chains already; remove one first")
        name, used_names = new_chain.name, {chain.name for chain in self.chains}
        names = (name, *(f"{name} {i}" for i in range(2, _MAX_CHAINS + 2)))
        unused_name = next(candidate for candidate in names if candidate not in used_names)
        return self.replace(chains=(*self.chains, new_chain.replace(name=unused_name)))

    def with_chains_off(self) -> Document:
        """Return the document with all chains switched off."""
        return self.replace(chains=tuple(chain.replace(enabled=False) for chain in self.chains))

    def with_view_count(self, count: int) -> Document:
        """Return the document with 1 to 6 views. A new view shows a solver that no other view shows."""
        used_names = {choice.name for choice in self.solvers}
        unused = [SolverChoice(name) for name in _VIEW_SOLVERS if name not in used_names]
        missing_count = max(count - len(self.solvers), 0)
        return self.replace(view_count=count, solvers=(*self.solvers, *unused[:missing_count]))

    @property
    def solver_skeleton(self) -> Skeleton:
        """The skeleton for solving, with free root and limits as set.

        It is cached per skeleton and limit mode.
        """
        skeleton = self.skeleton.with_free_root() if self.free_root else self.skeleton
        if self.limit_mode == "limits":
            return skeleton
        filter_limit = _keep_hinge_axis if self.limit_mode == "hinge" else _keep_slide_range
        return get_or_compute(
            skeleton, "skeleton of a limit mode", self.limit_mode, lambda: _filter_limits(skeleton, filter_limit)
        )

    @property
    def solver_start(self) -> Pose:
        """The start pose on the solver skeleton, inside its limits. It is the same value while neither changes."""
        skeleton = self.solver_skeleton

        def compute_start() -> Pose:
            start = self.start.on(skeleton)
            return start.with_q(skeleton.legal(start.q)[0])

        # Changes are detected by identity of poses, and of skeletons here: the pose keeps its own skeleton alive.
        return get_or_compute(self.start, "start pose on a solver skeleton", id(skeleton), compute_start, max_keys=1)

    @property
    def active_chains(self) -> tuple[TargetedChain, ...]:
        """The enabled chains."""
        return tuple(chain for chain in self.chains if chain.enabled)

    @property
    def floor_height(self) -> float | None:
        """The floor under the feet of a whole body [file units].

        None without one, and on other ground than a level one.
        """
        if self.scope != "body" or self.terrain_spec not in (None, "flat") or not has_whole_body(self.rig):
            return None
        start = self.start
        return get_or_compute(start, "floor", None, lambda: find_floor_height(start, find_feet(self.rig)))

    def list_limit_modes(self) -> dict[str, str | None]:
        """List the limit modes, each with None or its reason against it."""
        limits = [limit for limit in self.skeleton.limits if limit is not None]
        has_axes = any(find_hinge_axis(limit) for limit in limits) or bool((self.skeleton.kinds == Kind.HINGE).any())
        return {
            "plain": None,
            "hinge": None if has_axes else "no joint has a hinge axis; give one a range with an axis under Limits",
            "limits": None if limits else "no joint has limits; give one under Limits",
        }


def build_document(rig: Rig, *, pose: Pose | None = None, name: str = "", **options: Any) -> Document:
    """Build the initial document of a rig. It has the pose of the file.

    Figures open as a whole body, other rigs with the chains of their sidecar or their limbs. `scope="limbs"` opens
    figures so, too. The clip of a motion file (BVH) is played, with the chains switched off.
    """
    start = rig.pose if pose is None else pose
    if start.shape:
        raise InputError(f"the viewer starts from a single pose, not a batch of shape {start.shape}")
    title = name or (rig.path.name if rig.path is not None else "rig")
    has_own_chains = "chains" in options
    if not has_own_chains:
        if pose is None and "clip_name" not in options and _is_motion_file(rig):
            options["clip_name"] = rig.clips[0].name
        options = {**build_scope(rig, start, options.get("scope")), **options}
    document = Document(rig=rig, name=title, skeleton=rig.skeleton, start=start, **options)
    return document if has_own_chains or document.clip_name is None else document.with_chains_off()


def build_scope(rig: Rig, pose: Pose, scope: PullScope | None = None) -> dict[str, Any]:
    """Build the fields of a document for what a drag moves.

    By default that is a whole body where there is one.
    """
    has_body = has_whole_body(rig)
    scope = scope or ("body" if has_body else "limbs")
    is_free = scope == "body" and has_body
    if scope == "body":
        chains = build_whole_body_chains(rig, pose) if is_free else ()
    else:
        chains = build_default_chains(rig, pose)
    return {"scope": scope, "chains": chains, "free_root": is_free, "pulled": None}


def _is_motion_file(rig: Rig) -> bool:
    """Return whether a rig comes from a BVH of several frames."""
    return isinstance(rig.skeleton.source, BvhDocument) and bool(rig.clips) and len(rig.clips[0]) > 1


def _filter_limits(skeleton: Skeleton, filter_limit: Callable[[Kind, Limit], Limit | None]) -> Skeleton:
    """Return the skeleton with each limit filtered by `filter_limit`."""
    kinds_and_limits = zip(skeleton.kinds.tolist(), skeleton.limits, strict=True)
    limits = tuple(None if limit is None else filter_limit(Kind(kind), limit) for kind, limit in kinds_and_limits)
    return dataclasses.replace(skeleton, limits=limits)


def _keep_slide_range(kind: Kind, limit: Limit) -> Limit | None:
    """Keep the limit of a slide, drop any other. A slide without a range would have no end."""
    return limit if kind == Kind.SLIDE else None


def _keep_hinge_axis(kind: Kind, limit: Limit) -> Limit | None:
    """Keep the hinge axis of a ball, drop any other limit."""
    axis = find_hinge_axis(limit)
    return Range(*_UNBOUNDED, axis=axis) if axis is not None else _keep_slide_range(kind, limit)

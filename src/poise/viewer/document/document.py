"""Document of the viewer as a frozen value: chains, solvers, settings.

Undo keeps earlier documents.

    Document -> goals (ChainTarget) -> poses (view_solver.py) -> frames (protocol.py)

Actions turn one Document into the next (`actions.py`); nothing else changes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from poise import solvers
from poise.errors import InputError, UnknownNameError
from poise.io.bvh.document import BvhDocument
from poise.maths.remember import remember
from poise.model.limits import Limit, Range, hinge_axis
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.chains import ChainTarget, Quaternion, Vector, default_chains
from poise.viewer.document.controls import Cloud, Control
from poise.viewer.document.keys import Key

Mode: TypeAlias = Literal["limits", "hinge", "plain"]
Run: TypeAlias = Literal["live", "iterate", "step"]
From: TypeAlias = Literal["last", "start"]

AUTO = "auto"
_FREE = (-math.inf, math.inf)


@dataclass(frozen=True)
class Choice:
    """A solver by name with its options, for one view."""

    name: str = AUTO
    options: tuple[tuple[str, Any], ...] = ()

    def made(self) -> solvers.Solver | str:
        """Build the solver, or return "auto". Raise InputError for invalid options."""
        return self.name if self.name == AUTO else solvers.named(self.name, **dict(self.options))

    def with_option(self, name: str, value: Any) -> Choice:
        """Return the choice with one option set. The solver checks it."""
        kept = tuple(pair for pair in self.options if pair[0] != name)
        choice = Choice(self.name, (*kept, (name, value)))
        choice.made()
        return choice


@dataclass(frozen=True)
class Gizmo:
    """A gizmo of a program (`poise.view`)."""

    name: str
    position: Vector
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """Complete state of the viewer's work.

    rig        the rig with the displayed and saved file
    name       title on the page
    skeleton   the rig's, with the limits as edited
    start      initial pose of solves and of Reset; on the rig's skeleton
    chains     limbs with their targets
    solvers    of view A and view B
    views      1 or 2
    mode       "limits": joints keep them; "hinge": hinges keep their axes without range; "plain": no limits
    run        "live": solve to the end for each target; "iterate": one iteration a frame; "step": one per Step command
    origin     "last": solve from the displayed pose; "start": from the start pose each time
    tolerance  [file units] None: the library's own
    free_root  whether the root rotates and translates
    places     position of each character of a crowd [file units]; targets are relative to the first
    clip       name of the clip that gives the base pose, or None
    keys       keyed bone rotations in clips of the rig
    plant      whether the clip's feet are planted on the terrain
    terrain    specification such as "stairs:0.15,0.30", or None
    handles    gizmos of a program
    controls   sliders, buttons and texts of a program
    marks      point marks of a program
    driven     whether a program sets the poses: then nothing is solved
    scene      name of the demo scene, or None
    packages   folders for meshes of package://, besides the file's own
    """

    rig: Rig
    name: str
    skeleton: Skeleton
    start: Pose
    chains: tuple[ChainTarget, ...] = ()
    solvers: tuple[Choice, Choice] = (Choice(), Choice("ccd"))
    views: int = 1
    mode: Mode = "limits"
    run: Run = "live"
    origin: From = "last"
    tolerance: float | None = None
    free_root: bool = False
    places: tuple[Vector, ...] = ((0.0, 0.0, 0.0),)
    clip: str | None = None
    keys: tuple[Key, ...] = ()
    plant: bool = False
    terrain: str | None = None
    handles: tuple[Gizmo, ...] = ()
    controls: tuple[Control, ...] = ()
    marks: tuple[Cloud, ...] = ()
    driven: bool = False
    scene: str | None = None
    packages: tuple[Path, ...] = ()

    def but(self, **changes: Any) -> Document:
        """Return the document with some fields changed."""
        return dataclasses.replace(self, **changes)

    def same(self, other: Document) -> bool:
        """Return whether all fields are equal."""
        fields = (field.name for field in dataclasses.fields(self))
        pairs = ((getattr(self, name), getattr(other, name)) for name in fields)
        return all(a is b or a == b for a, b in pairs)

    def of_program(self, now: Document) -> Document:
        """Return the document with the current controls and marks of a program."""
        return self.but(controls=now.controls, marks=now.marks)

    def same_work(self, other: Document) -> bool:
        """Return whether the savable content is the same.

        It is start pose, limits, chains and keys, but no view settings.
        """
        chains, others = (tuple(chain.but(enabled=True) for chain in each.chains) for each in (self, other))
        same = self.rig is other.rig and self.start is other.start and chains == others
        return same and self.keys == other.keys and self.skeleton.limits == other.skeleton.limits

    def chain(self, name: str) -> ChainTarget:
        """Find a chain by name. UnknownNameError lists all names."""
        for chain in self.chains:
            if chain.id == name:
                return chain
        raise UnknownNameError("chain", name, [chain.id for chain in self.chains])

    def with_chain(self, changed: ChainTarget) -> Document:
        """Return the document with the chain of this name replaced."""
        return self.but(chains=tuple(changed if chain.id == changed.id else chain for chain in self.chains))

    @property
    def working(self) -> Skeleton:
        """The skeleton for solving, with free root and limits as set.

        It is cached per skeleton and mode.
        """
        skeleton = self.skeleton.with_free_root() if self.free_root else self.skeleton
        if self.mode == "limits":
            return skeleton
        keeps = _hinges_only if self.mode == "hinge" else _no_limit
        return remember(skeleton, "viewed in a mode", self.mode, lambda: _kept(skeleton, keeps))

    @property
    def started(self) -> Pose:
        """The start pose on the solver skeleton, inside its limits. It is the same value while neither changes."""
        working = self.working

        def made() -> Pose:
            start = self.start.on(working)
            return start.with_q(working.legal(start.q)[0])

        # Changes are detected by identity of poses, and of skeletons here: the pose keeps its own skeleton alive.
        return remember(self.start, "started", id(working), made, most=1)

    @property
    def active(self) -> tuple[ChainTarget, ...]:
        """The enabled chains."""
        return tuple(chain for chain in self.chains if chain.enabled)

    def modes(self) -> dict[str, str | None]:
        """List the limit modes, each with None or its reason against it."""
        limits = [limit for limit in self.skeleton.limits if limit is not None]
        axes = any(hinge_axis(limit) for limit in limits) or bool((self.skeleton.kinds == Kind.HINGE).any())
        return {
            "plain": None,
            "hinge": None if axes else "no joint has a hinge axis; give one a range with an axis under Limits",
            "limits": None if limits else "no joint has limits; give one under Limits",
        }


def document_of(rig: Rig, *, pose: Pose | None = None, name: str = "", **more: Any) -> Document:
    """Build the initial document of a rig. It has the pose of the file and the chains of its sidecar or its limbs.

    The clip of a motion file (BVH) is played, with the chains switched off.
    """
    start = rig.pose if pose is None else pose
    if start.shape:
        raise InputError(f"the viewer starts from a single pose, not a batch of shape {start.shape}")
    shown = name or (rig.path.name if rig.path is not None else "rig")
    chains = more.pop("chains", None)
    made = default_chains(rig, start) if chains is None else chains
    if chains is None and pose is None and "clip" not in more and _is_motion(rig):
        more["clip"], made = rig.clips[0].name, tuple(chain.but(enabled=False) for chain in made)
    return Document(rig=rig, name=shown, skeleton=rig.skeleton, start=start, chains=made, **more)


def _is_motion(rig: Rig) -> bool:
    """Return whether a rig comes from a BVH of several frames."""
    return isinstance(rig.skeleton.source, BvhDocument) and bool(rig.clips) and len(rig.clips[0]) > 1


def _kept(skeleton: Skeleton, keep: Callable[[Kind, Limit], Limit | None]) -> Skeleton:
    """Return the skeleton with each limit filtered by `keep`."""
    rows = zip(skeleton.kinds.tolist(), skeleton.limits, strict=True)
    limits = tuple(None if limit is None else keep(Kind(kind), limit) for kind, limit in rows)
    return dataclasses.replace(skeleton, limits=limits)


def _no_limit(kind: Kind, limit: Limit) -> Limit | None:
    """Keep the limit of a slide, drop any other. A slide without a range would have no end."""
    return limit if kind == Kind.SLIDE else None


def _hinges_only(kind: Kind, limit: Limit) -> Limit | None:
    """Keep the hinge axis of a ball, drop any other limit."""
    axis = hinge_axis(limit)
    return Range(*_FREE, axis=axis) if axis is not None else _no_limit(kind, limit)

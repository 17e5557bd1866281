"""Other libraries, for comparison: one adapter per file; the folder is the registry, the file name is the peer's name.

An adapter has a class that is named like its file (`ikpy.py` has `Ikpy`) and is a `Peer`. Its library is imported when
one is made, quietly, and is never needed otherwise.
What a peer is told of a chain is a `SerialArm`; its answers are judged by Poise's forward kinematics, never believed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

from poise.comparison.peers import adapters
from poise.comparison.peers.serial import SerialArm
from poise.errors import UnknownNameError, UnsupportedError
from poise.maths.arrays import Floats


class NotInstalledError(UnsupportedError):
    """A peer that is not here; the sentence says how to get it."""


class Reply(NamedTuple):
    """What a peer said.

    values      (n,) of the arm's links, or None where it gave nothing
    claims      whether it says that it reached the target; None where it does not say
    iterations  as it counts them; None where it does not say
    """

    values: Floats | None
    claims: bool | None
    iterations: int | None


class Peer(Protocol):
    """One library on one arm. Targets are those of `SerialArm.inside`: in the frame and units of the arm.

    label         its name with the version that is installed
    goals         kinds of goals that it can do
    keeps_limits  whether it looks at limits at all
    source        what it is, in one line
    notes         with which settings it is asked, and why
    """

    name: ClassVar[str]
    label: ClassVar[str]
    goals: ClassVar[tuple[str, ...]]
    keeps_limits: ClassVar[bool]
    source: ClassVar[str]
    notes: ClassVar[str]

    def __init__(self, arm: SerialArm, kind: str, tolerance: tuple[float, float]) -> None:
        """Tell the library the arm. `kind` is "Position" or "Place", `tolerance` a distance [file units] and an angle.

        NotInstalledError, or UnsupportedError with a sentence where the library cannot do this arm or goal.
        """
        ...

    @staticmethod
    def missing() -> str | None:
        """How to install it, a sentence; None where it is installed. Imports nothing."""
        ...

    def solve(self, target: Floats, values: Floats) -> Any:
        """Solve for a point (3,) or a place (4, 4) from values (n,): the library's own call, and what is timed."""
        ...

    def read(self, raw: Any) -> Reply:
        """What an answer of `solve` says."""
        ...

    def seconds_of(self, raw: Any) -> float | None:
        """How long the library took, where it runs in another process and has to say so itself; else None."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


@cache
def names() -> tuple[str, ...]:
    """Names of the peers that there are adapters for."""
    return tuple(module.name for module in pkgutil.iter_modules(adapters.__path__))


def named(name: str) -> type[Peer]:
    """The adapter of a peer; an unknown name is an UnknownNameError that lists what exists."""
    if name not in names():
        raise UnknownNameError("peer", name, names())
    adapter: type[Peer] = getattr(importlib.import_module(f"{adapters.__name__}.{name}"), name.title())
    return adapter


def installed(asked: Sequence[str] | None = None) -> tuple[tuple[str, ...], dict[str, str]]:
    """Of all peers, or of those asked for: the names of those that are installed, and how to install the others."""
    sentences = {name: named(name).missing() for name in (names() if asked is None else asked)}
    here = tuple(name for name, sentence in sentences.items() if sentence is None)
    return here, {name: sentence for name, sentence in sentences.items() if sentence is not None}

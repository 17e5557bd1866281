"""Adapters to other inverse kinematics libraries.

There is one adapter per file in adapters/; the folder is the registry and the file name is the peer's name.

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
    """Error for a missing library, with an installation hint."""


class Reply(NamedTuple):
    """Output of a library for one target.

    values      (n,) of the arm's links, or None where it gave nothing
    claims      whether it says that it reached the target; None where it does not say
    iterations  as it counts them; None where it does not say
    """

    values: Floats | None
    claims: bool | None
    iterations: int | None


class Peer(Protocol):
    """Adapter of one library to one arm. Targets are those of `SerialArm.inside`: in the frame and units of the arm.

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
        """Pass the arm to the library.

        `kind` is "Position" or "Place", `tolerance` a distance [file units] and an angle.

        NotInstalledError, or UnsupportedError with a sentence where the library cannot do this arm or goal.
        """
        ...

    @staticmethod
    def missing() -> str | None:
        """Return the installation hint, or None if installed. Imports nothing."""
        ...

    def solve(self, target: Floats, values: Floats) -> Any:
        """Solve for a point or a transform from values (n,).

        A point is (3,), a transform (4, 4). This is the library's own call and the part that is timed.
        """
        ...

    def read(self, raw: Any) -> Reply:
        """Read the output of `solve`."""
        ...

    def seconds_of(self, raw: Any) -> float | None:
        """Return the library's own time, or None. Libraries that run in another process measure it themselves."""
        ...

    def close(self) -> None:
        """End any process started by the adapter."""
        ...


@cache
def names() -> tuple[str, ...]:
    """List the names of the peers with an adapter."""
    return tuple(module.name for module in pkgutil.iter_modules(adapters.__path__))


def named(name: str) -> type[Peer]:
    """Return the adapter class of a peer. Raises UnknownNameError with the known names for another one."""
    if name not in names():
        raise UnknownNameError("peer", name, names())
    adapter: type[Peer] = getattr(importlib.import_module(f"{adapters.__name__}.{name}"), name.title())
    return adapter


def installed(asked: Sequence[str] | None = None) -> tuple[tuple[str, ...], dict[str, str]]:
    """Find installed peers and installation hints of the others. All peers are searched, or only the requested ones."""
    sentences = {name: named(name).missing() for name in (names() if asked is None else asked)}
    here = tuple(name for name, sentence in sentences.items() if sentence is None)
    return here, {name: sentence for name, sentence in sentences.items() if sentence is not None}

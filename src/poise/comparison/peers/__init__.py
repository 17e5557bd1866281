"""Adapters to other inverse kinematics libraries.

There is one adapter per file in adapters/; the folder is the registry and the file name is the peer's name.

An adapter is a `LibraryAdapter` class with the name of its file (`ikpy.py` has `Ikpy`). The library is imported,
without side effects, when an adapter is made. It receives the chain as a `SerialArm`, and its answers are measured by
Poise's forward kinematics.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

from poise.comparison.peers import adapters
from poise.comparison.peers.serial_chain import SerialArm
from poise.errors import UnknownNameError, UnsupportedError
from poise.maths.arrays import Floats
from poise.problem.problem import Tolerance


class NotInstalledError(UnsupportedError):
    """Error for a missing library, with an installation hint."""


class AdapterResult(NamedTuple):
    """Output of a library for one target.

    values          (n,) values of the arm's links, or None without an answer
    claims_reached  whether it claims to have reached the target; None without a claim
    iterations      by its own count; None if not reported
    """

    values: Floats | None
    claims_reached: bool | None
    iterations: int | None


class LibraryAdapter(Protocol):
    """Adapter of one library to one arm. Targets come from `SerialArm.to_arm_frame`: in the frame and units of the arm.

    name            name of its file
    versioned_name  name and installed version
    goals           supported kinds of goals
    keeps_limits    whether it respects limits
    source          one-line description
    notes           settings used, with reasons
    """

    name: ClassVar[str]
    versioned_name: ClassVar[str]
    goals: ClassVar[tuple[str, ...]]
    keeps_limits: ClassVar[bool]
    source: ClassVar[str]
    notes: ClassVar[str]

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        """Pass the arm to the library.

        `goal_kind` is "Position" or "Place"; the distance of `tolerance` is in file units.

        Raises NotInstalledError, or UnsupportedError with the reason if the library cannot do this arm or goal.
        """
        ...

    @staticmethod
    def find_install_hint() -> str | None:
        """Return the installation hint, or None if installed. The library is not imported."""
        ...

    def solve(self, target: Floats, values: Floats) -> Any:
        """Solve for a point or a transform from values (n,).

        A point is (3,), a transform (4, 4). This is the library's own call and the part that is timed.
        """
        ...

    def read_output(self, output: Any) -> AdapterResult:
        """Read the output of `solve`."""
        ...

    def read_seconds(self, output: Any) -> float | None:
        """Return the library's own time, or None. Libraries that run in another process measure it themselves."""
        ...

    def close(self) -> None:
        """End any process started by the adapter."""
        ...


@cache
def names() -> tuple[str, ...]:
    """List the names of the peers with an adapter."""
    return tuple(module.name for module in pkgutil.iter_modules(adapters.__path__))


def load_adapter(name: str) -> type[LibraryAdapter]:
    """Return the adapter class of a peer. Raises UnknownNameError with the known names for another one."""
    if name not in names():
        raise UnknownNameError("peer", name, names())
    adapter: type[LibraryAdapter] = getattr(importlib.import_module(f"{adapters.__name__}.{name}"), name.title())
    return adapter


def find_installed(requested: Sequence[str] | None = None) -> tuple[tuple[str, ...], dict[str, str]]:
    """Find installed peers and installation hints of the others. All peers are searched, or only the requested ones."""
    hints = {name: load_adapter(name).find_install_hint() for name in (names() if requested is None else requested)}
    installed = tuple(name for name, hint in hints.items() if hint is None)
    return installed, {name: hint for name, hint in hints.items() if hint is not None}

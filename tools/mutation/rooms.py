"""The rooms that are mutated: which files they are, which tests judge them, how many mutants each gets."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from .mutants import Mutant, differs, mutants

LEAST = 25  # mutants of a room


class Room(NamedTuple):
    """Files below src/poise and below tests; `plain`: the kernels run as Python, since compiling them takes minutes."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    plain: bool = False


SOLVING = ("tests/solving", "tests/solvers", "tests/problem", "tests/contracts")
ROOMS = (
    Room("solvers", ("solvers",), ("tests/solvers", "tests/solving", "tests/contracts", "tests/problem")),
    Room(
        "judge",
        ("solving/diagnosis.py", "solving/result.py", "solving/arguments.py", "problem/goal_errors.py"),
        SOLVING,
    ),
    Room(
        "limits",
        ("model/limits", "model/limit_bounds.py", "model/limit_checks.py", "kernels/limits.py"),
        ("tests/model", "tests/kernels", *SOLVING, "tests/io"),
    ),
    Room("readers", ("io",), ("tests/io", "tests/contracts", "tests/model")),
    Room("ground", ("ground",), ("tests/ground", "tests/terrain", "tests/contracts")),
    Room("viewer", ("viewer",), ("tests/viewer",)),
    Room("problem", ("problem",), SOLVING),
    Room("maths", ("maths",), ("tests/maths", "tests/model", "tests/io", *SOLVING)),
    Room("solving", ("solving",), SOLVING),
    Room("model", ("model",), ("tests/model", "tests/io", "tests/problem", "tests/solving", "tests/contracts")),
    Room("kernels", ("kernels",), ("tests/kernels", "tests/model", "tests/ground", *SOLVING), plain=True),
)
# The machinery; and what needs JAX.
NOT_MUTATED = (
    "kernels/jit/compiler.py",
    "kernels/jit/lane_lowering.py",
    "kernels/lazy_import.py",
    "solvers/autodiff.py",
)
# What runs while a kernel is compiled, so that plain kernels never meet it.
COMPILING = ("kernels/lanes.py",)


def files_of(room: Room, package: Path) -> list[str]:
    """The files of a room, below the package; each belongs to the first room that names it."""
    found = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name not in NOT_MUTATED and room_of(name) is room:
            found.append(name)
    return found


def room_of(name: str) -> Room | None:
    """The room of a file: the one whose source names most of its path."""
    fits = [(len(source), room) for room in ROOMS for source in room.sources if f"{name}/".startswith(f"{source}/")]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


def is_plain(name: str) -> bool:
    """Whether a file is run as plain Python, when it is mutated."""
    return name.startswith("kernels/") and name not in COMPILING


def shares(package: Path, count: int) -> dict[str, int]:
    """How many mutants each room gets: by its lines, but no room fewer than LEAST."""
    lines = {r.name: sum((package / f).read_text().count("\n") for f in files_of(r, package)) for r in ROOMS}
    small: set[str] = set()
    while True:
        rest, total = count - LEAST * len(small), sum(n for name, n in lines.items() if name not in small)
        fewer = {name for name, n in lines.items() if name not in small and rest * n / total < LEAST}
        if not fewer:
            break
        small |= fewer
    exact = {name: LEAST if name in small else rest * n / total for name, n in lines.items()}
    whole = {name: int(value) for name, value in exact.items()}
    for name in sorted(exact, key=lambda name: whole[name] - exact[name])[: count - sum(whole.values())]:
        whole[name] += 1
    return whole


def drawn(package: Path, count: int, seed: int) -> list[tuple[Room, Mutant]]:
    """The mutants of a run: of each room its share, no place twice.

    Every mutant has a lot of its own, made from the seed and its key, so that an edit changes little of what is drawn.
    A kind with n mutants has the weight sqrt(n) (Efraimidis and Spirakis, 2006: the least -log(u) / weight are taken).
    """
    return [(room, m) for room in ROOMS for m in _of_room(room, package, shares(package, count)[room.name], seed)]


def _of_room(room: Room, package: Path, share: int, seed: int) -> list[Mutant]:
    texts = {file: (package / file).read_text(encoding="utf-8") for file in files_of(room, package)}
    everything = [mutant for file, text in texts.items() for mutant in mutants(file, text)]
    kinds = Counter(mutant.kind for mutant in everything)

    def lot(mutant: Mutant) -> float:
        u = random.Random(f"{seed}:{mutant.key}").random()  # noqa: S311  (nothing is secret)
        return -math.log(u) * math.sqrt(kinds[mutant.kind])

    taken: dict[tuple[str, int], Mutant] = {}
    for mutant in sorted(everything, key=lot):
        if len(taken) == share:
            break
        if differs(mutant, texts[mutant.path]):
            taken.setdefault((mutant.path, mutant.start), mutant)
    return list(taken.values())

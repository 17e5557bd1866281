"""Which page of the reference a name is on.

A topic lists modules; a public name belongs to the topic of the module that defines it, so that a new name finds its
page by itself. Names that `poise` does not export itself are listed one by one.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, NamedTuple

import poise
from poise import errors


class Topic(NamedTuple):
    """A page: its file, title, what it says first, its modules, and further names `module:name`."""

    file: str
    title: str
    text: str
    modules: tuple[str, ...]
    also: tuple[str, ...] = ()


TOPICS = (
    Topic(
        "solving", "Solving", "From a start pose and goals to a Result that says what was found.",
        ("poise.solving.solve", "poise.solving.prepared", "poise.solving.result", "poise.solvers.base.status",
         "poise.machine"),
    ),
    Topic("goals", "Goals", "What is wanted of a joint. Several are given as a list.", ("poise.problem.goals",)),
    Topic(
        "limits", "Limits", "How far a joint may go; given to `Skeleton.limited` or written in a sidecar.",
        ("poise.model.limits",),
    ),
    Topic(
        "solvers", "Solvers", "Values to give as `solver=`, with their options; a name alone takes the defaults. "
        "[Solvers](../solvers/index.md) says how each works.",
        ("poise.solvers",),
    ),
    Topic(
        "rigs", "Rigs, skeletons and files", "What a file holds, and how it is read and written.",
        ("poise.model.rig", "poise.model.skeleton", "poise.model.joints", "poise.model.roles", "poise.io.registry"),
        ("poise.io.samples:path",),
    ),
    Topic(
        "poses", "Poses and clips", "Configurations of a skeleton, alone, in batches and over time.",
        ("poise.model.pose", "poise.model.clip", "poise.maths.rotations", "poise.solving.track", "poise.solving.bake",
         "poise.solving.fit"),
    ),
    Topic(
        "feet", "Feet and ground", "Clips and live poses on ground of any kind.",
        ("poise.ground", "poise.ground.terrain"),
        ("poise.ground.contact.contact_files:read_contacts", "poise.ground.contact.contact_files:write_contacts",
         "poise.ground.contact.contacts:Thresholds", "poise.ground.report.report:Report", "poise.ground.contact.soles:Soles",
         "poise.ground.contact.plants:Plants", "poise.ground.figure.figure:Figure"),
    ),
    Topic("comparison", "Comparing methods", "The same targets for every method, judged alike.", ("poise.comparison",),
          ("poise.comparison.trials.task:Task", "poise.comparison.findings.measured:Measured")),
    Topic("viewer", "The viewer", "The page that `poise view` opens, from Python.", ("poise.viewer",),
          ("poise.viewer.handle:Handle", "poise.viewer.view:Frame")),
    Topic(
        "pictures", "Pictures", "Drawn by Matplotlib, the extra `plot`: PNG, SVG or PDF.", (),
        ("poise.plot:draw_poses", "poise.plot:draw_solve", "poise.plot:draw_feet"),
    ),
    Topic(
        "jax", "Differentiable kinematics", "Pure functions for `jax.grad`, `jax.jit` and `jax.vmap`: "
        "`import poise.jax`, the extra `jax`.", (),
        ("poise.jax:forward", "poise.jax:retract", "poise.jax:residual", "poise.jax:Frames"),
    ),
    Topic(
        "errors", "Errors and warnings", "What can go wrong by misuse or bad input. That a target is not reached is a "
        "Status, not an exception.",
        ("poise.errors",),
    ),
    Topic(
        "extending", "Your own solver", "What a file in `solvers/` provides, and what it is given; "
        "[the house](../architecture.md) shows where it stands.", (),
        ("poise.solvers:Solver", "poise.solvers:names", "poise.solvers:named", "poise.solvers.base.capabilities:Capabilities",
         "poise.problem.problem:Problem", "poise.solvers.base.request:Request", "poise.solving.result:Answer"),
    ),
)  # fmt: skip


def public() -> dict[str, Any]:
    """What `poise` exports: name -> value; its modules are not counted."""
    values = {name: getattr(poise, name) for name in poise.__all__}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


def label(name: str) -> str:
    """What links to a name are written with: `#poise.solve`. Labels know no capitals: `View` is not `view`."""
    last = name.rpartition(".")[2]
    return f"{name}-class" if last != last.lower() and last.lower() in public() else name


def topic_of(value: Any) -> Topic | None:
    """The topic of a name that `poise` exports; None if no topic lists its module."""
    for topic in TOPICS:
        if any(value.__module__ == module or value.__module__.startswith(module + ".") for module in topic.modules):
            return topic
    return None


def named(topic: Topic) -> dict[str, Any]:
    """What stands on a page, in order: full name -> value."""

    def place(item: tuple[str, Any]) -> tuple[int, str, int]:
        module = item[1].__module__
        rank = next(i for i, known in enumerate(topic.modules) if module == known or module.startswith(known + "."))
        return rank, module, inspect.getsourcelines(item[1])[1]

    mine = sorted((item for item in public().items() if topic_of(item[1]) is topic), key=place)
    found = {f"poise.{name}": value for name, value in mine}
    for listed in topic.also:
        module, _, name = listed.partition(":")
        found[f"{module}.{name}"] = getattr(importlib.import_module(module), name)
    return found


def error_tree(kind: type = errors.PoiseError, depth: int = 0) -> list[str]:
    """The exceptions as lines, each under the one that it is a case of."""
    lines = ["    " * depth + kind.__name__]
    for below in sorted(kind.__subclasses__(), key=lambda each: each.__name__):
        if below.__module__ == errors.__name__:
            lines += error_tree(below, depth + 1)
    return lines

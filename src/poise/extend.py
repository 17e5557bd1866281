"""Building blocks for custom solvers, goals, limits and file formats. Nothing in Poise imports this module.

**A solver** is any value with the three members of `Solver`: a `name`, what it `handles` (`Capabilities`), and `run`,
which gets a `Problem`, targets as rows of numbers, a `Tolerance` and a `Request`, and hands back an `Answer`, with a
`Trace` where one was asked for. Give it as `solver=` to `poise.solve`, `prepare`, `bake`, `Tracker` or `Anneal`, or to
`poise.compare`. It is judged like every other: how a solve ended, its `Status`, is the judge's word.

**A goal** is a subclass of one of `poise`'s that measures the same (`measures`, see `JointGoal`), in words that suit
your rig better: a `Position` that knows where the finger ends, a `Direction` along a tool. What solves the one solves
the other. `points`, `directions`, `checked_offset` and `checked_weight` check what is given, `set_fields` keeps it.

**A limit** is a subclass of one of `poise`'s (`Limit`): its constructor says what is bounded, and solvers keep it as
what it is. `unit_axis` and `checked_soft` check what is given.

**A format** is a pair of functions as in `Format`: `read` makes a `poise.Rig` from a file, with `Skeleton.build`,
`Kind` and `read_bytes`; `write` puts a `Saveable` into one, with `write_atomically`. What is wrong with a file is a
`FileError`. Call them yourself: `poise.load` knows the formats in its own folder only.

`Floats`, `Ints` and `Bools` are arrays of NumPy; `finite` makes the first from what a person types, and `real`,
`count` and `one_of` check options: each raises `poise.InputError` with a sentence that says what is allowed.
"""

from __future__ import annotations

from poise.errors import FileError
from poise.io.files import read_bytes, write_atomically
from poise.io.registry import Format
from poise.maths.arrays import Bools, Floats, Ints, finite, real
from poise.maths.options import count, one_of
from poise.model.limits import Limit, unit_axis
from poise.model.limits.base.checks import checked_soft
from poise.model.rig import Saveable
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Goal, JointGoal
from poise.problem.goals.base.goal import checked_offset, checked_weight, set_fields
from poise.problem.goals.base.targets import directions, points
from poise.problem.problem import Problem, Tolerance
from poise.solvers import Solver
from poise.solvers.base.capabilities import Capabilities
from poise.solvers.base.contract import Answer, Request, Trace
from poise.solvers.base.status import Status

__all__ = [
    "Answer",
    "Bools",
    "Capabilities",
    "FileError",
    "Floats",
    "Format",
    "Goal",
    "Ints",
    "JointGoal",
    "Kind",
    "Limit",
    "Problem",
    "Request",
    "Saveable",
    "Skeleton",
    "Solver",
    "Status",
    "Tolerance",
    "Trace",
    "checked_offset",
    "checked_soft",
    "checked_weight",
    "count",
    "directions",
    "finite",
    "one_of",
    "points",
    "read_bytes",
    "real",
    "set_fields",
    "unit_axis",
    "write_atomically",
]

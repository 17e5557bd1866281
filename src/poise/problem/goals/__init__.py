"""Goals: desired positions, rotations and directions of joints.

Goals are immutable; a new target needs a new goal. `goal_base.py` has the common interface and shared code.

The folder is the registry: one file per goal, with the class named like the file (look_at.py has LookAt).
"""

import importlib
import pkgutil
from typing import TypeAlias, TypeGuard

from poise.problem.goals.aim import Aim as Aim
from poise.problem.goals.balance import Balance as Balance
from poise.problem.goals.base.goal import AnyGoal as AnyGoal
from poise.problem.goals.base.goal import JointGoal as JointGoal
from poise.problem.goals.base.goal import is_optional as is_optional
from poise.problem.goals.base.targets import FARTHEST as FARTHEST
from poise.problem.goals.direction import Direction as Direction
from poise.problem.goals.look_at import LookAt as LookAt
from poise.problem.goals.near import Near as Near
from poise.problem.goals.orientation import Orientation as Orientation
from poise.problem.goals.pin import Pin as Pin
from poise.problem.goals.place import Place as Place
from poise.problem.goals.pole import Pole as Pole
from poise.problem.goals.position import Position as Position

Goal: TypeAlias = JointGoal | Near | Balance


def _class_in(file: str) -> type[Goal]:
    """Return the goal class of a file in this folder."""
    module = importlib.import_module(f"{__name__}.{file}")
    return getattr(module, file.title().replace("_", ""))


GOALS = tuple(_class_in(file.name) for file in pkgutil.iter_modules(__path__) if not file.ispkg)
NAMES = tuple(goal.__name__ for goal in GOALS)


def is_of_joint(goal: AnyGoal) -> TypeGuard[JointGoal]:
    """Return whether a goal is for one joint. Near and Balance are for the whole character."""
    return not isinstance(goal, Near | Balance)

"""Goals: desired positions, rotations and directions of joints.

Goals are immutable; a new target needs a new goal. `goal_interface.py` has the common interface, and
`target_parsing.py` the parsing of targets.

The folder is the registry: one file per goal, with the class named like the file (look_at.py has LookAt).
"""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

from poise.problem.goal_interface import AnyGoal as AnyGoal
from poise.problem.goal_interface import GoalValue as GoalValue
from poise.problem.goal_interface import JointGoal as JointGoal
from poise.problem.goal_interface import is_optional as is_optional
from poise.problem.goals.aim import Aim as Aim
from poise.problem.goals.balance import Balance as Balance
from poise.problem.goals.direction import Direction as Direction
from poise.problem.goals.look_at import LookAt as LookAt
from poise.problem.goals.near import Near as Near
from poise.problem.goals.orientation import Orientation as Orientation
from poise.problem.goals.pin import Pin as Pin
from poise.problem.goals.place import Place as Place
from poise.problem.goals.pole import Pole as Pole
from poise.problem.goals.position import Position as Position
from poise.problem.target_parsing import MAX_COORDINATE as MAX_COORDINATE

Goal: TypeAlias = JointGoal | Near | Balance
Goals: TypeAlias = Goal | GoalValue | Sequence[Goal | GoalValue]  # argument of solve()


def _load_goal_class(file_name: str) -> type[Goal]:
    """Return the goal class of a file in this folder."""
    module = importlib.import_module(f"{__name__}.{file_name}")
    return getattr(module, file_name.title().replace("_", ""))


GOAL_CLASSES = tuple(_load_goal_class(file.name) for file in pkgutil.iter_modules(__path__) if not file.ispkg)
GOAL_NAMES = tuple(goal.__name__ for goal in GOAL_CLASSES)


def is_joint_goal(goal: AnyGoal) -> TypeGuard[JointGoal]:
    """Return whether a goal is for one joint. Near and Balance are for the whole character."""
    return not isinstance(goal, Near | Balance)

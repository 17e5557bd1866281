"""Poise: inverse kinematics for real rigs. See README.md for the first eight lines."""

from poise.clip import Clip as Clip
from poise.clip import KeyedClip as KeyedClip
from poise.clip import Track as Track
from poise.errors import FileError as FileError
from poise.errors import InputError as InputError
from poise.errors import NotReachedError as NotReachedError
from poise.errors import PoiseError as PoiseError
from poise.errors import PoiseWarning as PoiseWarning
from poise.errors import UnknownNameError as UnknownNameError
from poise.errors import UnsupportedError as UnsupportedError
from poise.goals import Direction as Direction
from poise.goals import Near as Near
from poise.goals import Orientation as Orientation
from poise.goals import Pin as Pin
from poise.goals import Place as Place
from poise.goals import Position as Position
from poise.limits import EulerBox as EulerBox
from poise.limits import Range as Range
from poise.limits import SwingTwist as SwingTwist
from poise.pose import Pose as Pose
from poise.pose import Transforms as Transforms
from poise.prepared import Prepared as Prepared
from poise.result import Result as Result
from poise.result import Trace as Trace
from poise.rig import Rig as Rig
from poise.rig import Skin as Skin
from poise.rig import load as load
from poise.rig import save as save
from poise.rotations import rotation_between as rotation_between
from poise.skeleton import Coupling as Coupling
from poise.skeleton import Joint as Joint
from poise.skeleton import Kind as Kind
from poise.skeleton import Skeleton as Skeleton
from poise.solve import prepare as prepare
from poise.solve import solve as solve
from poise.solvers.ccd import CCD as CCD
from poise.solvers.fabrik import FABRIK as FABRIK
from poise.solvers.levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
from poise.status import Status as Status
from poise.warmup import warmup as warmup

__version__ = "0.1.0"

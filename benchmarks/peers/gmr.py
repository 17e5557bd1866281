"""A clip onto the Unitree G1 with GMR's own core, in its own environment: `gmr.py FOLDER JOB.npz OUT.npz RUNS`.

FOLDER holds general_motion_retargeting/ and assets/. JOB has, for each human body of GMR's table for BVH files, its
places NAME_p (F, 3) and rotations NAME_r (F, 4), the rotation NAME_offset (4,) to the robot's link, the link's place
NAME_place (3,) in its own frame, and NAME_scale. OUT gets q (F, 36), the names of its hinges, and the seconds of each
of RUNS runs, after a warm-up. The package is entered without its __init__, since that imports a viewer.
"""

from __future__ import annotations

import importlib
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

PACKAGE = "general_motion_retargeting"


def load_core(folder: Path) -> type:
    """Load the class that retargets a frame."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(folder / PACKAGE)]
    sys.modules[PACKAGE] = package
    return importlib.import_module(f"{PACKAGE}.motion_retarget").GeneralMotionRetargeting


def run(core: Any, places: dict[str, np.ndarray], turns: dict[str, np.ndarray]) -> tuple[np.ndarray, float]:
    """Retarget every frame, one after the other as GMR does. Return configurations and seconds."""
    rows, seconds = [], 0.0
    for frame in range(len(next(iter(places.values())))):
        human = {name: [places[name][frame], turns[name][frame]] for name in places}
        began = time.process_time()
        rows.append(core.retarget(human))
        seconds += time.process_time() - began
    return np.array(rows), seconds


def main() -> int:
    """Run it once to warm up, then several times, each from the start."""
    folder, job, out = map(Path, sys.argv[1:4])
    kind = load_core(folder)
    with np.load(job) as given:
        values = dict(given)
    names = [name[:-2] for name in values if name.endswith("_p")]
    places, turns = ({name: values[f"{name}_{key}"] for name in names} for key in "pr")

    def build() -> Any:
        core = kind(src_human="bvh", tgt_robot="unitree_g1", actual_human_height=None)
        for name in names:
            offset = Rotation.from_quat(values[f"{name}_offset"], scalar_first=True)
            core.rot_offsets1[name] = core.rot_offsets2[name] = offset
            core.pos_offsets1[name] = core.pos_offsets2[name] = values[f"{name}_place"]
            core.human_scale_table[name] = float(values[f"{name}_scale"])
        return core

    run(build(), places, turns)
    runs = [run(build(), places, turns) for _ in range(int(sys.argv[4]))]
    core = build()
    hinges = [core.model.joint(index).name for index in range(1, core.model.njnt)]
    np.savez(out, q=runs[0][0], hinges=np.array(hinges), seconds=np.array([seconds for _, seconds in runs]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

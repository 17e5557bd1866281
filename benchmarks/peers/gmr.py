"""A clip onto the Unitree G1 with GMR's own core, in its own environment: `gmr.py FOLDER JOB.npz OUT.npz`.

FOLDER holds general_motion_retargeting/ and assets/. JOB has, for each human body of GMR's table for BVH files, its
places NAME_p (F, 3) and rotations NAME_r (F, 4), the rotation NAME_offset (4,) to the robot's link, and NAME_scale. OUT
gets q (F, 36), the names of its hinges, and the seconds of each frame. The package is entered without its __init__,
since that imports a viewer.
"""

from __future__ import annotations

import importlib
import sys
import time
import types
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

PACKAGE = "general_motion_retargeting"


def load_core(folder: Path) -> type:
    """Load the class that retargets a frame."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(folder / PACKAGE)]
    sys.modules[PACKAGE] = package
    return importlib.import_module(f"{PACKAGE}.motion_retarget").GeneralMotionRetargeting


def main() -> int:
    """Retarget every frame, one after the other as GMR does."""
    folder, job, out = map(Path, sys.argv[1:])
    core = load_core(folder)(src_human="bvh", tgt_robot="unitree_g1", actual_human_height=None)
    with np.load(job) as given:
        names = [name[:-2] for name in given.files if name.endswith("_p")]
        places = {name: given[f"{name}_p"] for name in names}
        turns = {name: given[f"{name}_r"] for name in names}
        for name in names:
            offset = Rotation.from_quat(given[f"{name}_offset"], scalar_first=True)
            core.rot_offsets1[name] = core.rot_offsets2[name] = offset
            core.human_scale_table[name] = float(given[f"{name}_scale"])
    rows, seconds = [], []
    for frame in range(len(places[names[0]])):
        human = {name: [places[name][frame], turns[name][frame]] for name in names}
        began = time.process_time()
        rows.append(core.retarget(human))
        seconds.append(time.process_time() - began)
    hinges = [core.model.joint(index).name for index in range(1, core.model.njnt)]
    np.savez(out, q=np.array(rows), hinges=np.array(hinges), seconds=np.array(seconds))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

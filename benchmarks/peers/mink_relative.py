"""Relative goals with mink, in its own environment: `mink_relative.py ROBOT.urdf JOB.npz OUT.npz`.

JOB holds the bodies of the moving and the reference frame, the tolerances, and targets (k, 4, 4) in the reference
frame. OUT gets for each target the seconds, the steps, whether it was met, and q.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import mink
import mujoco
import numpy as np

STEPS = 300


def load_model(path: Path) -> mujoco.MjModel:
    """Load a URDF without its shapes, which MuJoCo would search for; fixed bodies are kept."""
    robot = ET.parse(path).getroot()  # noqa: S314 (a file of the test data)
    for link in robot.findall("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    ET.SubElement(ET.SubElement(robot, "mujoco"), "compiler", fusestatic="false")
    return mujoco.MjModel.from_xml_string(ET.tostring(robot, encoding="unicode"))


def main() -> int:
    """Step each target from zero until both errors are within their tolerances."""
    path, job, out = map(Path, sys.argv[1:])
    with np.load(job) as given:
        moving, reference, targets = str(given["moving"]), str(given["reference"]), given["targets"]
        tolerance, angle_tolerance = float(given["tolerance"]), float(given["angle_tolerance"])
    model = load_model(path)
    here = mink.Configuration(model)
    task = mink.RelativeFrameTask(
        moving, "body", reference, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3
    )
    limits = [mink.ConfigurationLimit(model, gain=1.0)]
    low, high = model.jnt_range.T
    rows = []
    for target in targets:
        began = time.perf_counter()
        here.update(np.zeros(model.nq))
        task.set_target(mink.SE3.from_matrix(target))
        steps, met = 0, False
        while steps < STEPS:
            error = task.compute_error(here)
            met = np.linalg.norm(error[:3]) <= tolerance and np.linalg.norm(error[3:]) <= angle_tolerance
            if met:
                break
            try:
                velocity = mink.solve_ik(here, [task], 1.0, "daqp", damping=1e-9, limits=limits)
            except Exception:  # noqa: BLE001 - any exception of the solver counts as a failure
                break
            here.update(np.clip(here.integrate(velocity, 1.0), low, high))
            steps += 1
        rows.append((time.perf_counter() - began, steps, met, here.q.copy()))
    seconds, steps, met, q = (np.array(column) for column in zip(*rows, strict=True))
    np.savez(out, seconds=seconds, steps=steps, met=met, q=q)
    return 0


if __name__ == "__main__":
    sys.exit(main())

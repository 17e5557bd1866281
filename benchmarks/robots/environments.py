"""One virtual environment per peer, with exact versions, in the benchmarks' cache folder."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from robots import models

NUMPY = "numpy==2.4.6"
QP = ("daqp==0.11.0", "qpsolvers==4.13.0", "scipy==1.17.1")
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "pin": (NUMPY, "pin==4.1.0", "pin-pink==4.4.0", "roboplan==0.7.0", "roboplan-simple-ik==0.7.0", *QP),
    "roboticstoolbox_python": (
        NUMPY, "roboticstoolbox-python==1.5.0", "rtb-data==2.0.0", "scipy==1.17.1", "spatialmath-python==1.1.18",
        "spatialgeometry==1.4.2", "robot_descriptions==2.0.0",
    ),
    "optik_py": (NUMPY, "optik-py==0.5.0"),
    "pytracik": (NUMPY, "pytracik==0.0.3"),
    "placo": ("numpy==2.3.5", "placo==0.10.2", "pin==3.8.0", "libpinocchio==3.8.0", "eigenpy==3.12.0"),
    "mink": (NUMPY, "mink==1.3.0", "mujoco==4.0.0", *QP),
    "gmr": (NUMPY, "mink==1.3.0", "mujoco==4.0.0", "rich==15.0.0", *QP),
    "ikpy": (NUMPY, "ikpy==4.2.1", "scipy==1.17.1", "sympy==1.14.0"),
    "ssik": (NUMPY, "ssik==8.2.0", "scipy==1.17.1", "Cython==3.3.1", "urchin==0.0.30"),
    "eaik": (NUMPY, "EAIK==1.2.2", "scipy==1.17.1", "urchin==0.0.30"),
    "ik_geo": (NUMPY, "ik-geo==1.0.3"),
    "frankik": (NUMPY, "frankik==1.0.1"),
    "ur_analytic_ik": (NUMPY, "ur_analytic_ik==0.1.0.post3"),
    "ikdh": (NUMPY, "ikdh==1.2.0"),
    "py_ikgeo_kinematics": (NUMPY, "py-ikgeo-kinematics==0.0.2", "scipy==1.17.1"),
    "pybullet": (NUMPY, "pybullet==3.2.7"),
    "embodik": (NUMPY, "embodik==0.23.2"),
    "pyfabrik": ("numpy==1.26.4", "pyfabrik==0.4.0"),  # its vectors do not work with newer NumPy
    "tinyik": (NUMPY, "tinyik==2.2.1"),
    "robot_ik": (NUMPY, "robot-ik==0.4.0"),
}  # fmt: skip


def python(environment: str) -> Path:
    """The interpreter of an environment, installed on first use; "poise" is the one that runs this.

    Raises RuntimeError with a sentence where pip cannot install it.
    """
    if environment == "poise":
        return Path(sys.executable)
    folder = models.store() / "venvs" / environment
    interpreter, done = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(REQUIREMENTS[environment])
    if not done.is_file() or done.read_text(encoding="utf-8") != wanted:
        print(f"installing {environment}", flush=True)
        venv.create(folder, with_pip=True)
        command = [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        tried = subprocess.run([*command, *REQUIREMENTS[environment]], capture_output=True, text=True, check=False)
        if tried.returncode:
            message = f"pip cannot install {environment}: {(tried.stderr.strip().splitlines() or ['no reason'])[-1]}"
            raise RuntimeError(message)
        done.write_text(wanted, encoding="utf-8")
    return interpreter

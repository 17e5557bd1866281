"""Which peers there are, where their adapters are and what each can do."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One peer. `adapter` is MODULE.CLASS in peers/; `robots` those it can do at all, empty: any chain."""

    label: str
    adapter: str
    environment: str
    kind: str = "numeric"  # ours, numeric or analytic
    robots: tuple[str, ...] = ()
    limits: bool = True  # its answers keep the joint limits
    batch: bool = False  # one call for many targets
    most: int = 10_000  # targets: fewer for slow peers


OURS, REFERENCE = "poise", "ik_lm_chan"
PEERS: dict[str, Entry] = {
    OURS: Entry("poise, prepared", "poise_arm.Prepared", "poise", "ours", batch=True),
    "poise_race": Entry("poise, prepared, race", "poise_arm.Race", "poise", "ours"),
    "poise_solve": Entry("poise, solve()", "poise_arm.Plain", "poise", "ours", most=2000),
    REFERENCE: Entry("rtb ik_LM (chan)", "toolbox.Chan", "roboticstoolbox_python"),
    "ik_lm_sugihara": Entry("rtb ik_LM (sugihara)", "toolbox.Sugihara", "roboticstoolbox_python"),
    "ik_gn": Entry("rtb ik_GN", "toolbox.GaussNewton", "roboticstoolbox_python"),
    "optik": Entry("optik-py (speed)", "optik_rust.Speed", "optik_py"),
    "pytracik": Entry("pytracik (5 ms)", "tracik.Speed", "pytracik"),
    "pytracik_50": Entry("pytracik (50 ms)", "tracik.Patient", "pytracik"),
    "clik": Entry("pinocchio CLIK, restarts", "clik.Clamped", "pin"),
    "roboplan": Entry("roboplan SimpleIk", "roboplan_ik.SimpleIk", "pin"),
    "placo": Entry("placo", "placo_qp.FrameTask", "placo"),
    "mink": Entry("mink", "mink_qp.FrameTask", "mink", most=500),
    "ikpy": Entry("ikpy", "ikpy_scipy.Full", "ikpy", most=200),
    "pink": Entry("pink", "pink_qp.FrameTask", "pin", most=500),
    "pybullet": Entry("pybullet (null space)", "bullet.NullSpace", "pybullet", most=300),
    "embodik": Entry("embodik", "embodik_ik.Position", "embodik", most=1000),
    "robot_ik": Entry("robot-ik", "robot_ik_dh.Damped", "robot_ik", robots=("ur5",)),
    "ssik": Entry("ssik shipped, seeded", "ssik_forms.Seeded", "ssik", "analytic"),
    "ssik_any": Entry("ssik shipped, any", "ssik_forms.First", "ssik", "analytic"),
    "ssik_built": Entry("ssik built, seeded", "ssik_forms.Built", "ssik", "analytic"),
    "eaik": Entry("eaik", "eaik_forms.Nearest", "eaik", "analytic", batch=True),
    "eaik_raw": Entry("eaik, raw call", "eaik_forms.Raw", "eaik", "analytic", limits=False, batch=True),
    "ik_geo": Entry("ik-geo", "ik_geo_forms.ThreeParallel", "ik_geo", "analytic", ("ur5",)),
    "py_ikgeo": Entry("py-ikgeo-kinematics", "py_ik_geo_forms.Nearest", "py_ikgeo_kinematics", "analytic"),
    "ur_analytic": Entry("ur-analytic-ik", "ur_forms.Nearest", "ur_analytic_ik", "analytic", ("ur5",)),
    "ur_closest": Entry("ur-analytic-ik, closest", "ur_forms.Closest", "ur_analytic_ik", "analytic", ("ur5",), False),
    "ikdh": Entry("ikdh, all", "husty.All", "ikdh", "analytic", ("ur5",), most=1000),
    "ikdh_seed": Entry("ikdh, from seed", "husty.FromSeed", "ikdh", "analytic", ("ur5",)),
    "frankik": Entry("frankik, q7 sampled", "franka.Sampled", "frankik", "analytic", ("panda",)),
    "frankik_wide": Entry("frankik, q7 sampled wide", "franka.Wide", "frankik", "analytic", ("panda",)),
    "frankik_given": Entry("frankik, q7 given", "franka.Given", "frankik", "analytic", ("panda",)),
}
TASKS = {  # what --tasks names, and the runs that it stands for
    "solve": ("solve_mid", "solve_rand"),
    "batch": ("batch_mid_1", "batch_mid_2", "batch_rand_1"),
    "track": ("track",),
    "unreachable": ("unreachable",),
    "at_start": ("at_start",),
}

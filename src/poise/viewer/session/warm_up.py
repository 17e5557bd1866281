"""Preparation of the first drag in the background."""

from __future__ import annotations

import numpy as np

from poise.errors import PoiseError
from poise.viewer.body_parts import FOOT_ROLES, has_whole_body
from poise.viewer.document.actions import find_anatomical_limits
from poise.viewer.document.document import Document
from poise.viewer.document.pulls import pull_part
from poise.viewer.rig_message import measure_extent
from poise.viewer.view_solver import ViewSolver, find_solver_refusals

# One part of each kind; the others share what is prepared for it.
_PULLED_ROLES = ("rightHand", "head", "hips", FOOT_ROLES[0])
_NEAR_SHARE, _FAR_SHARE = 0.05, 2.0  # of the figure's extent: within reach, and beyond, where a reason is looked for


def prepare_drags(document: Document) -> None:
    """Do ahead what the first drag would wait for.

    The limits of people are read from all clips, solvers are imported, and parts of a whole body are pulled.
    """
    find_anatomical_limits(document.rig)
    if document.is_driven:
        return
    try:
        find_solver_refusals(document)
        if document.scope == "body" and has_whole_body(document.rig):
            _pull_parts(document)
    except PoiseError:
        return  # the page shows it where somebody asks for the same


def _pull_parts(document: Document) -> None:
    """Pull one part of each kind, near and beyond reach. Nothing of it is kept but caches."""
    pose = document.solver_start
    extent, joints = measure_extent(pose.world.positions), document.rig.roles.joints
    for role in _PULLED_ROLES:
        if role not in joints:
            continue
        place = pose.world[joints[role]].positions
        for share in (_NEAR_SHARE, _FAR_SHARE):
            position = (place + share * extent * np.ones(3)).tolist()
            pulled = pull_part(document, {"joint": joints[role], "position": position}, pose)
            outcome = ViewSolver(pulled, pose, pulled.solvers[0])(pulled.active_chains, pose.q[None])
            _ = outcome.verdict
        find_solver_refusals(pulled)

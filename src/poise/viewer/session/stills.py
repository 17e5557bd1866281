"""Solve a document without a browser, and export it."""

from __future__ import annotations

import numpy as np

from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.viewer.document.actions.targets import grounded
from poise.viewer.document.document import Document
from poise.viewer.document.landscape import planted
from poise.viewer.solving import Outcome, Solving, posed


def solved(document: Document) -> Outcome:
    """Solve all chains of view A from the start pose. It covers every character."""
    chains = [grounded(document, chain) for chain in document.active]
    q = np.repeat(document.started.q[None], len(document.places), axis=0)
    if not chains:
        return Outcome(q, q)
    return Solving(document, document.started, document.solvers[0])(chains, q)


def solved_pose(document: Document) -> Pose:
    """Solve the first character and return its pose."""
    return document.started.with_q(solved(document).q[0])


def page_of(document: Document) -> bytes:
    """Build an offline page (HTML) of a document. It plays the clip, or shows the reached targets."""
    from poise.viewer.session.saves import saved  # noqa: PLC0415  (reads the files of the page)

    return saved(document, posed(document.started, solved(document).q), _clip(document), "html").data


def _clip(document: Document) -> Clip | None:
    if document.clip is None:
        return None
    clip = document.rig.clip(document.clip)
    if document.plant and document.terrain is not None:
        return planted(document.rig, clip, document.terrain)
    return clip

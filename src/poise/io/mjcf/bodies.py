"""Primitive shapes and masses of a compiled MJCF model."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.io.mjcf.document import Geom, MjcfDocument, Point
from poise.io.mjcf.engine import CompiledModel
from poise.io.mjcf.rows import MjcfRows
from poise.io.mjcf.select import LEAST_MASS
from poise.maths.arrays import Floats

_TYPES = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}  # geom kind by mjtGeom


def document_of(given: CompiledModel, found: MjcfRows) -> MjcfDocument:
    """Build the document of shapes and masses."""
    names = {body: found.rows[row].name for body, row in found.body_row.items()}
    return MjcfDocument(given.name, _geoms(given.model, names), _inertials(given, names))


def _geoms(m: Any, names: dict[int, str]) -> tuple[Geom, ...]:
    return tuple(
        Geom(
            names[int(m.geom_bodyid[i])],
            _TYPES[int(m.geom_type[i])],
            _three(m.geom_size[i]),
            _three(m.geom_pos[i]),
            (*m.geom_quat[i].tolist(),),
            bool(m.geom_contype[i] or m.geom_conaffinity[i]),
        )
        for i in range(m.ngeom)
        if int(m.geom_type[i]) in _TYPES
    )


def _inertials(given: CompiledModel, names: dict[int, str]) -> dict[str, tuple[float, Point]]:
    """Build the masses by joint name. The result is empty if one mass is unknown: the centre of mass would be wrong."""
    m = given.model
    if any(body for body in given.weightless):
        return {}
    found: dict[str, tuple[float, Point]] = {}
    for body, name in names.items():
        mass, centre = float(m.body_mass[body]), m.body_ipos[body]
        if body and LEAST_MASS < mass < np.inf and np.isfinite(centre).all():
            found[name] = (mass, _three(centre))
    return found


def _three(values: Floats) -> Point:
    x, y, z = values.tolist()
    return (x, y, z)

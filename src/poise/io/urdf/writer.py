"""URDF writer: the source bytes with changed limits replaced."""

from __future__ import annotations

import math
import re

import numpy as np

from poise.errors import UnsupportedError
from poise.io.urdf.xml_parser import UrdfDocument
from poise.model.clip import Clip
from poise.model.limits import Limit, Range
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

_LIMIT_TAG = re.compile(rb"""<limit(\s+[^\s=<>"']+\s*=\s*("[^"]*"|'[^']*'))*\s*/?>""")


def encode_urdf(thing: Saveable, like: Skeleton) -> bytes:
    """Encode a rig's source URDF file with its current limits.

    UnsupportedError for a pose or a clip, which URDF cannot hold, for a skeleton from another format, and for changes
    other than to ranges in the file.
    """
    if not isinstance(thing, Rig) or thing.clips:
        label = "clip" if isinstance(thing, Rig | Clip) else "pose"
        message = f"a URDF file describes a robot and holds no {label}; save joint values to a .json or .csv file"
        raise UnsupportedError(message)
    document = like.source
    if not isinstance(document, UrdfDocument):
        message = "a URDF file can only be written for a robot that was read from one"
        raise UnsupportedError(message)
    skeleton = thing.skeleton
    if (
        skeleton.names != document.names
        or not np.array_equal(skeleton.kinds, document.kinds)
        or not np.array_equal(skeleton.A, document.A)
    ):
        message = "the joints differ from those of the URDF file; only changed limits can be written"
        raise UnsupportedError(message)
    return _replace_limits(document, skeleton)


def _replace_limits(document: UrdfDocument, skeleton: Skeleton) -> bytes:
    data = document.data
    changed = [i for i, limit in enumerate(skeleton.limits) if limit != document.limits[i]]
    for i in sorted(
        changed, key=lambda row: document.limit_byte[row], reverse=True
    ):  # back to front, so that byte positions stay valid
        low, high = _check_ends(skeleton.names[i], skeleton.limits[i], document.limit_byte[i])
        match = _LIMIT_TAG.match(data, document.limit_byte[i])
        if not match:
            message = f"the <limit> of joint {skeleton.names[i]!r} is not where it was read"
            raise UnsupportedError(message)
        tag = _replace_attribute(_replace_attribute(match.group(), b"upper", high), b"lower", low)
        data = data[: match.start()] + tag + data[match.end() :]
    return data


def _check_ends(name: str, limit: Limit | None, limit_byte: int) -> tuple[float, float]:
    if limit_byte < 0:
        message = f"joint {name!r} has no range in the URDF file; one cannot be added to it"
        raise UnsupportedError(message)
    if not isinstance(limit, Range) or not (math.isfinite(limit.low) and math.isfinite(limit.high)):
        message = f"joint {name!r} needs a finite range in a URDF file; its type there says that it has one"
        raise UnsupportedError(message)
    if limit.soft:
        message = f"joint {name!r} has a soft limit; a URDF file holds hard ones only"
        raise UnsupportedError(message)
    return limit.low, limit.high


def _replace_attribute(tag: bytes, name: bytes, value: float) -> bytes:
    """Replace one attribute of a start tag. A missing attribute is added."""
    text = repr(float(value)).encode()
    pattern = re.compile(rb"""(\s""" + name + rb"""\s*=\s*)("[^"]*"|'[^']*')""")
    if pattern.search(tag):
        return pattern.sub(lambda found: found.group(1) + b'"' + text + b'"', tag, count=1)
    return tag[: len(b"<limit")] + b" " + name + b'="' + text + b'"' + tag[len(b"<limit") :]

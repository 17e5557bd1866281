"""C3D files made byte by byte, as each of the three kinds of processors writes them."""

from __future__ import annotations

import struct

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86


class Bytes:
    """Numbers as a processor writes them."""

    def __init__(self, processor):
        self.order = ">" if processor == MIPS else "<"
        self.is_dec = processor == DEC

    def words(self, values):
        return np.asarray(values).astype(np.int64).astype(np.uint16).astype(f"{self.order}u2").tobytes()

    def floats(self, values):
        if self.is_dec:
            return b"".join(map(vax, np.asarray(values, dtype=np.float64).ravel()))
        return np.asarray(values).astype(f"{self.order}f4").tobytes()


def vax(value):
    """A DEC F float: 0.1mantissa times a power of two, the two words exchanged."""
    fraction, exponent = np.frexp(abs(value))
    if not fraction:
        return b"\0\0\0\0"
    mantissa = round(float(fraction) * 2**24)
    high = (0x8000 if value < 0 else 0) | ((int(exponent) + 128) << 7) | ((mantissa >> 16) & 0x7F)
    return struct.pack("<HH", high, mantissa & 0xFFFF)


def parameter(n, number, name, kind, sizes, data):
    """One record; what leads on to the next counts from itself."""
    body = bytes([kind % 256, len(sizes), *sizes]) + data + b"\0"
    return bytes([len(name), number]) + name.encode() + n.words([len(body) + 2]) + body


def texts(n, number, name, values, width=None):
    width = width or max(map(len, values), default=1)
    data = "".join(value.ljust(width) for value in values).encode()
    return parameter(n, number, name, -1, [width, len(values)], data)


def c3d(
    points,
    *,
    processor=INTEL,
    scale=-1.0,
    labels=None,
    analog=0,
    first=1,
    last=None,
    more=(),
    unit="mm",
    unseen=None,
    used=None,
    up="+Z",
    rate=100.0,
):
    """The bytes of a file; `points` (frames, k, 3) in units, NaN where unseen; `more` makes further records."""
    n = Bytes(processor)
    frames, count, _ = points.shape
    labels = [f"M{i}" for i in range(count)] if labels is None else labels
    records = b"".join(
        bytes([len(name), 256 - i]) + name.encode() + n.words([3]) + b"\0" for i, name in ((1, "POINT"), (2, "TRIAL"))
    )
    records += parameter(n, 1, "USED", 2, [], n.words([count if used is None else used]))
    records += parameter(n, 1, "SCALE", 4, [], n.floats([scale])) + parameter(n, 1, "RATE", 4, [], n.floats([rate]))
    for i, start in enumerate(range(0, max(len(labels), 1), 255), 1):
        records += texts(n, 1, "LABELS" + (str(i) if i > 1 else ""), labels[start : start + 255])
    records += texts(n, 1, "UNITS", [unit]) if unit else b""
    records += texts(n, 1, "Y_SCREEN", [up]) if up else b""
    records += b"".join(make(n) for make in more) + b"\0\0"
    blocks = -(-(len(records) + 4) // 512)
    section = bytes([1, 0x50, blocks, processor]) + records.ljust(blocks * 512 - 4, b"\0")
    end = first + frames - 1 if last is None else last
    header = bytes([2, 0x50]) + n.words([count, analog, first, min(end, 65535), 0]) + n.floats([scale])
    header += n.words([2 + blocks, 1]) + n.floats([rate])
    gone = np.isnan(points).any(axis=-1)
    fourth = np.where(gone, -1.0 if unseen is None else unseen, 0.0)
    rows = np.concatenate([np.where(gone[..., None], 0.0, points), fourth[..., None]], axis=-1)
    if scale > 0:
        rows[..., :3] = np.round(rows[..., :3] / scale)
    rows = np.concatenate([rows.reshape(frames, 4 * count), np.full((frames, analog), 7.0)], axis=1)
    body = n.words(rows) if scale > 0 else n.floats(rows)
    return header.ljust(512, b"\0") + section + body + b"\0" * (-len(body) % 512)


def cloud(frames=5, count=3, seed=1):
    """Points as float32 has them, with gaps."""
    rng = np.random.default_rng(seed)
    points = rng.normal(scale=800.0, size=(frames, count, 3)).astype(np.float32).astype(np.float64)
    points[rng.random((frames, count)) < 0.2] = np.nan
    points[0, 0] = [0.0, -0.5, 1e-3]
    return points.astype(np.float32).astype(np.float64)

"""The bundled hills as a height map: 20 m by 20 m of gentle ground to walk on, at height 0 in the middle."""

from __future__ import annotations

import io
import zipfile

import numpy as np

POSTS = 65  # along each side, 0.3125 m apart
SIZE = 20.0
MILLIMETRE = 0.001
WAVES = [  # metres of amplitude, from crest to crest, degrees that the waves run to, degrees of phase in the middle
    (0.20, 9.0, 20.0, 300.0),
    (0.12, 6.5, 105.0, 40.0),
    (0.06, 4.5, 65.0, 200.0),
    (0.03, 3.0, 150.0, 90.0),
]


def npz() -> bytes:
    """Make the hills. Whole millimetres, so that the file is the same whatever the last bits of a cosine are."""
    along = np.linspace(-0.5 * SIZE, 0.5 * SIZE, POSTS)
    x, y = along, along[::-1, None]  # the first row is the farthest north
    heights = np.zeros((POSTS, POSTS))
    for amplitude, length, *degrees in WAVES:
        angle, phase = np.radians(degrees)
        place = (x * np.cos(angle) + y * np.sin(angle)) * (2.0 * np.pi / length)
        heights += amplitude * (np.cos(place + phase) - np.cos(phase))
    return zipped(
        heights=np.round(heights / MILLIMETRE).astype(np.int16),
        height=np.float64(MILLIMETRE),
        size=np.array([SIZE, SIZE]),
    )


def zipped(**arrays: np.ndarray | np.float64) -> bytes:
    """An npz file. What np.savez writes is up to the version of Python's zipfile."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, array in arrays.items():
            rows = io.BytesIO()
            np.lib.format.write_array(rows, np.asarray(array))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), rows.getvalue())
    return data.getvalue()

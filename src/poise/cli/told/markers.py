"""Description of marker files, as text or JSON. It has names, rate, length, unit, gaps."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import shown
from poise.io.markers.markers import Markers
from poise.maths.arrays import Bools
from poise.maths.in_words import counted, write_number


def marker_lines(markers: Markers, file: Path) -> list[str]:
    """Format the description of markers."""
    frames, count = markers.gaps.shape
    seconds = (
        f"{frames / markers.fps:.4g} s, {counted(frames, 'frame')} at {markers.fps:.6g} frames/s, the first is number"
    )
    unit = markers.metres_per_unit
    known = "unit unknown" if unit is None else f"1 unit = {unit:g} m"
    up = f"+{markers.up.upper()} up" if markers.up else "up axis unknown"
    span = " x ".join(write_number(value) for value in _span(markers))
    unseen = int(markers.gaps.sum())
    share = f" ({100 * unseen / markers.gaps.size:.3g} %)" if unseen else ""
    return [
        f"{file}: {counted(count, 'marker')}, no skeleton",
        f"{seconds} {markers.first_frame}",
        f"{known}, {up}, points span {span}" if span else f"{known}, {up}",
        f"not seen: {unseen:,} of {markers.gaps.size:,} points{share}",
        "",
        f"markers ({count}):",
        *(shown(f"  {name}{_gaps_of(gaps)}") for name, gaps in zip(markers.names, markers.gaps.T, strict=True)),
        *(shown(f"note: {note}") for note in markers.notes),
    ]


def marker_object(markers: Markers, file: Path) -> dict[str, Any]:
    """Build the JSON description of markers."""
    return {
        "file": str(file),
        "frames": len(markers),
        "fps": markers.fps,
        "seconds": len(markers) / markers.fps,
        "first_frame": markers.first_frame,
        "metres_per_unit": markers.metres_per_unit,
        "up": markers.up,
        "size": _span(markers),
        "markers": [
            {
                "name": name,
                "gaps": len(_lengths(gaps)),
                "unseen": int(gaps.sum()),
                "longest_gap": max(_lengths(gaps), default=0),
            }
            for name, gaps in zip(markers.names, markers.gaps.T, strict=True)
        ],
        "notes": list(markers.notes),
    }


def _span(markers: Markers) -> list[float]:
    """Compute the extent of all visible points [file units]. It is empty without any."""
    seen = markers.positions[~markers.gaps]
    return np.ptp(seen, axis=0).tolist() if len(seen) else []


def _lengths(gaps: Bools) -> list[int]:
    """Measure the gaps of one marker in frames."""
    edges = np.flatnonzero(np.diff(gaps, prepend=False, append=False)).tolist()
    return [end - start for start, end in list(pairwise(edges))[::2]]


def _gaps_of(gaps: Bools) -> str:
    lengths = _lengths(gaps)
    if not lengths:
        return ""
    if gaps.all():
        return "  never seen"
    if len(lengths) == 1:
        return f"  1 gap of {counted(lengths[0], 'frame')}"
    return f"  {len(lengths)} gaps, {sum(lengths):,} frames in all, the longest {max(lengths):,}"

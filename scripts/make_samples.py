"""Build the bundled files from first principles: `python scripts/make_samples.py [--check]`.

They are those of src/poise/io/samples, and the viewer's figure.

With --check nothing is written; the exit code says whether the shipped files equal freshly made ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import sample_arm
import sample_files
import sample_hills

FOLDER = Path(__file__).parent.parent / "src" / "poise" / "io" / "samples"
MAKERS = {
    "humanoid.glb": sample_files.glb,
    "humanoid.bvh": sample_files.bvh,
    "humanoid.ik.toml": sample_files.sidecar,
    "arm.urdf": sample_arm.urdf,
    "hills.npz": sample_hills.npz,
}
VIEWER_FOLDER = Path(__file__).parent.parent / "src" / "poise" / "viewer" / "scenes"
VIEWER_MAKERS = {"figure.glb": sample_files.figure, "figure.ik.toml": sample_files.sidecar}


def _list_files(folder: Path) -> list[tuple[Path, Callable[[], bytes]]]:
    """Every file, with what makes it."""
    samples = [(folder / name, make) for name, make in MAKERS.items()]
    return [*samples, *((VIEWER_FOLDER / name, make) for name, make in VIEWER_MAKERS.items())]


def differing(folder: Path) -> list[Path]:
    """Files that are missing or differ from freshly made ones."""
    return [path for path, make in _list_files(folder) if not path.is_file() or path.read_bytes() != make()]


def main() -> int:
    """Write the samples, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the shipped files, write nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    options = parser.parse_args()
    if options.check:
        wrong = differing(options.folder)
        for path in wrong:
            print(f"{path}: differs from what scripts/make_samples.py makes; run it without --check")
        return 1 if wrong else 0
    for path, make in _list_files(options.folder):
        data = make()
        path.write_bytes(data)
        print(f"{path}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

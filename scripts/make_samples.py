"""Build the files bundled in src/poise/io/samples from first principles: `python scripts/make_samples.py [--check]`.

With --check nothing is written; the exit code says whether the shipped files equal freshly made ones.
"""

from __future__ import annotations

import argparse
import sys
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


def differing(folder: Path) -> list[str]:
    """Names of the files in the folder that are missing or differ from freshly made ones."""
    return [
        name for name, make in MAKERS.items() if not (folder / name).is_file() or (folder / name).read_bytes() != make()
    ]


def main() -> int:
    """Write the samples, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the shipped files, write nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    options = parser.parse_args()
    if options.check:
        wrong = differing(options.folder)
        for name in wrong:
            print(f"{options.folder / name}: differs from what scripts/make_samples.py makes; run it without --check")
        return 1 if wrong else 0
    for name, make in MAKERS.items():
        data = make()
        (options.folder / name).write_bytes(data)
        print(f"{options.folder / name}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

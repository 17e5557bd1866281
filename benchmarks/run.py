"""Run every benchmark and write results/: `python benchmarks/run.py [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import sys

import harness

NAMES = (
    "five_axis",
    "limited_evidence",
    "classic_ccd",
    "methods",
    "methods_panda",
    "chain10",
    "properties",
    "sweep_cost",
    "two_bone",
    "fabrik_cpp_baseline",
    "fabrik_table",
    "fabrik_limits",
    "arm_cpp_baseline",
    "full_body",
    "sheared",
    "real_poses",
    "continuity",
    "pole_sides",
    "whole_body_poses",
    "plant_feet",
    "plant_all_clips",
    "strides",
    "grounder",
    "grounder_play",
    "terrain",
    "multiple_solutions",
    "start_up",
    "loading",
    "libraries",
    "robots",
    "package_files",
    "viewer",
)


def main() -> int:
    """Run the named benchmarks, by default all, and join their tables to results/README.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all by default")
    names = parser.parse_args().names or NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}")
    for name in names:
        importlib.import_module(name).main()
    tables = [harness.RESULTS / f"{name}.md" for name in NAMES]
    machine = ", ".join(f"{key} {value}" for key, value in harness.machine().items())
    head = f"# Results\n\nMade by `python benchmarks/run.py` on: {machine}.\n"
    parts = [head, *(path.read_text(encoding="utf-8") for path in tables if path.is_file())]
    (harness.RESULTS / "README.md").write_text("\n".join(parts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Run every benchmark and write results/: `python benchmarks/run.py [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import sys

import data_manifest
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
_MACHINE = "Each JSON file beside a table names the machine and the versions that it was measured with."


def main() -> int:
    """Run the named benchmarks, by default all, and list the tables in results/README.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all by default")
    names = parser.parse_args().names or NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}")
    for name in names:
        importlib.import_module(name).main()
    (harness.RESULTS / "README.md").write_text(list_results(), encoding="utf-8")
    return 0


def list_results() -> str:
    """List the tables of all benchmarks and tools, with links."""
    rows = ["# Results", "", "| table | who can repeat it |", "|---|---|"]
    for name in data_manifest.read_benchmarks():
        path = harness.RESULTS / f"{name}.md"
        if path.is_file():
            title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
            rows.append(f"| [{title}]({name}.md) | {data_manifest.describe_short(name)} |")
    return "\n".join([*rows, "", _MACHINE, ""])


if __name__ == "__main__":
    sys.exit(main())

"""Run every benchmark and write results/: `python benchmarks/run.py [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import data_manifest
import harness
from robots import models

NAMES = (
    "five_axis",
    "loops",
    "goal_sets",
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
    "natural_proofs",
    "plant_feet",
    "plant_all_clips",
    "planting_proofs",
    "retarget_peers",
    "strides",
    "grounder",
    "grounder_play",
    "grounder_motion",
    "terrain",
    "multiple_solutions",
    "start_up",
    "kernel_backends",
    "calls",
    "calls_peers",
    "call_cost",
    "loading",
    "libraries",
    "robots",
    "package_files",
    "viewer",
)
# Measured with what is here, on samples where nothing is.
PARTIAL = {"arm_cpp_baseline", "calls", "libraries", "loading", "robot_targets_everywhere", "robots", "viewer"}
_MACHINE = "Each JSON file beside a table names the machine and the versions that it was measured with."


def main() -> int:
    """Run the named benchmarks, by default all, and list the tables in results/README.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all by default")
    names = parser.parse_args().names or NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(describe_unknown(unknown[0]))
    for name in names:
        absent = describe_absent(name)
        if absent:
            print(absent, file=sys.stderr, flush=True)
        if not absent or name in PARTIAL:
            importlib.import_module(name).main()
    (harness.RESULTS / "README.md").write_text(list_results(harness.RESULTS), encoding="utf-8")
    return 0


def describe_unknown(name: str) -> str:
    """Describe a name that is not run here: the commands of its own, or the names that there are."""
    benchmark = data_manifest.read_benchmarks().get(name)
    if benchmark is None:
        return f"no benchmark {name!r}; there are: {', '.join(NAMES)}"
    needs = "; it needs " + ", ".join(benchmark.requires) if benchmark.requires else ""
    return "\n    ".join([f"{name} has commands of its own{needs}:", *benchmark.commands])


def describe_absent(name: str) -> str:
    """Describe which files of a benchmark can be had and are not here; empty where all are."""
    arms = models.arms_folder()
    absent = [
        file.name
        for file in data_manifest.find_absent(name, harness.data_folder())
        if not (file.name.startswith("peers/") and (arms / Path(file.name).name).is_file())
    ]
    if not absent:
        return ""
    what = "measured without them" if name in PARTIAL else "skipped"
    some = ", ".join(absent[:3]) + (", ..." if len(absent) > 3 else "")
    count, them = ("1 file is", "it") if len(absent) == 1 else (f"{len(absent)} files are", "them")
    return f"{name}: {what}, {count} not here ({some}); `python benchmarks/fetch_data.py {name}` gets {them}"


def list_results(folder: Path) -> str:
    """List the tables of all benchmarks and tools in a folder of results, with links."""
    rows = ["# Results", "", "| table | who can repeat it |", "|---|---|"]
    for name in data_manifest.read_benchmarks():
        path = folder / f"{name}.md"
        if path.is_file():
            title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
            rows.append(f"| [{title}]({name}.md) | {data_manifest.describe_short(name)} |")
    return "\n".join([*rows, "", _MACHINE, ""])


if __name__ == "__main__":
    sys.exit(main())

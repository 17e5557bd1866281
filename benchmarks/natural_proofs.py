"""Natural poses, judged by forward kinematics alone, beside bounds for what people do.

Eight figures of several formats, two of them rolled and one in another unit and with another axis up. Proof 1: hands
along paths in and out of reach, and 6: clips that are baked (natural_paths.py); 2: hands that roll, and 4: root bones
above hips (natural_rigs.py); 3: forty tasks for whole figures from a standing pose with hanging arms (pose_tasks.py,
pose_judge.py); 7: what it costs (natural_costs.py). Proof 5 is real_poses.py. A case has one value of each measure;
`where` names the worst case, and what of the figure has it. Bounds in brackets are not asked; an eye sees them, too.

    python benchmarks/natural_proofs.py --quick                               # two figures
    python benchmarks/natural_proofs.py --figures knight,vrm --tasks floor    # some, each with all its measures
    python benchmarks/natural_proofs.py --quick --beside OTHER/src            # beside another checkout
    python benchmarks/natural_proofs.py --proofs 7 --beside OTHER/src         # costs, in runs that alternate
    python benchmarks/natural_proofs.py --figures mixamo --sheet mixamo.png   # front and side of each task
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import harness
import natural_costs
import natural_paths
import natural_rigs
import numpy as np
import pose_judge
import pose_sheets
import pose_tasks
from pose_judge import Measured

import poise

TITLE = "Natural poses, judged by forward kinematics alone"


Proof = Callable[[Path, argparse.Namespace], Iterator[Measured]]


def judge_tasks(folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Proof 3: what is measured of each task on each figure."""
    for file in pose_tasks.list_files(options):
        figure = pose_tasks.load_figure(folder, file)
        for task in list_tasks(options):
            row = pose_judge.judge_pose(figure, task, pose_tasks.solve_task(figure, task).pose)
            if options.tasks or options.rows:
                print(f"{file}: {task.name}: {json.dumps(row)}")
            for bounds, asked in ((pose_judge.BOUNDS, True), (pose_judge.SEEN, False)):
                for name, bound in bounds.items():
                    yield Measured("3", name, bound, asked, file, task.name, row[name], row["parts"].get(name, ""))


PROOFS: dict[str, Proof] = {
    "1": natural_paths.judge_paths,
    "2": natural_rigs.judge_rolls,
    "3": judge_tasks,
    "4": natural_rigs.judge_roots,
    "6": natural_paths.judge_bake,
    "7": natural_costs.judge_costs,
}


def list_tasks(options: argparse.Namespace) -> list[pose_tasks.Task]:
    """The tasks that are asked for."""
    words = [word for word in options.tasks.split(",") if word]
    return [task for task in pose_tasks.TASKS if not words or any(word in task.name for word in words)]


def measure_all(folder: Path, options: argparse.Namespace) -> list[Measured]:
    """All values of the proofs that are asked for."""
    return [
        measured
        for name in options.proofs.split(",")
        for measured in PROOFS[name](folder, options)
        if not np.isnan(measured.value)
    ]


def tabulate(measured: Sequence[Measured]) -> list[harness.Row]:
    """A line for each measure: how many cases keep its bound, and the worst of them."""
    lines: list[harness.Row] = []
    for key in dict.fromkeys((each.proof, each.measure, each.bound, each.asked) for each in measured):
        own = [each for each in measured if key == (each.proof, each.measure, each.bound, each.asked)]
        values = np.array([each.value for each in own])
        worst = own[int(values.argmax())]
        kept = int((values <= worst.bound).sum())
        bound = f"{worst.bound:g}" if worst.asked else f"({worst.bound:g})" if np.isfinite(worst.bound) else ""
        lines.append({
            "proof": worst.proof, "measure": worst.measure, "bound": bound, "within": f"{kept} of {len(own)}",
            "median": round(float(np.median(values)), 2), "p90": round(float(np.percentile(values, 90)), 2),
            "worst": round(worst.value, 2),
            "where": ", ".join(filter(None, (Path(worst.figure).name, worst.case, worst.part))),
        })  # fmt: skip
    return lines


def tabulate_tasks(measured: Sequence[Measured]) -> list[harness.Row]:
    """A line for each task: on how many figures all is as asked, and what is not, with its median there."""
    lines: list[harness.Row] = []
    tasks = [each for each in measured if each.proof == "3" and each.asked]
    for name in dict.fromkeys(each.case for each in tasks):
        own = [each for each in tasks if each.case == name]
        figures = {each.figure for each in own}
        faults: dict[str, list[float]] = {}
        for each in own:
            if each.value > each.bound:
                faults.setdefault(each.measure, []).append(each.value)
        bad = {each.figure for each in own if each.value > each.bound}
        words = [f"{measure}: {len(values)}, {np.median(values):.0f}" for measure, values in faults.items()]
        lines.append(
            {
                "task": name,
                "as asked": f"{len(figures - bad)} of {len(figures)}",
                "not: figures, median": "; ".join(words),
            }
        )
    return lines


def compare(measured: Sequence[Measured], other: Sequence[Measured]) -> str:
    """The lines of this checkout beside those of another."""
    beside = {(line["proof"], line["measure"]): line for line in tabulate(other)}
    lines: list[harness.Row] = []
    for line in tabulate(measured):
        theirs = beside.get((line["proof"], line["measure"]), {})
        own = {key: line[key] for key in ("proof", "measure", "bound", "within", "median", "worst")}
        lines.append(own | {f"other: {key}": theirs.get(key, "") for key in ("within", "median", "worst")})
    return harness.table(lines)


def run_other(source: Path, arguments: Sequence[str]) -> list[Measured]:
    """What another checkout does, by this judge."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.jsonl"
        environment = os.environ | {"PYTHONPATH": str(source.resolve())}
        command = [sys.executable, __file__, *arguments, "--json", str(path)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        return [Measured(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def describe_beside(measured: Sequence[Measured], options: argparse.Namespace, arguments: Sequence[str]) -> str:
    """The lines of this checkout beside those of another, and the ratios of costs, from runs that alternate."""
    mine = [word for word in arguments if word not in ("--beside", str(options.beside))]
    told = compare(measured, run_other(options.beside, mine))
    if "7" not in options.proofs.split(","):
        return told
    sources = Path(str(poise.__file__)).parents[1], options.beside
    runs = [[run_other(source, [*mine, "--proofs", "7"]) for source in sources] for _ in range(natural_costs.ROUNDS)]
    own, other = ([each for run in runs for each in run[number]] for number in range(2))
    return told + "\n\n" + harness.table(tabulate(list(natural_costs.compare_costs(own, other))))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proofs", default=",".join(PROOFS), help=f"some of {','.join(PROOFS)}; all by default")
    parser.add_argument(
        "--figures", default="", metavar="WORD,...", help="only figures with one of these in their names"
    )
    parser.add_argument("--tasks", default="", metavar="WORD,...", help="only tasks with one of these in their names")
    parser.add_argument("--quick", action="store_true", help="two figures and fewer cases")
    parser.add_argument("--rows", action="store_true", help="print all measures of each task")
    parser.add_argument("--json", type=Path, help="write a line for each value")
    parser.add_argument(
        "--beside", type=Path, metavar="OTHER/src", help="the sources of another checkout, judged alike"
    )
    parser.add_argument(
        "--sheet", type=Path, help="draw the tasks of the first figure, front and side, and judge nothing"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.proofs.split(",") if name not in PROOFS]
    if unknown:
        parser.error(f"no proof {unknown[0]!r}; there are: {', '.join(PROOFS)}")
    if not (pose_tasks.list_files(options) and list_tasks(options)):
        parser.error(f"no such figure or task; figures: {', '.join(pose_tasks.FIGURES)}")
    return options


def main(arguments: Sequence[str] = ()) -> int:
    """Judge what is asked for; without a choice the table is written as well."""
    options = parse(arguments)
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("natural_proofs needs the test data: set POISE_DATA to its folder")
    if options.sheet:
        print(
            pose_sheets.draw_sheet(
                pose_tasks.load_figure(folder, pose_tasks.list_files(options)[0]), list_tasks(options), options.sheet
            )
        )
        return 0
    measured = measure_all(folder, options)
    if options.json:
        options.json.write_text("".join(json.dumps(each._asdict()) + "\n" for each in measured), encoding="utf-8")
    by_task = tabulate_tasks(measured)
    notes = ["### Tasks", harness.table(by_task)] if by_task else []
    if not arguments:
        harness.report("natural_proofs", TITLE, tabulate(measured), [*notes, str(__doc__).split("\n\n")[1].strip()])
    elif options.beside:
        print(describe_beside(measured, options, arguments))
    else:
        print("\n\n".join([harness.table(tabulate(measured)), *notes]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Robots that others made: whether every place is reached that a tip can be at, and no joint turns in vain.

    python benchmarks/robot_targets_everywhere.py                      everything: two minutes
    python benchmarks/robot_targets_everywhere.py --parts robots corners --only 'ur*'

robots      every URDF of the test data and of four packages on PyPI (dependency group `robots`), every tip: places of
            random configurations inside the limits, asked for without a root, from the robot's rest; then some in every
            other way of asking, from random starts
million     a million places of each of five arms
corners     places of configurations with half or all joints at ends of their ranges
hard        places that few attempts miss: do more attempts find them?
beyond      places out of reach: is the best effort of a batch that of a single call, and near the best that is known?

Every answer is judged by forward kinematics, limits and turns (robot_cases/), targets besides by Pinocchio. Records are
appended to a file, so that a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from robot_cases.evaluation import Judged, Pinocchio, judged
from robot_cases.robot_files import File, of_data, of_packages, read, tips
from robot_cases.targets import Floats, Limb, anywhere, corners, limb_of, made_up, places

import poise

PARTS = ("robots", "million", "corners", "hard", "beyond")
Record = dict[str, Any]
BLOCK = 50_000
KNOWN = 10  # faults that a record names
ARMS = (
    ("test data", "panda", "panda_hand_tcp_joint"),
    ("test data", "ur5", "wrist_3_link-tool0_fixed_joint"),
    ("airo-models", "ur3e", "flange-tool0"),
    ("rtb-data", "kr16_2", "joint_a6-tool0"),
    ("test data", "g1_29dof", "left_hand_palm_joint"),
)
MADE_UP = range(12)  # seeds of arms of six joints without any symmetry, for hard targets
NARROW = range(40)  # seeds of arms of seven to nine joints with narrow ranges, for corners


class Sizes(NamedTuple):
    """How many targets each part has."""

    robots: int = 2_000
    ways: int = 10
    million: int = 1_000_000
    corners: int = 500
    hard: int = 200_000
    beyond: int = 200


ALL = Sizes()


class Case(NamedTuple):
    """A limb with its names, and the file that it is from."""

    package: str
    robot: str
    limb: Limb
    path: Path | None

    @property
    def names(self) -> Record:
        """What a record says of it."""
        tip, joints = self.limb.tip, len(self.limb.columns)
        return {"package": self.package, "robot": self.robot, "tip": tip, "joints": joints}

    def rng(self, *more: int) -> np.random.Generator:
        """Its own numbers, whatever else is run."""
        return np.random.default_rng([zlib.crc32(f"{self.package}/{self.robot}/{self.limb.tip}".encode()), *more])


def cases(files: Sequence[File]) -> Iterator[Case]:
    """Every tip of every robot that can be read."""
    for file in files:
        try:
            rest = read(file.path)
        except poise.PoiseError:
            continue
        for tip in tips(rest.skeleton):
            yield Case(file.package, file.name, limb_of(rest, tip), file.path)


def faults(case: Case, found: Judged, **known: Any) -> Record:
    """A record: how many were asked, which were missed or turned in vain."""
    missed, met = np.flatnonzero(~found.reached), found.reached
    return {
        **case.names, **known, "asked": len(met), "missed": len(missed), "turned": int(found.turned.sum()),
        "which": missed[:KNOWN].tolist(), "worst [m]": float(found.distances[met].max(initial=0.0)),
        "worst [rad]": float(found.angles[met].max(initial=0.0)),
    }  # fmt: skip


# --- every robot -------------------------------------------------------------------------------------------------


def robot(case: Case, sizes: Sizes) -> Record:
    """Places of random configurations from rest in one call; then some from random starts in every way of asking."""
    limb = case.limb
    q = anywhere(limb, case.rng(0), sizes.robots)
    goal = places(limb, q)
    result, seconds = harness.worked(lambda: poise.solve(limb.rest, goal))
    record = faults(case, judged(limb, result.q, goal, limb.rest.q), seconds=seconds)
    wrong = {name: count for name, count in ways(case, sizes.ways).items() if count}
    try:
        away = None if case.path is None else Pinocchio(case.path, limb.rest.skeleton).away(limb, q[:20], goal)
    except (ImportError, ValueError):  # it is not here, or refuses the file
        away = None
    return {**record, "ways": wrong, "Pinocchio": away}


def ways(case: Case, count: int) -> dict[str, int]:
    """How many of some targets are missed or turned in vain, by the way of asking, each from a start of its own."""
    limb, rng, wrong = case.limb, case.rng(1), {}
    q, starts = anywhere(limb, rng, count), anywhere(limb, rng, count)
    goal, s = places(limb, q), limb.rest.skeleton
    one = [poise.Place(limb.tip, *pair) for pair in zip(goal.position, goal.rotation, strict=True)]
    begin = [poise.Pose(s, start) for start in starts]
    prepared = poise.prepare(limb.rest, one[0])

    def look(name: str, answers: Floats, targets: poise.Place = goal, begun: Floats = starts) -> None:
        found = judged(limb, answers, targets, begun)
        wrong[f"{name}, missed"], wrong[f"{name}, turned"] = int((~found.reached).sum()), int(found.turned.sum())

    batch = poise.solve(poise.Pose(s, starts), goal).q
    look("batch of starts", batch)
    single = np.array([poise.solve(begin[i], one[i]).q for i in range(count)])
    look("single", single)
    wrong["single, other bits than in a batch"] = int((single != batch).any(axis=-1).sum())
    requested = zip(one, starts, strict=True)
    look("prepared", np.array([prepared((goal.position, goal.rotation), start=start).q for goal, start in requested]))
    look("closest", poise.solve(poise.Pose(s, starts), goal, prefer="closest").q)
    for i in range(min(2, count)):
        every = poise.solve(begin[i], one[i], prefer="all").solutions.q
        again = poise.Place(limb.tip, *[np.tile(part, (len(every), 1)) for part in (one[i].position, one[i].rotation)])
        look(f"all {i}", every, again, starts[i])
        wrong[f"all {i}, none"] = int(not len(every))
    return wrong


# --- five arms ---------------------------------------------------------------------------------------------------


def block(case: Case, first: int, count: int) -> Record:
    """Some of the million places of an arm, from rest."""
    limb = case.limb
    goal = places(limb, anywhere(limb, case.rng(2, first), count))
    result, seconds = harness.worked(lambda: poise.solve(limb.rest, goal))
    return faults(case, judged(limb, result.q, goal, limb.rest.q), first=first, seconds=seconds)


# --- corners -----------------------------------------------------------------------------------------------------


def corner(case: Case, sizes: Sizes, *, all_of_them: bool) -> Record:
    """Places of configurations with joints at the ends of their ranges, from rest."""
    limb = case.limb
    goal = places(limb, corners(limb, case.rng(3, all_of_them), sizes.corners, all_of_them=all_of_them))
    found = judged(limb, poise.solve(limb.rest, goal).q, goal, limb.rest.q)
    return faults(case, found, at_ends="all" if all_of_them else "half")


def narrow(seed: int) -> Case:
    """A redundant arm with narrow ranges."""
    rest = made_up(seed, 7 + seed % 3, widths=(0.3, 1.5))
    return Case("made up", f"narrow {seed}", limb_of(rest, "tip"), None)


# --- hard targets ------------------------------------------------------------------------------------------------


def hard(case: Case, sizes: Sizes) -> Record:
    """Of many places those that the first 16 restarts miss, and how many of them more attempts reach."""
    limb = case.limb
    goal = places(limb, anywhere(limb, case.rng(4), sizes.hard))
    few = poise.solve(limb.rest, goal, solver=poise.LevenbergMarquardt(restarts=16))
    rows = np.flatnonzero(~np.asarray(few.reached))
    record = {**case.names, "asked": sizes.hard, "hard": len(rows)}
    if not len(rows):
        return record
    missed = poise.Place(limb.tip, goal.position[rows], goal.rotation[rows])
    for name, how in HARDER.items():
        found = judged(limb, poise.solve(limb.rest, missed, **how).q, missed, limb.rest.q)
        record[name] = int(found.reached.sum())
        record["which"] = rows[~found.reached][:KNOWN].tolist() if name == "as it comes" else record["which"]
    return record


HARDER: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "1,000 restarts": {"solver": poise.LevenbergMarquardt(restarts=1_000)},
    "10,000 restarts": {"solver": poise.LevenbergMarquardt(restarts=10_000)},
    "closest of 500": {"prefer": "closest", "seeds": 500},
}


def awkward(seed: int) -> Case:
    """An arm of six joints without any symmetry."""
    return Case("made up", f"six joints {seed}", limb_of(made_up(seed, 6, widths=(1.5, 6.0)), "tip"), None)


# --- out of reach ------------------------------------------------------------------------------------------------


def beyond(case: Case, sizes: Sizes) -> Record:
    """Points and places further out than they can be: a batch, single calls, and the best of many attempts."""
    limb, rng = case.limb, case.rng(5)
    goal = places(limb, anywhere(limb, rng, sizes.beyond))
    base = limb.rest.world_of(limb.first).positions
    out = base + (goal.position - base) * rng.uniform(1.1, 3.0, (sizes.beyond, 1))
    requested = {"points": poise.Position(limb.tip, out), "places": poise.Place(limb.tip, out, goal.rotation)}
    record = case.names | {"asked": sizes.beyond}
    for name, goals in requested.items():
        batch = poise.solve(limb.rest, goals)
        single = [poise.solve(limb.rest, goals.with_target(row)) for row in goals.rows()]
        best = poise.solve(limb.rest, goals, solver=poise.LevenbergMarquardt(restarts=2_000, iterations=60))
        ours, theirs = np.asarray(batch.reached), np.asarray(best.reached)
        far = ~(ours | theirs)
        worse, lost = cost(batch) - np.array([cost(one) for one in single]), (cost(batch) - cost(best))[far]
        record[name] = {
            "far": int(far.sum()), "missed": int((~ours & theirs).sum()),
            "than single [mm]": 1e3 * float(np.abs(worse).max()), "than best, mean [mm]": 1e3 * _mean(lost),
            "than best, most [mm]": 1e3 * float(lost.max(initial=0.0)),
        }  # fmt: skip
    return record


def cost(result: poise.Result) -> Floats:
    """What the engine makes least, as a length: distances, and angles in units of the rig's size."""
    plan, errors = result.problem.plan, result.errors
    parts = [
        errors[..., :1],
        2 * np.sin(errors[..., 1:] / 2) * plan.kernel_unit_in_world * plan.effectors[1:, 7] / plan.effectors[0, 7],
    ]
    return np.linalg.norm(np.concatenate(parts, axis=-1), axis=-1)


def _mean(lost: Floats) -> float:
    return float(np.maximum(lost, 0.0).mean()) if len(lost) else 0.0


# --- all of it ---------------------------------------------------------------------------------------------------


def wanted(part: str, everyone: Sequence[Case], sizes: Sizes) -> Iterator[tuple[str, Any]]:
    """The records of a part: a name for each, and how it is made."""
    limbs = [case for case in everyone if len(case.limb.columns) >= 6]
    arms = [case for case in everyone if (case.package, case.robot, case.limb.tip) in ARMS]
    if part == "robots":
        yield from ((_name(part, case, sizes.robots), partial(robot, case, sizes)) for case in everyone)
    elif part == "million":
        for case in arms:
            for first in range(0, sizes.million, BLOCK):
                count = min(BLOCK, sizes.million - first)
                yield _name(part, case, first, count), partial(block, case, first, count)
    elif part == "corners":
        for case in [*limbs, *map(narrow, NARROW)]:
            for whole in (False, True):
                yield _name(part, case, whole, sizes.corners), partial(corner, case, sizes, all_of_them=whole)
    elif part == "hard":
        yield from (
            (_name(part, case, sizes.hard), partial(hard, case, sizes)) for case in [*arms, *map(awkward, MADE_UP)]
        )
    else:
        yield from ((_name(part, case, sizes.beyond), partial(beyond, case, sizes)) for case in arms)


def _name(part: str, case: Case, *more: object) -> str:
    return "/".join(map(str, (part, case.package, case.robot, case.limb.tip, *more)))


def run(parts: Sequence[str], everyone: Sequence[Case], sizes: Sizes, file: Path) -> dict[str, list[Record]]:
    """All records of some parts, those that the file has already not again."""
    known = dict(json.loads(line) for line in file.read_text().splitlines()) if file.is_file() else {}
    out: dict[str, list[Record]] = {}
    for part in parts:
        began, todo = time.perf_counter(), list(wanted(part, everyone, sizes))
        for i, (name, make) in enumerate(todo, 1):
            if name not in known:
                known[name] = make()
                with file.open("a") as lines:
                    lines.write(json.dumps((name, known[name])) + "\n")
            bar = "#" * round(30 * i / len(todo))
            seconds = time.perf_counter() - began
            print(f"\r[{bar:30}] {part}: {i} of {len(todo)}, {seconds:.0f} s", end="", file=sys.stderr)
        print(file=sys.stderr)
        out[part] = [known[name] for name, _ in todo]
    return out


# --- tables ------------------------------------------------------------------------------------------------------


def share(records: Sequence[Record], what: str) -> float:
    """Percent of what was asked."""
    return 100 * sum(record[what] for record in records) / max(sum(record["asked"] for record in records), 1)


def reached(records: Sequence[Record]) -> str:
    """Percent that are reached, never rounded up to all."""
    return f"{100 - share(records, 'missed'):.6g}"


def of_robots(records: Sequence[Record]) -> list[harness.Row]:
    """A row for each robot."""
    by_robot: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_robot.setdefault((record["package"], record["robot"]), []).append(record)
    return [_of_robot(own) for own in by_robot.values()]


def _of_robot(own: Sequence[Record]) -> harness.Row:
    known = [record["Pinocchio"] for record in own if record["Pinocchio"] is not None]
    requested = sum(record["asked"] for record in own)
    return {
        "package": own[0]["package"], "robot": own[0]["robot"], "tips": len(own),
        "most joints": max(record["joints"] for record in own), "targets": requested,
        "reached [%]": reached(own), "whole turns [%]": share(own, "turned"),
        "other ways, faults": sum(sum(record["ways"].values()) for record in own),
        "worst [m]": max(record["worst [m]"] for record in own),
        "worst [rad]": max(record["worst [rad]"] for record in own),
        "us a target": 1e6 * sum(record["seconds"] for record in own) / requested,
        "Pinocchio": max(known, default="does not read it"),
    }  # fmt: skip


def of_arms(records: Sequence[Record]) -> list[harness.Row]:
    """A row for each arm of a million."""
    names = dict.fromkeys((r["robot"], r["tip"], r["joints"]) for r in records)
    return [
        {
            "arm": robot, "tip": tip, "joints": joints, "targets": sum(r["asked"] for r in own),
            "missed": sum(r["missed"] for r in own), "whole turns": sum(r["turned"] for r in own),
            "us a target": 1e6 * sum(r["seconds"] for r in own) / sum(r["asked"] for r in own),
            "missed numbers": ", ".join(str(r["first"] + i) for r in own for i in r["which"]) or "-",
        }
        for robot, tip, joints in names
        for own in [[r for r in records if (r["robot"], r["tip"]) == (robot, tip)]]
    ]  # fmt: skip


def of_corners(records: Sequence[Record]) -> list[harness.Row]:
    """A row for the robots and one for the narrow arms, with half and with all joints at ends."""
    rows = []
    for at_ends in ("half", "all"):
        for who, made in (("robots", False), ("narrow redundant arms", True)):
            own = [r for r in records if r["at_ends"] == at_ends and (r["package"] == "made up") == made]
            if own:
                worst = max(own, key=lambda r: r["missed"] / r["asked"])
                rows.append({
                    "limbs": f"{len(own)} of {who}", "joints at ends": at_ends, "targets": sum(r["asked"] for r in own),
                    "reached [%]": reached(own), "whole turns [%]": share(own, "turned"),
                    "worst limb [%]": reached([worst]),
                    "which": f"{worst['robot']}, {worst['tip']}" if worst["missed"] else "-",
                })  # fmt: skip
    return rows


def of_hard(records: Sequence[Record]) -> list[harness.Row]:
    """A row for each arm."""
    heads = ("package", "robot", "joints", "asked", "hard", *HARDER)
    return [{head: record.get(head, 0) for head in heads} for record in records]


def of_beyond(records: Sequence[Record]) -> list[harness.Row]:
    """Two rows for each arm."""
    return [
        {"arm": record["robot"], "of": name, "asked": record["asked"], **record[name]}
        for record in records
        for name in ("points", "places")
    ]


MEANING = (
    "Places by forward kinematics of random configurations inside the limits, asked for from rest, without a root: all "
    "joints from the base to the tip move. Reached: within 1e-6 m and rad by forward kinematics of the answer, inside "
    "the limits to 1e-9. A whole turn: a hinge could stand a whole turn nearer to where it started, inside its limits. "
    "Other ways: some targets from random starts as a batch, one by one, prepared, with prefer='closest' and 'all'; "
    "single and batch must have the same bits. Pinocchio: the largest difference between its forward kinematics and "
    "the targets. The best known of a target out of reach is that of 2,000 restarts. Asked: 100 % and 0 %."
)


def reported(found: dict[str, list[Record]]) -> str:
    """All tables and what they mean."""
    beyond_words = "Out of reach: how much worse a batch's best effort is than a single call's, and than the best known"
    tables = {
        "million": ("A million places of each of five arms. Asked: at most one missed.", of_arms),
        "corners": ("Configurations with joints at the ends of their ranges. Asked: 99.9 %.", of_corners),
        "hard": ("Places that the first 16 restarts miss: how many of them are reached by more.", of_hard),
        "beyond": (beyond_words, of_beyond),
    }
    notes = [
        f"{record['robot']}, {record['tip']}: {record['missed']} missed, such as {record['which']}; {record['ways']}"
        for record in found.get("robots", [])
        if record["missed"] or record["turned"] or record["ways"]
    ]
    notes.insert(0, MEANING)
    for part, (words, rows) in tables.items():
        if found.get(part):
            notes += [f"### {words}", harness.table(rows(found[part]))]
    return harness.report(
        "robot_targets_everywhere", "Robots that others made", of_robots(found.get("robots", [])), notes
    )


def stamp() -> str:
    """A number of the library's code, so that records of other code are not taken for its own."""
    folder = Path(poise.__file__).parent
    return f"{zlib.crc32(b''.join(path.read_bytes() for path in sorted(folder.rglob('*.py')))):08x}"


def main(arguments: Sequence[str] | None = None, sizes: Sizes = ALL) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--only", default="*", help="a glob of robots")
    parser.add_argument("--packages", type=Path, help="a folder that `pip install --no-deps --target` filled")
    parser.add_argument("--file", type=Path, help="where records are kept; by default in the benchmarks' cache")
    given = parser.parse_args(arguments)
    data = harness.data_folder()
    files = [*(of_data(data) if data else []), *of_packages(given.packages)]
    everyone = list(cases([file for file in files if fnmatch(file.name, given.only)]))
    if not everyone:
        return harness.exit_code("robot_targets_everywhere: skipped, no URDF is here: set POISE_DATA, or --packages")
    file = given.file or harness.cache_folder() / f"robot_targets_everywhere-{stamp()}.jsonl"
    found = run(given.parts, everyone, sizes, file)
    reported(found)
    return int(any(r["missed"] or r["turned"] or r["ways"] for r in found.get("robots", [])))


if __name__ == "__main__":
    sys.exit(main())

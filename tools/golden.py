"""Answers of every solver on ten rigs as hashes: a change of code that should change no answer shows here that it does.

    python tools/golden.py                       compare this Poise with golden/golden.json; 1 where it differs
    python tools/golden.py --against DIR         compare with the Poise of another checkout, run here and now
    python tools/golden.py --write               write golden/golden.json
    python tools/golden.py --accept PATTERN --why SENTENCE
                                                      take over what changed, and say why in golden/changes.md

An entry is rig/solver/question. It has hashes of q, of the status codes, of the iterations and of the words (messages,
solver, joints), how many targets were reached and the worst error, or the sentence of a refusal. Bits depend on the
processor and on NumPy: where the file was made elsewhere, only --against can tell.

Answers are made in a process of their own with kernels of its own, compiled with a fixed hash seed. Kernels of today
give the same bits with any seed; those of revisions whose kernels shared copies of functions may not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import golden_cases
import golden_rigs
from benchmark_harness import harness

FOLDER = Path(__file__).parent / "golden"
PATIENCE = 1800  # s for all answers of another checkout, kernels compiled
NEAR = 1e-4  # of the worst error: less is rounding of what is written with four digits
_SHOWN = 60

Entries = dict[str, dict[str, Any]]


class ElsewhereError(RuntimeError):
    """The file was made on another kind of machine."""


def machine() -> dict[str, str]:
    """What the bits of answers depend on."""
    from poise.kernels import levels  # noqa: PLC0415  (not needed for comparing files)

    found, level = harness.machine(), levels.find_level()
    lanes = os.environ.get("POISE_LANES", str(levels.LEVELS[level].lane_count))
    chosen = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if os.environ.get(name)}
    return {"cpu": found["cpu"], "level": level, "lanes": lanes, "numpy": found["numpy"], **chosen}


def made(pattern: str = "*") -> Entries:
    """The answers of the Poise that is imported here, for entries whose names go with a pattern."""
    entries: Entries = {}
    missing: set[str] = set()
    for name, case, solver, function in golden_cases.wanted(pattern):
        try:
            golden_rigs.rig(case.name)
        except FileNotFoundError as error:
            if case.name not in missing:
                print(f"no rig {case.name!r} here: the test data lack {error}", file=sys.stderr, flush=True)
            missing.add(case.name)
            continue
        entries[name] = golden_cases.answered(case, solver, function)
    return entries


def made_by(checkout: Path | None, pattern: str = "*") -> Entries:
    """The answers of the Poise of a checkout (None: the one that is imported here), in a process of its own."""
    # A checkout of before November 2026 may round otherwise with another order of sets of strings.
    kept = harness.cache_folder() / "golden"
    environment = {**os.environ, "PYTHONHASHSEED": "0", "NUMBA_CACHE_DIR": str(kept)}
    if checkout is not None:
        source = checkout.resolve() / "src"
        if not (source / "poise").is_dir():
            message = f"{checkout} is no checkout of Poise: it has no src/poise"
            raise FileNotFoundError(message)
        environment["PYTHONPATH"] = str(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.json"
        command = [sys.executable, __file__, "--only", pattern, "--dump", str(path)]
        subprocess.run(command, check=True, timeout=PATIENCE, env=environment)
        return read(path)["entries"]


def read(path: Path) -> dict[str, Any]:
    """A file of answers: the machine it was made on, and the entries."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, entries: Entries) -> None:
    """Write a file of answers, an entry on a line."""
    rows = [f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    text = f'{{"machine": {json.dumps(machine())},\n"entries": {{\n' + ",\n".join(rows) + "\n}}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def changes(before: Mapping[str, Any], now: Mapping[str, Any], pattern: str = "*") -> dict[str, str]:
    """What changed, by the names of entries: "q, iterations", "now refused: ...", "is gone", "is new"."""
    found: dict[str, str] = {}
    for name in sorted({*before, *now}, key=[*now, *(set(before) - set(now))].index):
        if not fnmatch(name, pattern) or before.get(name) == now.get(name):
            continue
        if name not in now or name not in before:
            found[name] = "is gone" if name in before else "is new"
            continue
        reported = _difference(before[name], now[name])
        if reported:
            found[name] = reported
    return found


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    for word in ("refused", "broken"):
        if word in old or word in new:
            return f"{word}: {old.get(word, 'it was answered')!r} -> {new.get(word, 'it is answered')!r}"
    parts = [key for key in ("q", "status", "iterations", "words") if old[key] != new[key]]
    if old["reached"] != new["reached"]:
        parts.append(f"reached {old['reached']} -> {new['reached']}")
    a, b = float(old["worst"]), float(new["worst"])
    if abs(a - b) > NEAR * max(abs(a), abs(b)) + 1e-12:
        parts.append(f"worst error {a:g} -> {b:g}")
    return ", ".join(parts)


def tell(found: Mapping[str, str], count: int, against: str) -> int:
    """Print what changed, and a sum; 1 where something did."""
    if not found:
        print(f"all {count} answers are those of {against}")
        return 0
    for name, reported in list(found.items())[:_SHOWN]:
        print(f"{name:44s} {reported}")
    if len(found) > _SHOWN:
        print(f"... and {len(found) - _SHOWN} more")
    print(f"{len(found)} of {count} answers differ from {against}: {_sum(found)}")
    return 1


def _sum(found: Mapping[str, str]) -> str:
    """How often each thing changed."""
    counts = Counter(part.split(" ")[0].rstrip(":") for reported in found.values() for part in reported.split(", ")[:4])
    known = ("q", "status", "iterations", "words", "reached", "refused", "broken", "is")
    return ", ".join(f"{word} {counts[word]}" for word in known if counts[word])


def elsewhere(stored: Mapping[str, str]) -> str:
    """In what this machine is another than that of the file; "" where it is the same."""
    here = machine()
    parts = [
        f"{key} {stored.get(key)!r} there, {here.get(key)!r} here"
        for key in sorted({*here, *stored})
        if here.get(key) != stored.get(key)
    ]
    return "; ".join(parts)


def compare(pattern: str) -> int:
    """Compare with the file."""
    stored = read(FOLDER / "golden.json")
    other = elsewhere(stored["machine"])
    if other:
        message = f"golden.json was made on another kind of machine ({other}): compare with --against a checkout"
        raise ElsewhereError(message)
    known = {name: entry for name, entry in stored["entries"].items() if _is_available(name)}
    now = made_by(None, pattern)
    found = changes(known, now, pattern)
    return tell(found, len(now), "golden.json")


def _is_available(name: str) -> bool:
    """Whether the rig of an entry is here; one of the shared test data may not be."""
    case = name.partition("/")[0]
    try:
        return case not in golden_rigs.RIGS or bool(golden_rigs.rig(case))
    except FileNotFoundError:
        return False


def accept(pattern: str, why: str) -> int:
    """Take over the entries that changed and go with a pattern, and say why."""
    stored = read(FOLDER / "golden.json")
    other = elsewhere(stored["machine"])
    if other:
        message = f"golden.json was made on another kind of machine ({other}); changes are accepted on that one"
        raise ElsewhereError(message)
    entries = stored["entries"]
    now = made_by(None, pattern)
    found = changes(entries, now, pattern)
    if not found:
        print(f"nothing changed among {len(now)} entries like {pattern!r}")
        return 0
    entries.update({name: now[name] for name in found if name in now})
    write(FOLDER / "golden.json", {name: entry for name, entry in entries.items() if found.get(name) != "is gone"})
    line = f"- `{pattern}`, {len(found)} entries ({_sum(found)}): {why}\n"
    with (FOLDER / "changes.md").open("a", encoding="utf-8") as file:
        file.write(line)
    print(line, end="")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="entries such as 'arm/*' or '*/ccd/new_pose'")
    parser.add_argument("--write", action="store_true", help="write the file")
    parser.add_argument("--against", type=Path, metavar="DIR", help="compare with another checkout")
    parser.add_argument("--accept", metavar="PATTERN", help="take over what changed; needs --why")
    parser.add_argument("--why", default="", help="the reason, for changes.md")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="write the answers to another file")
    requested = parser.parse_args(arguments)
    if requested.accept and not requested.why.strip():
        parser.error("--accept needs --why: say why these answers may change")
    try:
        if requested.dump:
            write(requested.dump, made(requested.only))
            return 0
        if requested.write:
            write(FOLDER / "golden.json", made_by(None, requested.only))
            return 0
        if requested.accept:
            return accept(requested.accept, requested.why.strip())
        if requested.against:
            made_by(requested.against, requested.only)  # an older one may answer otherwise where it has just compiled
            now = made_by(None, requested.only)
            found = changes(made_by(requested.against, requested.only), now, requested.only)
            return tell(found, len(now), str(requested.against))
        return compare(requested.only)
    except (ElsewhereError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

"""The types by which tsc checks the page: what Poise sends has them, and what the page may ask for is known.

Needs node and the npm package typescript: POISE_THREE names a folder whose node_modules has it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.program_widgets import PointCloud
from poise.viewer.offline_page import WEB_FOLDER
from poise.viewer.session.commands import COMMANDS
from tests.viewer.action_cases import GOOD, everything
from tests.viewer.watcher import watched

ROOT = Path(__file__).parent.parent.parent
TYPES = (WEB_FOLDER / "js" / "protocol" / "messages.ts").read_text(encoding="utf-8")
TSC = Path(os.environ.get("POISE_THREE", "")) / "node_modules" / ".bin" / "tsc"

#: Actions after which the state has something of everything.
ACTED = [
    *(("limit", args) for args in GOOD["limit"]),
    ("views", {"count": 2}),
    ("target", {"chain": "left_arm", "position": [0.4, 1.2, 0.4], "serial": 1}),
    ("select", {"joint": "LeftArm"}),
    ("clip", {"name": "walk"}),
    ("turn", {"joint": "Spine", "rotation": [0.9, 0.1, 0, 0.2], "key": True, "time": 0.5}),
    ("terrain", {"words": "slope:10"}),
    ("plant", {"on": True}),
    ("upload", {"id": 1, "main": "nobody.bvh", "files": 1, "bytes": 0}),
    ("no such action", {}),
    ("save", {"format": "toml"}),
]


def collect_messages():
    """What a page is sent on the way through all that, one of each shape."""
    document = everything().replace(marks=(PointCloud("dots", ((0.0, 1.0, 0.0),), "#ff0000", 4.0),))
    with watched(document) as page:
        page.until(lambda page: page.newest("answer"))
        page.send("race", chain="left_arm")
        page.until(lambda page: ((page.newest("answer") or {}).get("race") or {}).get("rows"))
        page.send("run", value="live")
        for do, args in ACTED:
            page.send(do, **args)
        page.until(lambda page: page.newest("file") and page.state["contacts"] and page.newest("upload"))
        return page.messages_shown


def find_faults(folder, messages):
    """What tsc finds where each message is assigned to its type: a missing, unknown or mistyped property."""
    lines = ['import type { State, ToPage } from "poise/protocol/messages.ts";']
    lines += [f"export const message{i}: ToPage = {json.dumps(message)};" for i, message in enumerate(messages)]
    first_state = next((message for message in messages if message["kind"] == "state"), None)
    if first_state is not None:  # it has everything, later ones what has changed
        lines.append(f"export const state: State = {json.dumps(first_state)};")
    (folder / "messages.ts").write_text("\n".join(lines))
    config = {"extends": str(ROOT / "jsconfig.json"), "files": ["messages.ts"], "include": []}
    (folder / "jsconfig.json").write_text(json.dumps(config))
    command = [str(TSC), "--project", str(folder / "jsconfig.json")]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(
    shutil.which("node") is None or not TSC.is_file(),
    reason="node is not installed, or POISE_THREE names no folder with typescript",
)
def test_messages_have_their_types(tmp_path):
    messages = collect_messages()
    declared = set(re.findall(r'^  kind\??: "(\w+)";', TYPES, re.MULTILINE))
    assert {message["kind"] for message in messages} == declared
    assert find_faults(tmp_path, messages) == ""
    (state, *_) = (message for message in messages if message["kind"] == "state")
    assert "TS2353" in find_faults(tmp_path, [{**state, "more": 1}])  # an unknown property
    assert "TS2322" in find_faults(tmp_path, [{**state, "views": None}])


def test_actions_of_the_page_are_known():
    (names,) = re.findall(r"^export type ActionName =\n(.*?);", TYPES, re.MULTILINE | re.DOTALL)
    known = {*ACTIONS, *COMMANDS, "seen"}  # the server takes acknowledgements of frames by itself
    assert set(re.findall(r'"(\w+)"', names)) <= known

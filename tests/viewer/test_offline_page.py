"""One file with everything in it: what it holds, what it may do, and that a browser plays it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.errors import InputError
from poise.io import samples
from poise.viewer.offline_page import WEB_FOLDER, build_offline_page, select_frames
from poise.viewer.rig_message import build_rig_message, pack_frame_rows

PLAYER = """
import { Scene } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
const text = (id) => document.getElementById(id).textContent;
const data = JSON.parse(text("poise-data"));
const gltf = await new GLTFLoader().parseAsync((await unpackPart("poise-asset")).buffer, "");
let meshes = 0;
gltf.scene.traverse((each) => { meshes += each.isMesh ? 1 : 0; });
const outside = await fetch("http://127.0.0.1:1/").then(() => "open", () => "refused");
const frames = new Float32Array((await unpackPart("poise-frames")).buffer);
window.result = { title: data.title, said: data.said, meshes, outside, first: [...frames.slice(0, 7)],
    count: frames.length, colour: getComputedStyle(document.body).backgroundColor, kind: new Scene().type };
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """A player that only says what it was given, with the modules of three.js that are shipped."""
    web = tmp_path_factory.mktemp("web")
    (web / "third_party").symlink_to(WEB_FOLDER / "third_party")
    (web / "player.js").write_text(PLAYER)
    (web / "style.css").write_text("body { background: rgb(1, 2, 3); }")
    packages = json.loads((WEB_FOLDER / "third_party" / "VERSIONS.json").read_text())["packages"]
    names = {name: f"./third_party/{path}" for each in packages for name, path in each["imports"].items()}
    imports = json.dumps({"imports": names | {"poise/player.js": "./player.js"}})
    (web / "index.html").write_text(f'<script type="importmap">{imports}</script>')
    (web / "player.html").write_text(
        """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Poise</title>
        <link rel="stylesheet" href="./style.css"><script type="importmap"></script>
        <script type="application/json" id="poise-data">{}</script>
        <script type="module" src="./player.js"></script></head><body></body></html>"""
    )
    return web / "player.html"


@pytest.fixture(scope="module")
def walk() -> tuple[poise.Rig, poise.Clip]:
    rig = poise.load(samples.path("humanoid.glb"))
    return rig, rig.clips[0]


def made(page, walk, title="A walk", **options):
    rig, clip = walk
    return build_offline_page(
        build_rig_message(rig), pack_frame_rows(clip.poses)[:, None], clip.times, title, page=page, **options
    ).decode()


def element(text, name):
    return re.search(rf'<script type="[^"]*" id="poise-{name}">(.*?)</script>', text, re.DOTALL)[1]


def unpack(text, name):
    return gzip.decompress(base64.b64decode(element(text, name)))


def test_the_numbers_are_the_clips(page, walk):
    rig, clip = walk
    text = made(page, walk, extras={"speed": 2}, terrain=b"glTF")
    data = json.loads(element(text, "data"))
    shape = (data["frames"], data["characters"], data["joints"], data["width"])
    assert shape == (len(clip), 1, len(rig.skeleton), 7)
    frames = np.frombuffer(unpack(text, "frames"), "<f4").reshape(shape)
    np.testing.assert_allclose(frames[:, 0, :, :3], clip.poses.world.positions, atol=1e-6)
    np.testing.assert_allclose(data["times"], clip.times, atol=1e-6)
    assert data["speed"] == 2
    assert unpack(text, "asset") == build_rig_message(rig).asset
    assert unpack(text, "terrain") == b"glTF"


def test_nothing_in_it_leads_outside(page, walk):
    text = made(page, walk)
    head = re.sub(r'<script type="application/.*?</script>', "", text, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!data:)', head)
    modules = json.loads(unpack(text, "modules"))
    assert "three" in modules
    assert "uplot" not in modules  # what the player does not import is left out
    assert text.index("Content-Security-Policy") < text.index("<script")


def test_words_of_others_stay_words(page, walk):
    title = '</script><script>alert(1)</script>&"'
    text = made(page, walk, title)
    assert "<script>alert" not in text
    assert json.loads(element(text, "data"))["title"] == title


@pytest.mark.parametrize(("fps", "kept"), [(24, 24), (30, 30), (60, 60), (100, 60), (120, 60), (1000, 60)])
def test_at_most_sixty_frames_a_second_are_kept(fps, kept):
    times = np.arange(10 * fps + 1) / fps
    mask = select_frames(times)
    assert mask[0]
    assert mask[-1]
    assert abs(mask.sum() - 10 * kept) <= 1
    assert np.diff(times[mask]).max() <= 1 / min(fps, 60) + 1 / fps + 1e-9


def test_the_last_frame_stays():
    assert select_frames(np.array([0.0, 0.1, 0.101])).tolist() == [True, True, True]
    assert select_frames(np.array([0.0])).tolist() == [True]


def test_a_long_clip_is_of_sensible_size(page):
    skeleton = poise.Skeleton.build([f"j{i}" for i in range(70)], [i - 1 for i in range(70)], [poise.Kind.BALL] * 70)
    model = build_rig_message(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)))
    frames = np.random.default_rng(0).random((4500, 1, 70, 7), dtype=np.float32)
    text = build_offline_page(model, frames, np.arange(4500) / 60.0, "long", page=page)
    assert 4500 * 70 * 28 < len(text) < 17_000_000


@pytest.mark.parametrize(
    ("frames", "times"),
    [
        (np.where(np.arange(7) == 6, np.inf, np.zeros((2, 1, 22, 7))), [0, 1]),
        (np.zeros((2, 1, 3, 7)), [0, 1]),
        (np.zeros((2, 22, 7)), [0, 1]),
        (np.zeros((0, 1, 22, 7)), []),
        (np.zeros((2, 1, 22, 7)), [1, 0]),
        (np.full((2, 1, 22, 7), np.nan), [0, 1]),
    ],
)
def test_frames_that_do_not_fit_are_refused(page, walk, frames, times):
    with pytest.raises(InputError, match="frames"):
        build_offline_page(build_rig_message(walk[0]), frames, times, "", page=page)


@pytest.mark.long
def test_a_browser_plays_it_and_nothing_gets_out(chromium, page, walk, tmp_path):
    file = tmp_path / "walk.html"
    file.write_text(made(page, walk, "A <walk>", extras={"said": "</script>"}), encoding="utf-8")
    with chromium.new_page() as tab:
        requested: list[str] = []
        tab.on("request", lambda request: requested.append(request.url))
        tab.goto(file.as_uri())
        for _ in range(300):  # the policy of the page forbids what wait_for_function evaluates in it
            result = tab.evaluate("window.result")
            if result:
                break
            tab.wait_for_timeout(100)
    assert result["title"] == "A <walk>"
    assert result["said"] == "</script>"
    assert result["meshes"] == 1
    assert result["outside"] == "refused"
    assert result["colour"] == "rgb(1, 2, 3)"
    assert result["kind"] == "Scene"
    rows = pack_frame_rows(walk[1].poses)
    assert result["count"] == rows.size
    np.testing.assert_allclose(result["first"], rows[0, 0], atol=1e-6)
    assert {url.split(":")[0] for url in requested} <= {"file", "data", "blob"}

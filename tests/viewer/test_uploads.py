"""Files that the page sends: kept in a private folder under plain names, opened, refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.errors import FileError, InputError
from poise.io import samples
from poise.viewer.session.uploads import MAX_UPLOAD_BYTES, Uploads
from tests.viewer.action_cases import everything, rig
from tests.viewer.watcher import watched

BVH, URDF = samples.path("humanoid.bvh"), samples.path("arm.urdf")

ELSEWHERE = [
    "../a.bvh", "/etc/a.bvh", "a/../../b.bvh", "a//b.bvh", "", ".", "..", "a/.", "C:/a.bvh", "C:a.bvh", "a\\b.bvh",
    "..\\a.bvh", "\\\\host\\share\\a.bvh", "nul.bvh", "a/COM1", "LPT9.bvh", "con", "a\0.bvh", "a\n.bvh", "a.bvh.",
    "a.bvh ", "a?.bvh", "x" * 201 + ".bvh", "/".join("a" * 30) + ".bvh", "\ud800.bvh", "a:stream.bvh",
]  # fmt: skip


@pytest.fixture
def uploads(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Uploads()
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []


def sent(uploads, main, files):
    """A whole delivery; the path of its main file."""
    uploads.begin({"main": main, "files": len(files), "bytes": sum(map(len, files.values()))})
    for name, data in files.items():
        uploads.begin_file({"path": name, "size": len(data)})
        for at in range(0, len(data), 1000):
            uploads.write_chunk(data[at : at + 1000])
    return uploads.finish()


class TestFolder:
    def test_what_was_sent_lies_where_it_belongs(self, uploads, tmp_path):
        files = {"robot/arm.urdf": URDF.read_bytes(), "robot/meshes/a.stl": b"x" * 2500, "robot/empty": b""}
        main = sent(uploads, "robot/arm.urdf", files)
        assert poise.load(main).skeleton.names == poise.load(URDF).skeleton.names
        folder = main.parent.parent
        assert tmp_path in folder.parents
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert kept == files

    @pytest.mark.parametrize("name", ELSEWHERE)
    def test_no_name_leads_out_of_it(self, uploads, tmp_path, name):
        with pytest.raises(InputError, match="not a valid file name"):
            uploads.begin({"main": name, "files": 1, "bytes": 1})
        uploads.begin({"main": "a.bvh", "files": 2, "bytes": 9})
        with pytest.raises(InputError):
            uploads.begin_file({"path": name, "size": 1})
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

    def test_too_much_is_refused_before_it_is_sent(self, uploads):
        for files, size in ((1, MAX_UPLOAD_BYTES + 1), (5001, 10)):
            with pytest.raises(InputError, match="at most 5,000 files of 256 MB"):
                uploads.begin({"main": "a.bvh", "files": files, "bytes": size})

    def test_more_than_was_announced_is_refused(self, uploads):
        uploads.begin({"main": "a.bvh", "files": 1, "bytes": 10})
        with pytest.raises(InputError, match="more is sent"):
            uploads.write_chunk(b"x")
        with pytest.raises(InputError, match="more is sent"):
            uploads.begin_file({"path": "a.bvh", "size": 11})
        uploads.begin_file({"path": "a.bvh", "size": 10})
        with pytest.raises(InputError, match="more is sent"):
            uploads.write_chunk(b"x" * 11)
        with pytest.raises(InputError, match="incomplete"):
            uploads.finish()
        uploads.write_chunk(b"x" * 10)
        with pytest.raises(InputError, match="more is sent"):
            uploads.begin_file({"path": "b.bvh", "size": 0})

    def test_two_files_of_one_name_and_a_file_that_is_a_folder_are_refused(self, uploads):
        uploads.begin({"main": "a.bvh", "files": 5, "bytes": 0})
        uploads.begin_file({"path": "a.bvh", "size": 0})
        with pytest.raises(InputError, match="two files"):
            uploads.begin_file({"path": "a.bvh", "size": 0})
        with pytest.raises(InputError, match="cannot be stored"):
            uploads.begin_file({"path": "a.bvh/b", "size": 0})

    def test_what_has_no_reader_is_refused_with_the_way_out(self, uploads):
        with pytest.raises(FileError, match="Blender"):
            uploads.begin({"main": "a.blend", "files": 1, "bytes": 1})

    def test_what_is_cancelled_is_gone(self, uploads, tmp_path):
        uploads.begin({"main": "a.bvh", "files": 1, "bytes": 10})
        uploads.begin_file({"path": "a.bvh", "size": 10})
        uploads.cancel()
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        with pytest.raises(InputError, match="no file was announced"):
            uploads.write_chunk(b"late")
        uploads.begin({"main": "a.bvh", "files": 1, "bytes": 10})
        uploads.refuse()
        uploads.write_chunk(b"late")  # what was under way when it was refused says nothing


def deliver(page, main, files):
    """Send files as the page does; what the server says to the announcement."""
    page.send("upload", id=1, main=main, files=len(files), bytes=sum(map(len, files.values())))
    answer = page.until(lambda page: page.newest("upload"))
    if not answer["go"]:
        return answer
    for name, data in files.items():
        page.send("upload_file", path=name, size=len(data))
        for at in range(0, len(data), 60_000):
            page.studio.post_data(data[at : at + 60_000])
    page.send("upload_done")
    return answer


class TestOpening:
    def test_a_file_is_opened_and_undone(self):
        with watched(everything()) as page:
            page.until(lambda page: page.state["undo"] is None and page.frame)
            assert deliver(page, "walk.bvh", {"walk.bvh": BVH.read_bytes()})["go"]
            page.until(lambda page: page.state["name"] == "walk.bvh")
            assert page.state["opened"] == "walk.bvh"
            assert page.state["undo"] == "open"
            wanted = poise.load(BVH)
            assert page.studio.document.rig.skeleton.names == wanted.skeleton.names  # its sidecar was not sent
            page.until(lambda page: page.frame.rows.shape[2] == len(wanted.skeleton))
            page.send("clip", name=None)  # it plays at once
            page.until(lambda page: np.allclose(page.frame.rows[0, 0, :, :3], wanted.pose.world.positions, atol=1e-3))
            page.send("scene", name="ccd")
            page.until(lambda page: page.state["scene"] == "ccd")
            page.send("scene", name=None)
            page.until(lambda page: page.state["name"] == "walk.bvh")
            for _ in range(4):
                page.send("undo")
            page.until(lambda page: page.state["undo"] is None)
            assert page.studio.document.rig is rig()
            assert not page.errors

    @pytest.mark.parametrize(
        ("name", "data", "words"),
        [
            ("broken.glb", b"glTF" + bytes(40), "broken.glb"),
            ("broken.urdf", b"<robot name='a'><link", "broken.urdf"),
            ("empty.bvh", b"", "empty.bvh: the file is empty"),
            ("a/b/broken.bvh", b"HIERARCHY\nROOT", "a/b/broken.bvh"),
        ],
    )
    def test_a_bad_file_is_one_sentence_and_what_was_shown_stays(self, name, data, words, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with watched(everything()) as page:
            before = page.studio.document
            deliver(page, name, {name: data})
            page.until(lambda page: page.errors)
            (sentence,) = page.errors
            assert sentence.startswith(words)
            assert str(tmp_path) not in sentence
            assert page.studio.document is before
            assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
        assert list(tmp_path.iterdir()) == []

    def test_what_is_refused_stops_the_page(self):
        with watched(everything()) as page:
            page.until(lambda page: page.state["chains"])
            assert not deliver(page, "a.blend", {"a.blend": b"x" * 100})["go"]
            page.until(lambda page: "Blender" in "".join(page.errors))
            page.send("upload", id=2, main="a.bvh", files=2, bytes=100)
            page.send("upload_file", path="../b.bvh", size=3)
            page.until(lambda page: page.newest("upload") == {"kind": "upload", "id": None, "go": False})
            page.studio.post_data(b"abc")
            page.send("select", joint="LeftHand")
            page.until(lambda page: page.newest("answer") and page.newest("answer")["selected"])
            assert not [text for text in page.errors if "announced" in text]  # what is late says nothing

    def test_meshes_that_are_missing_are_reported_without_the_folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
        mesh = '<visual><geometry><mesh filename="meshes/a.stl"/></geometry></visual>'
        limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        text = f'<robot name="r"><link name="a">{mesh}</link><link name="b"/>{joint}{limit}</robot>'
        with watched(everything()) as page:
            deliver(page, "r/robot.urdf", {"r/robot.urdf": text.encode()})
            page.until(lambda page: [message for message in page.all("message") if "a.stl" in message["text"]])
            assert not [message for message in page.all("message") if str(tmp_path) in message["text"]]

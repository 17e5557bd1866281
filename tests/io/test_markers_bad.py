"""Marker files that cannot be meant, or that make libraries hang: one sentence with the file, the place, the reason."""

from __future__ import annotations

import struct
import warnings

import numpy as np
import pytest

import poise
from tests.io.c3d_samples import DEC, INTEL, MIPS, c3d, cloud, parameter
from tests.io.file_errors import refused
from tests.io.test_markers import HEAD, ROWS
from tests.timeouts import no_hang

WHOLE = c3d(cloud())
FIRST_RECORD = 512 + 4  # the group POINT: length, number, 5 letters, the step to the next


def patched(at, new, data=WHOLE):
    return data[:at] + new + data[at + len(new) :]


def word(at, value, data=WHOLE):
    return patched(at, struct.pack("<H", value), data)


def further(make):
    return c3d(cloud(), more=[make])


BAD_C3D = {
    "empty": (b"", "the file is empty"),
    "one byte": (b"\x02", "not a C3D file"),
    "zeros": (bytes(2048), "not a C3D file"),
    "a BVH file": (b"HIERARCHY\nROOT", "this looks like a BVH file"),
    "a zip archive": (b"PK\x03\x04" + bytes(600), "this looks like a zip archive"),
    "cut in the header": (WHOLE[:300], "is cut off: the header has 512 bytes and the file 300"),
    "cut behind the header": (WHOLE[:512], "header: its parameters begin in block 2, which the file does not have"),
    "cut in the points": (WHOLE[:-512], "header: says 5 frames of 48 bytes from block 3 on; the file has 0"),
    "cut in a parameter": (WHOLE[:560], "is cut off|which the section cannot hold|says 5 frames"),
    "parameters in the header": (patched(0, b"\x01"), "its parameters begin in block 1"),
    "parameters nowhere": (patched(0, b"\xff"), "its parameters begin in block 255"),
    "parameters in block zero": (patched(0, b"\x00"), "its parameters begin in block 0"),
    "an unknown processor": (patched(512 + 3, b"\x07"), "the processor must be 84 (Intel), 85 (DEC) or 86 (MIPS)"),
    "a record that leads to itself": (
        patched(FIRST_RECORD + 7, b"\x01\0"), "parameter 1 ('POINT'): leads back to itself",
    ),
    "too many points": (word(2, 65_535), "says 65,535 points and the parameters 3"),
    "points of the header alone": (word(2, 4), "POINT:USED: the header says 4 points and the parameters 3"),
    "no points": (c3d(np.zeros((2, 0, 3))), "it holds no points"),
    "analog channels only": (c3d(np.zeros((2, 0, 3)), analog=4), "it holds no points, only analog channels"),
    "too many frames": (word(8, 60_000), "says 60,000 frames of 48 bytes from block 3 on; the file has 512"),
    "frames beyond 32 bits": (
        c3d(cloud(), last=65_535, more=[lambda n: parameter(n, 1, "FRAMES", 4, [], n.floats([3e38]))]),
        "says 300,000,000,",
    ),
    "a trial of four thousand million frames": (
        c3d(cloud(), last=65_535, more=[
            lambda n: parameter(n, 2, "ACTUAL_START_FIELD", 2, [2], n.words([1, 0]))
            + parameter(n, 2, "ACTUAL_END_FIELD", 2, [2], n.words([65_535, 65_535]))
        ]),
        "says 4,294,967,295 frames of 48 bytes",
    ),
    "too many analog samples": (word(4, 65_535), "says 5 frames of 262,188 bytes"),
    "points in the header": (word(16, 1), "from block 1 on; the file has 0 bytes there"),
    "points nowhere": (word(16, 60_000), "from block 60000 on; the file has 0 bytes there"),
    "a parameter of a thousand million letters": (
        further(lambda n: parameter(n, 1, "LONG", -1, [255, 255, 255, 255], b"x")),
        "('LONG'): says 4,228,250,625 values, which the section cannot hold",
    ),
    "a parameter of 255 dimensions": (
        further(lambda n: parameter(n, 1, "DEEP", 4, [2] * 255, b"x")), "('DEEP'): says 57,896,",
    ),
    "an unknown kind": (further(lambda n: parameter(n, 1, "ODD", 7, [], b"x")), "values of the unknown kind 7"),
    "no scale": (c3d(cloud(), scale=-0.0), "POINT:SCALE: a scale of -0 cannot be used"),
    "a scale that is NaN": (c3d(cloud(), scale=-np.nan), "POINT:SCALE: a scale of nan cannot be used"),
    "a scale that is infinite": (c3d(cloud(), scale=-np.inf), "POINT:SCALE: a scale of -inf cannot be used"),
    "a point that is infinite": (patched(1024, np.float32(np.inf).tobytes()), "frame 1: point 1 is beyond 1e+100"),
}  # fmt: skip
BAD_TRC = {
    "empty": ("", "the file is empty"),
    "no TRC": ("hello\n", "not a TRC file: no PathFileType"),
    "a BVH file": ("HIERARCHY\n", "this looks like a BVH file"),
    "cut in the header": (HEAD[:60], "its header is cut off"),
    "cut before the names": (HEAD[: HEAD.index("Frame#")], "expected the line 'Frame# Time NAME ...'"),
    "no names": (HEAD.replace("\tA\t\t\tB\t\t", ""), "line 4: expected the line 'Frame# Time NAME ...'"),
    "cut in a row": (HEAD + ROWS[:-2], "line 8: this row has 7 fields; 2 markers need 8"),
    "a row that is longer": (HEAD + ROWS.replace("5\t6\n", "5\t6\t7\n", 1), "line 6: this row has 9 fields"),
    "markers that nobody names": (HEAD.replace("\t3\t2\tmm", "\t3\t99999999999\tmm"), "says '99999999999' markers"),
    "no number of markers": (HEAD.replace("\t3\t2\tmm", "\t3\tx\tmm"), "the number of markers: 'x' is not a number"),
    "frames that are none": (HEAD.replace("\t3\t2\tmm", "\tnan\t2\tmm"), "the number of frames: 'nan' is not a number"),
    "no rate": (HEAD.replace("60.00\t60.00\t3", "0\t60.00\t3"), "line 3: a data rate of 0 frames per second cannot"),
    "a rate that is NaN": (HEAD.replace("60.00\t60.00\t3", "nan\t60.00\t3"), "line 3: the data rate: 'nan' is"),
    "a word": (HEAD + ROWS.replace("\t4\t", "\tfour\t", 1), "line 6: a coordinate: 'four' is not a number"),
    "infinity": (HEAD + ROWS.replace("\t4\t", "\tinf\t", 1), "line 6: a coordinate: 'inf' is not a number"),
    "too large": (HEAD + ROWS.replace("\t4\t", "\t1e300\t", 1), "line 6: a coordinate: '1e300' is too large"),
    "an underscore": (HEAD + ROWS.replace("\t4\t", "\t4_0\t", 1), "line 6: a coordinate: '4_0' is not a number"),
    "digits of Arabic": (HEAD + ROWS.replace("\t4\t", "\t٤\t", 1), "line 6: a coordinate: '٤' is not a number"),
    "no time": (HEAD + ROWS.replace("1\t0.0\t", "1\t\t", 1), "line 6: this row has no frame number or no time"),
    "a long name": (HEAD.replace("\tA\t", f"\t{'A' * 5000}\t"), "a name of more than 1,000 letters"),
    "too many names": (
        HEAD.replace("\t2\tmm", "\t20000\tmm").replace("\tA\t\t\tB\t\t", "".join(f"\tM{i}\t\t" for i in range(20_000))),
        "more than 10,000 markers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_C3D)
def test_c3d(tmp_path, name):
    data, sentence = BAD_C3D[name]
    path = tmp_path / "bad.c3d"
    path.write_bytes(data)
    message = refused(poise.load_markers, path)
    assert any(one in message for one in sentence.split("|")), message


@pytest.mark.parametrize("name", BAD_TRC)
def test_trc(tmp_path, name):
    text, sentence = BAD_TRC[name]
    path = tmp_path / "bad.trc"
    path.write_text(text)
    assert sentence in (message := refused(poise.load_markers, path)), message


@pytest.mark.parametrize("suffix", [".c3d", ".trc"])
def test_what_is_no_file(tmp_path, suffix):
    assert "No such file" in refused(poise.load_markers, tmp_path / f"missing{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    refused(poise.load_markers, tmp_path / f"folder{suffix}")


@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
@pytest.mark.long
def test_every_beginning_and_every_changed_byte_is_read_or_refused(tmp_path, processor):
    """Lengths and steps that lie are among them: what reads them comes to an end."""
    whole, path = c3d(cloud(), processor=processor), tmp_path / "changed.c3d"
    rng = np.random.default_rng(processor)
    cut = [whole[:length] for length in range(1, len(whole), 37)]
    changed = [patched(at, bytes([byte]), whole) for at in range(1024) for byte in rng.integers(256, size=2)]
    outcomes = {True: 0, False: 0}
    with no_hang(), warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        for data in (*cut, *changed):
            path.write_bytes(data)
            try:
                markers = poise.load_markers(path)
            except poise.FileError as error:
                outcomes[False] += str(error).startswith(str(path))
            else:
                outcomes[True] += not np.isinf(markers.positions).any()
    assert sum(outcomes.values()) == len(cut) + len(changed)
    assert min(outcomes.values()) > 50

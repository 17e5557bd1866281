"""ASF and AMC files that cannot be meant: one sentence that names the file, the line and the reason."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import poise
from tests.io.asf_samples import ASF, VALUES, amc
from tests.io.file_errors import refused
from tests.timeouts import no_hang


def changed(old, new, text=ASF):
    assert old in text
    return text.replace(old, new, 1)


CHAIN = "".join(
    f"begin\nname b{i}\ndirection 0 1 0\nlength 1\naxis 0 0 0 XYZ\ndof rx ry rz\nend\n" for i in range(3000)
)
LINKS = "root b0\n" + "".join(f"b{i} b{i + 1}\n" for i in range(2999))
SKELETONS = {
    "empty": ("", "the file is empty"),
    "no keyword": ("hello there\n", "line 1: not an ASF file: it begins with 'hello'"),
    "a BVH file": ("HIERARCHY\nROOT Hips\n{\n", "line 1: not an ASF file: it begins with 'HIERARCHY'"),
    "no bones": (":version 1.10\n:hierarchy\nbegin\nend\n", "it has no :bonedata"),
    "no tree": (ASF[: ASF.index(":hierarchy")], "it has no :hierarchy"),
    "two trees": (ASF + ":hierarchy\n", "a second :hierarchy"),
    "cut in a bone": (ASF[: ASF.index("    dof rx rz")] + "\n:hierarchy\nroot hip\n", "has no 'end'"),
    "no begin": (changed("  begin\n    id 1", "    id 1"), "expected 'begin' in :bonedata, not 'id'"),
    "no end": (changed("  end\n", "\n"), "expected 'end' before the next 'begin'"),
    "no name": (changed("    name shin\n", ""), "line 34: this bone has no name"),
    "no length": (changed("    length 3\n", ""), "line 34: this bone has no length"),
    "two lengths": (changed("    length 3\n", "    length 3\n    length 4\n"), "line 39: a second 'length' of"),
    "a name of two words": (changed("name shin", "name left shin"), "must be one word, not 'left shin'"),
    "a long name": (changed("name shin", "name " + "s" * 5000), "must be one word, not 'sssss"),
    "a bone twice": (changed("name shin", "name Thigh"), "line 34: a second bone 'Thigh'"),
    "a bone called root": (changed("name shin", "name root"), "a second bone 'root'"),
    "a length that is none": (changed("length 3", "length long"), "'shin', length: 'long' is not a number"),
    "NaN": (changed("direction 0 0 1", "direction 0 nan 1"), "'foot', direction: 'nan' is not a number"),
    "infinity": (changed("direction 0 0 1", "direction 0 inf 1"), "'foot', direction: 'inf' is not a number"),
    "too large": (changed("length 3", "length 1e200"), "'1e200' is too large"),
    "a huge direction": (changed("direction 0 0 1", "direction 0 0 1e90"), "a direction has the length 1, not 1e+90"),
    "an underscore": (changed("length 3", "length 1_0"), "'1_0' is not a number"),
    "two numbers of a direction": (changed("direction 0 0 1", "direction 0 1"), "3 numbers expected, found 2"),
    "no direction": (changed("direction 0 0 1", "direction 0 0 0"), "'foot' has no direction, though it has a length"),
    "an axis twice": (changed("axis 10 20 30 XYZ", "axis 10 20 30 XXZ"), "must be X, Y and Z in some sequence"),
    "an unknown freedom": (changed("dof rx rz", "dof rx rw"), "line 49: 'rw' is not a degree of freedom; known: rx"),
    "a freedom twice": (changed("dof rx rz", "dof rx rx"), "the degree of freedom rx is listed twice"),
    "limits without freedoms": (changed("    dof rx\n", ""), "'shin': 2 ends of limits for 0 degrees of freedom"),
    "half a limit": (changed("(-10.0 170.0)", "(-10.0)"), "'shin': 1 ends of limits for 1 degrees of freedom"),
    "limits turned round": (changed("(-10.0 170.0)", "(170 -10)"), "limits of rx, 170 to -10, are empty"),
    "limits at infinity": (changed("(-10.0 170.0)", "(inf inf)"), "limits of rx, inf to inf, are empty"),
    "limits that are NaN": (changed("(-10.0 170.0)", "(nan 3)"), "'shin' has a second|'nan'|is not a number"),
    "an unknown unit": (changed("angle deg", "angle grad"), "line 7: angles are in deg or rad, not in 'grad'"),
    "no unit": (changed("length 0.45", "length 0"), "invalid unit of length: 0"),
    "a negative unit": (changed("length 0.45", "length -1"), "invalid unit of length: -1"),
    "a bone that is not there": (changed("    shin foot", "    shin toes"), "line 57: there is no bone 'toes'"),
    "a bone that hangs nowhere": (changed("    shin foot\n", ""), "bone 'foot' is missing from :hierarchy"),
    "two parents": (changed("    shin foot\n", "    shin foot\n hip foot\n"), "'foot' has two parents"),
    "a bone on itself": (changed("    shin foot\n", "    foot foot\n"), "bone 'foot' is its own ancestor"),
    "a circle": (
        changed("    root hip\n    hip thigh\n", "    root hip\n foot thigh\n"),
        "bone 'thigh' is its own ancestor",
    ),
    "a root in the tree": (changed("    shin foot\n", "    shin foot\n foot root\n"), "'root' has two parents"),
    "zero bytes": (changed("length 3", "length \0"), "not an ASF file: it is not text"),
    "UTF-16": (ASF.encode("utf-16").decode("latin-1"), "is UTF-16 text"),
    "a zip archive": ("PK\x03\x04\0\0", "this looks like a zip archive"),
    "too many bones": (
        ":bonedata\n" + "".join(f"begin\nname b{i}\ndirection 0 1 0\nlength 1\nend\n" for i in range(10_001))
        + ":hierarchy\n",
        "more than 10,000 bones",
    ),
}  # fmt: skip
MOTIONS = {
    "no frames": (":FULLY-SPECIFIED\n:DEGREES\n", "it has no frame (a line with only a number)"),
    "no motion": ("hello there\n", "line 1: expected a :keyword or the number of a frame, not 'hello'"),
    "a frame without bones": (":DEGREES\n1\n2\n", "line 2: this frame has no bones"),
    "a row that is shorter": (changed("thigh 12.0 -33.0 100.0", "thigh 12.0 -33.0", amc()), "'thigh' has 2 values"),
    "a row that is longer": (changed("shin -300.0", "shin -300.0 4", amc()), "line 12: bone 'shin' has 2 values"),
    "cut in a number": (amc()[:-6], "line 12: bone 'shin': '-' is not a number"),
    "cut in a frame": (amc()[: amc().rindex("shin")], "frame '2' has no bone 'shin', which others have"),
    "NaN": (changed("45.0", "nan", amc()), "line 7: bone 'shin': 'nan' is not a number"),
    "infinity": (changed("45.0", "-inf", amc()), "line 7: bone 'shin': '-inf' is not a number"),
    "too large": (changed("45.0", "1e300", amc()), "line 7: bone 'shin': '1e300' is too large"),
    "an underscore": (changed("45.0", "4_5", amc()), "line 7: bone 'shin': '4_5' is not a number"),
    "digits of Arabic": (changed("45.0", "٤٥", amc()), "line 7: bone 'shin': '٤٥' is not a number"),
    "a bone twice": (changed("shin 45.0\n", "shin 45.0\nshin 45.0\n", amc()), "bone 'shin' comes twice in a frame"),
    "a bone of the second frame": (amc() + "toes 3\n", "line 13: bone 'toes' is not in the first frame"),
    "an unknown bone": (amc(VALUES | {"toes": [(1.0,), (2.0,)]}), "bone 'toes' is not in small.asf; is that the right"),
    "too few values": (amc(VALUES | {"thigh": [(1.0,), (2.0,)]}), "'thigh' has 1 values; small.asf gives it 3 (rx"),
    "values of a fixed bone": (amc(VALUES | {"hip": [(1.0,), (2.0,)]}), "'hip' has 1 values; small.asf gives it none"),
    "no rate": (amc(head=":SAMPLES-PER-SECOND\n"), "the number of samples per second must be one word"),
    "a rate of zero": (amc(head=":SAMPLES-PER-SECOND 0\n"), "0 samples per second cannot be used"),
    "a rate that is none": (amc(head=":SAMPLES-PER-SECOND nan\n"), "the samples per second: 'nan' is not a number"),
    "zero bytes": (amc() + "\0", "not an AMC file: it is not text"),
}  # fmt: skip


def messages_of(sentence, message):
    return any(one in message for one in sentence.split("|"))


@pytest.mark.parametrize("name", SKELETONS)
def test_skeletons(tmp_path, name):
    text, sentence = SKELETONS[name]
    path = tmp_path / "small.asf"
    path.write_bytes(text.encode("latin-1" if name in ("UTF-16", "a zip archive") else "utf-8"))
    assert messages_of(sentence, message := refused(poise.load, path)), message


@pytest.mark.parametrize("name", MOTIONS)
def test_motions(tmp_path, name):
    text, sentence = MOTIONS[name]
    (tmp_path / "small.asf").write_text(ASF)
    path = tmp_path / "small_01.amc"
    path.write_text(text)
    assert messages_of(sentence, message := refused(poise.load, path)), message


def test_a_skeleton_that_is_broken_is_the_one_that_is_named(tmp_path):
    (tmp_path / "small_01.amc").write_text(amc())
    (tmp_path / "small.asf").write_text(SKELETONS["a circle"][0])
    with pytest.raises(poise.FileError, match=r"small\.asf: line .*: bone 'thigh' is its own ancestor"):
        poise.load(tmp_path / "small_01.amc")


def test_a_chain_of_3000_bones_is_legal(tmp_path):
    path = tmp_path / "chain.asf"
    path.write_text(f":root\norder TX TY TZ RX RY RZ\naxis XYZ\n:bonedata\n{CHAIN}:hierarchy\nbegin\n{LINKS}end\n")
    with no_hang():
        rig = poise.load(path)
    assert len(rig.skeleton) == 3002
    assert rig.rest.world["b2999_end"].positions.tolist() == [0.0, 3000.0, 0.0]


@pytest.mark.long
@pytest.mark.parametrize("name", ["02.asf", "02_03.amc"])
def test_every_beginning_of_a_real_file_is_read_or_refused(data, tmp_path, name):
    (tmp_path / "02.asf").write_bytes((data / "asf" / "02.asf").read_bytes())
    path, whole = tmp_path / name, (data / "asf" / name).read_bytes()
    refused: list[str] = []
    for length in np.linspace(1, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:length])
        with no_hang(), warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.PoiseWarning)
            try:
                rig = poise.load(path)
            except poise.FileError as error:
                refused.append(str(error))
            else:
                assert all(np.isfinite(clip.poses.q).all() for clip in rig.clips)
    assert all(message.startswith(str(path)) for message in refused)
    assert len(refused) > 40

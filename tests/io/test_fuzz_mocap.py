"""Mutated ASF, AMC, VRMA, C3D and TRC files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.io.formats import asf, vrma
from tests.io.asf_samples import ASF, amc
from tests.io.c3d_samples import DEC, INTEL, MIPS, c3d, cloud
from tests.io.fuzzing import mutated, until_time_is_up
from tests.io.test_markers import HEAD, ROWS
from tests.timeouts import no_hang

pytestmark = pytest.mark.long


def tried(read, seeds, path, finite):
    """Read mutated bytes until the time is up: a finite value or a FileError that names the file; both happen."""
    counts = {True: 0, False: 0}

    def body(data):
        path.write_bytes(data)
        with no_hang(), warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.PoiseWarning)
            try:
                value = read(path)
            except poise.FileError as error:
                counts[False] += 1
                message = str(error)
            else:
                counts[True] += 1
                assert finite(value)
                return
        assert message.startswith(str(path))
        assert len(message) < 20_000

    until_time_is_up(mutated(seeds), body)
    assert min(counts.values()) > 0


def finite_rig(rig):
    poses = [rig.pose, rig.rest, *(clip.poses for clip in rig.clips)]
    return all(np.isfinite(pose.q).all() for pose in poses) and np.isfinite(rig.skeleton.A).all()


def test_asf(data, tmp_path):
    seeds = [ASF.encode(), (data / "asf" / "02.asf").read_bytes()]
    tried(asf.read, seeds, tmp_path / "small.asf", finite_rig)


def test_amc(tmp_path):
    (tmp_path / "small.asf").write_text(ASF)
    seeds = [amc().encode(), amc(newline="\r\n").encode(), amc(head=":SAMPLES-PER-SECOND 60\n").encode()]
    tried(asf.read, seeds, tmp_path / "small_01.amc", finite_rig)


def test_vrma(tmp_path):
    """A pose of one frame: JSON and a few keys."""
    poise.save(poise.load(samples.path("humanoid.glb")).rest, tmp_path / "pose.vrma")
    tried(vrma.read, [(tmp_path / "pose.vrma").read_bytes()], tmp_path / "mutated.vrma", finite_rig)


def test_c3d(tmp_path):
    seeds = [c3d(cloud(), processor=one, scale=scale) for one in (INTEL, DEC, MIPS) for scale in (-1.0, 0.5)]
    tried(poise.load_markers, seeds, tmp_path / "mutated.c3d", lambda markers: not np.isinf(markers.positions).any())


def test_trc(tmp_path):
    seeds = [(HEAD + ROWS).encode(), (HEAD + ROWS).replace("\n", "\r\n").encode()]
    tried(poise.load_markers, seeds, tmp_path / "mutated.trc", lambda markers: not np.isinf(markers.positions).any())

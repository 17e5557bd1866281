"""What can be taken for each other on the stage differs for the colour-blind, too."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest

#: How colours look without one kind of cones: linear sRGB (Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009).
SIGHTS = {
    "all cones": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
LEAST = 0.075  # in Oklab, where black and white are 1 apart; about four times what can just be told apart
RED = np.radians([12.0, 38.0])  # hues in Oklab; orange begins above
PAIRS = (
    ("reached", "out_of_reach"), ("reached", "limited"), ("reached", "stalled"), ("reached", "contradictory"),
    ("reached", "nothing"), ("reached", "refused"), ("out_of_reach", "nothing"), ("out_of_reach", "refused"),
    ("hit", "bone"), ("hit", "chain"), ("hit", "selected"), ("bone", "chain"), ("bone", "selected"),
    ("chain", "selected"), ("pole", "pin"), ("pole", "handle"), ("pin", "handle"),
)  # fmt: skip
PALETTE = (resources.files("poise.viewer") / "web" / "js" / "stage" / "palette.js").read_text(encoding="utf-8")


def read_theme(theme):
    """The colours of a theme by name, as linear light."""
    body = PALETTE.partition(f"  {theme}: {{")[2].partition("\n  },")[0]
    return {name: find_light(int(code, 16)) for name, code in re.findall(r"(\w+): (0x[0-9a-f]{6})", body)}


def find_light(colour):
    values = np.array([colour >> 16, colour >> 8 & 255, colour & 255]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def find_oklab(light):
    cones = np.array([
        [0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ])  # fmt: skip
    axes = np.array([
        [0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ])  # fmt: skip
    return axes @ np.cbrt(cones @ np.clip(light, 0.0, 1.0))


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_pairs_of_colours_differ(theme, sight):
    colours = {name: find_oklab(np.array(SIGHTS[sight]) @ light) for name, light in read_theme(theme).items()}
    gaps = {pair: np.linalg.norm(colours[pair[0]] - colours[pair[1]]) for pair in PAIRS}
    assert {pair: gap for pair, gap in gaps.items() if gap < LEAST} == {}


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_red_is_for_errors_alone(theme):
    """What is seen at rest, and every outcome of a solve, is not red.

    A refusal is, and what a retargeted clip misses by more than its bound.
    """
    colours = {name: find_oklab(light) for name, light in read_theme(theme).items()}
    reds = {name for name, (_, a, b) in colours.items() if np.hypot(a, b) > 0.1 and RED[0] < np.arctan2(b, a) < RED[1]}
    assert reds == {"refused", "missed"}

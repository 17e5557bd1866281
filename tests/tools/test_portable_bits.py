"""The portable level: kernels give the same bits on v2, on v3 and as WebAssembly, and its mathematical functions."""

from __future__ import annotations

import ctypes
import json
import math
import os
import pickle
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poise.kernels import native
from tests.workload import amount

ROOT = Path(__file__).parent.parent.parent
TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))

pytestmark = pytest.mark.skipif(
    not native.get_library_path().exists(), reason="this platform has no library of kernels: they are compiled"
)

COMPARE = """
import json, sys
from pathlib import Path
tools, library, calls = sys.argv[1:]
sys.path.insert(0, tools)
from native import recorded_calls
from poise.kernels import native
kernels = native.load_library_file(Path(library)).list_kernels("portable")
print(json.dumps(recorded_calls.compare(Path(calls), kernels)))
"""


def run_python(*arguments: str, **variables: str) -> str:
    """Run Python in a process of its own and return what it prints last."""
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def recorded_calls(tmp_path_factory):
    """Record calls of every kernel at the portable level."""
    file = tmp_path_factory.mktemp("calls") / "calls.pickle"
    tool = TOOLS / "native" / "recorded_calls.py"
    counts = json.loads(run_python(str(tool), "record", str(file), POISE_KERNELS="native", POISE_LEVEL="portable"))
    assert {name for name, count in counts.items() if not count} == {name for name in counts if name.endswith("8")}
    return file


@pytest.mark.long
def test_code_for_v3_gives_the_bits_of_v2(recorded_calls, fresh_build):
    outcome = json.loads(run_python("-c", COMPARE, str(TOOLS), str(fresh_build.portable_v3), str(recorded_calls)))
    calls = pickle.loads(recorded_calls.read_bytes())  # noqa: S301  (written above)
    assert outcome["different"] == {}
    assert outcome["equal"] == sum(len(calls[name]) for name in fresh_build.kernels) > 0


@pytest.mark.long
@pytest.mark.skipif(shutil.which("node") is None, reason="node runs WebAssembly")
def test_web_assembly_gives_the_bits_of_native_code(recorded_calls, fresh_build, tmp_path):
    module = fresh_build.web_wasm
    call_count = write_calls_for_javascript(recorded_calls, tmp_path, fresh_build.kernels)
    outcome = repeat_in_node(module, tmp_path)
    assert outcome["different"] == {}
    assert outcome["equal"] == call_count > amount(0, 200)
    assert change_expected_bytes(tmp_path) > amount(0, 100)
    assert repeat_in_node(module, tmp_path)["equal"] < call_count / 2  # the comparison itself sees a changed bit


def change_expected_bytes(folder: Path) -> int:
    """Change a bit of each expected array, and return the number of arrays."""
    data = bytearray((folder / "arrays.bin").read_bytes())
    calls = json.loads((folder / "calls.json").read_text())
    changed = [each["after"] for call in calls for each in call["args"] if each.get("after") and each["byteCount"]]
    for at in changed:
        data[at] ^= 1
    (folder / "arrays.bin").write_bytes(data)
    return len(changed)


def repeat_in_node(module: Path, folder: Path) -> dict:
    """Repeat the calls of a folder in node."""
    script = Path(__file__).parent / "repeat_calls.mjs"
    command = ["node", script, module, folder / "calls.json", folder / "arrays.bin"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def write_calls_for_javascript(file: Path, folder: Path, kernels: list[str]) -> int:
    """Write recorded calls of kernels as calls.json and arrays.bin, and return their number."""
    from native import optimise
    from native.kernel_modules import import_kernels
    from native.platforms import WEB_ASSEMBLY

    entries, (target,) = import_kernels(), WEB_ASSEMBLY.targets
    data, calls = bytearray(), []
    recorded = pickle.loads(file.read_bytes())  # noqa: S301  (written above)
    for name, kept in ((name, calls) for name, calls in recorded.items() if name in kernels):
        words, _, result_words = entries[name].signature.partition("->")
        for before, after, result in kept:
            arguments = [
                _pack_argument(word, *values, data) for word, *values in zip(words.split(), before, after, strict=True)
            ]
            results = [] if result is None else result if isinstance(result, tuple) else [result]
            bits = [_pack_number(word, each) for word, each in zip(result_words.split(), results, strict=True)]
            symbol = optimise.make_symbol(name, target)
            calls.append({"symbol": symbol, "args": arguments, "results": bits})
    (folder / "calls.json").write_text(json.dumps(calls))
    (folder / "arrays.bin").write_bytes(data)
    return len(calls)


def _pack_argument(word: str, before: object, after: object, data: bytearray) -> dict:
    if len(word) == 1:
        return {"bits": _pack_number(word, before)}
    packed = {"shape": np.shape(before), "byteCount": np.asarray(before).nbytes, "before": len(data)}
    data += np.asarray(before).tobytes()
    if word[0] not in "sa":
        packed["after"] = len(data)
        data += np.asarray(after).tobytes()
    return packed


def _pack_number(word: str, value: object) -> str:
    """Return the 64 bits of a number as a signed integer, in decimals: JSON's numbers have 53 bits."""
    return str(struct.unpack("<q", struct.pack("<d", value))[0] if word == "f" else int(value))


FUNCTIONS_OF_ONE = "acos", "asin", "atan", "cos", "exp", "exp2", "expm1", "sin", "tanh"
FUNCTIONS_OF_TWO = "atan2", "hypot", "pow"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Build the mathematical functions for this machine."""
    pytest.importorskip("ziglang")
    from native import link

    path = tmp_path_factory.mktemp("math") / "math.so"
    command = [sys.executable, "-m", "ziglang", "cc", *link.MATH_FLAGS, "-shared", "-fPIC", str(link.MATH_SOURCE)]
    subprocess.run([*command, "-o", str(path)], check=True)
    functions = ctypes.CDLL(str(path))
    for name in (*FUNCTIONS_OF_ONE, *FUNCTIONS_OF_TWO):
        function = getattr(functions, f"poise_{name}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * (1 + (name in FUNCTIONS_OF_TWO))
    return functions


class TestMathematicalFunctions:
    """Every function of portable_math.c beside Python's own."""

    MAX_ERROR_IN_LAST_PLACES = 4  # 3 of ours, 1 of the system's
    SPECIAL = (
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e308,
        -1e308,
        5e-324,
        1e-310,
        math.inf,
        -math.inf,
        math.nan,
    )

    def check(self, library, name, *arguments):
        """Check a value against Python's."""
        found = getattr(library, f"poise_{name}")(*arguments)
        try:
            expected = math.exp2(*arguments) if name == "exp2" else getattr(math, name)(*arguments)
        except OverflowError:
            assert math.isinf(found), (name, arguments, found)
            return
        except ValueError:
            is_pole = name == "pow" and arguments[0] == 0
            assert math.isinf(found) if is_pole else math.isnan(found), (name, arguments, found)
            return
        if math.isnan(expected):
            assert math.isnan(found), (name, arguments, found)
        elif math.isinf(expected) or expected == 0:
            assert found == expected, (name, arguments, found)
            assert math.copysign(1, found) == math.copysign(1, expected), (name, arguments, found)
        else:
            error = abs(found - expected) / math.ulp(expected)
            assert error <= self.MAX_ERROR_IN_LAST_PLACES, (name, arguments, found, expected)

    @pytest.mark.long
    @pytest.mark.parametrize("name", FUNCTIONS_OF_ONE)
    @given(x=st.one_of(st.floats(-1, 1), st.floats(-800, 800), st.floats(-(2.0**49), 2.0**49)))
    def test_functions_of_one_number(self, library, name, x):
        self.check(library, name, x)

    @pytest.mark.parametrize("name", FUNCTIONS_OF_ONE)
    def test_multiples_of_a_quarter_turn_and_special_numbers(self, library, name):
        angles = [k * math.pi / 2 for k in (*range(-9, 10), 10**5, 10**6, 10**7, 10**12)]
        for x in (
            *angles,
            *(each for each in self.SPECIAL if name not in ("sin", "cos") or not 1e300 < abs(each) < 1e309),
        ):
            self.check(library, name, x)

    @pytest.mark.parametrize("name", ["atan2", "hypot"])
    @given(x=st.floats(), y=st.floats())
    def test_functions_of_two_numbers(self, library, name, x, y):
        self.check(library, name, x, y)

    @given(x=st.floats(1e-3, 1e3), y=st.floats(-60, 60))
    def test_powers(self, library, x, y):
        self.check(library, "pow", x, y)

    @pytest.mark.parametrize("name", FUNCTIONS_OF_TWO)
    def test_special_numbers_in_pairs(self, library, name):
        for x in self.SPECIAL:
            for y in self.SPECIAL:
                self.check(library, name, x, y)

    def test_angles_beyond_two_to_the_50_count_as_zero(self, library):
        assert library.poise_sin(1e300) == 0
        assert library.poise_cos(1e300) == 1

    def test_powers_of_negative_numbers_with_large_integers(self, library):
        for exponent in (2373419614187105, 2373419614187106, 2**51 + 1, 2**52 + 1):
            self.check(library, "pow", -1.0000000001, -exponent % 10**7)
            assert library.poise_pow(-1.0, exponent) == math.pow(-1.0, exponent)
            assert not math.isnan(library.poise_pow(-1.07, exponent))

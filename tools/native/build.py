"""Build the library of kernels.

    python tools/native/build.py                   build src/poise/kernels/libraries/linux_x86_64.abi3.so
    python tools/native/build.py --output FILE     build another file, to be named in a test
    python tools/native/build.py --platform linux_aarch64 --output FILE      build the library of another platform
    python tools/native/build.py --all FOLDER      build the libraries of all platforms (3.5 processor minutes more)
    python tools/native/build.py --wasm FILE NAME...  build a module of WebAssembly of the kernels named
    python tools/native/build.py --check           1 where the library is older than the sources or the tools

Object files are kept in the virtual environment, so an edited kernel is compiled alone. `--fresh` compiles all: equal
sources and tools make equal bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path

os.environ["POISE_KERNELS"] = "plain"  # the functions themselves, whatever library there is
os.environ["POISE_QUIET"] = "1"
sys.path.insert(0, str(Path(__file__).parent.parent))

from native import capture, link, optimise, portable_code
from native.kernel_modules import import_kernels
from native.platforms import PLATFORMS, WEB_ASSEMBLY, Platform
from poise.kernels import native as installed
from poise.kernels import stamps
from poise.kernels.levels import LEVELS

_TOOL_FILES = (
    "capture.py",
    "glue.c",
    "link.py",
    "optimise.py",
    "portable_code.py",
    "portable_math.c",
    "python_abi.h",
)
_TOOL_PACKAGES = "numba", "llvmlite", "ziglang"
OBJECT_FOLDER = Path(sys.prefix) / "kernel-objects"  # kept between builds, in the virtual environment
_HOME_PLATFORM = PLATFORMS["linux_x86_64"]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=installed.LIBRARY_FOLDER / get_file_name(_HOME_PLATFORM))
    parser.add_argument("--platform", choices=PLATFORMS, default=_HOME_PLATFORM.name)
    parser.add_argument("--all", type=Path, metavar="FOLDER")
    parser.add_argument("--fresh", action="store_true", help="use no object files of earlier builds")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wasm", type=Path, metavar="FILE")
    parser.add_argument("kernels", nargs="*", metavar="NAME", help="of --wasm: ccd_position.solve; all where left out")
    options = parser.parse_args()
    if options.check:
        return check(options.output)
    with tempfile.TemporaryDirectory() as empty_folder:
        object_folder = Path(empty_folder) if options.fresh else OBJECT_FOLDER
        if options.wasm is not None:
            build_web_assembly(options.wasm, options.kernels, object_folder)
        elif options.all is not None:
            build({each: options.all / get_file_name(each) for each in PLATFORMS.values()}, object_folder)
        else:
            build({PLATFORMS[options.platform]: options.output}, object_folder)
    return 0


def get_file_name(platform: Platform) -> str:
    """Return the name of a platform's library."""
    return platform.name + platform.suffix


def check(library_path: Path) -> int:
    """Say whether a library belongs to the present sources."""
    library = installed.load_library_file(library_path)
    if library is None:
        print(f"{library_path.name} cannot be loaded here")
        return 1
    present, built = stamps.compute_kernel_stamps(), library.list_stamps()
    is_right = library.package_stamp == stamps.compute_package_stamp()
    behind = sorted(name for name in present if built.get(name) != present[name])
    tools = _find_changed_tools(getattr(library, "tool_stamps", ""))
    if is_right and not tools:
        print(f"{library_path.name} belongs to these sources and tools")
        return 0
    if not is_right:
        print(f"{library_path.name} is behind the sources of {', '.join(behind) or 'no kernel, only of its stamp'}")
    if tools:
        print(f"{library_path.name} was built with other versions of {', '.join(tools)}")
    print("run: scripts/kernels")
    return 1


def _find_changed_tools(stamps_of_library: str) -> list[str]:
    """Find the tools that have changed since a library for this platform was built."""
    built = set(stamps_of_library.split())
    return [stamp.partition("=")[0] for stamp in _list_tool_stamps(_HOME_PLATFORM) if stamp not in built]


def _list_tool_stamps(platform: Platform) -> list[str]:
    """List the stamps of all that makes a library from kernels: `link.py=1f2e3d`, `numba=0.68.1`."""
    texts = {name: (Path(__file__).parent / name).read_bytes() for name in _TOOL_FILES}
    texts["platform"] = repr(platform).encode()
    stamps_of_texts = {name: _hash(text) for name, text in texts.items()}
    stamps_of_packages = {name: version(name) for name in _TOOL_PACKAGES}
    return [f"{name}={stamp}" for name, stamp in (stamps_of_texts | stamps_of_packages).items()]


def build(paths: Mapping[Platform, Path], object_folder: Path = OBJECT_FOLDER, kernels: Sequence[str] = ()) -> None:
    """Build the libraries of platforms, of all kernels or those named.

    One takes two processor minutes, each other one half of that.
    """
    began = time.perf_counter()
    entries, kernel_stamps = import_kernels(), stamps.compute_kernel_stamps()
    package_stamp = stamps.compute_package_stamp()  # before an edit during the build
    names = sorted(kernels or entries)
    entries = {name: entries[name] for name in names}
    compile_kernels(object_folder, names, tuple(paths))
    for platform, path in paths.items():
        objects = {
            name: {
                optimise.make_symbol(name, target): _get_object_path(object_folder, name, kernel_stamps[name], target)
                for target in platform.targets
                if optimise.is_built(name, target)
            }
            for name in names
        }
        attributes = {
            "package_stamp": package_stamp,
            "tool_stamps": " ".join(_list_tool_stamps(platform)),
            "object_stamps": " ".join(_list_object_stamps(objects)),
        }
        with tempfile.TemporaryDirectory() as folder_name:
            folder = Path(folder_name)
            table = link.write_table(entries, platform.targets, kernel_stamps, attributes)
            (folder / "table.h").write_text(table, encoding="utf-8")
            for name in names:
                for symbol, object_path in objects[name].items():
                    shutil.copyfile(object_path, folder / f"{symbol}.o")
            linked = folder / path.name
            link.link(folder, platform.zig_target, linked)
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")  # replaced at once: a process may have the old file in use
            shutil.copyfile(linked, partial)
            partial.replace(path)
        runs = "" if platform.is_tested else ", linked, not run here"
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB{runs}")
    print(f"{time.perf_counter() - began:.0f} s")


def build_web_assembly(path: Path, names: Sequence[str], object_folder: Path = OBJECT_FOLDER) -> None:
    """Build a module of WebAssembly of kernels, or of all that have four lanes at most."""
    kernel_stamps = stamps.compute_kernel_stamps()
    (target,) = WEB_ASSEMBLY.targets
    names = sorted(names or (name for name in kernel_stamps if optimise.is_built(name, target)))
    unknown = sorted(set(names) - set(kernel_stamps))
    if unknown:
        message = f"no kernel {', '.join(unknown)}; there are {', '.join(sorted(kernel_stamps))}"
        raise SystemExit(message)
    compile_kernels(object_folder, names, (WEB_ASSEMBLY,))
    objects = [_get_object_path(object_folder, name, kernel_stamps[name], target) for name in names]
    path.parent.mkdir(parents=True, exist_ok=True)
    link.link_web_assembly(objects, [optimise.make_symbol(name, target) for name in names], path)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def compile_kernels(object_folder: Path, names: Sequence[str], platforms: Sequence[Platform]) -> None:
    """Compile kernels for platforms, in a process for each core. Numba's front end runs once for all platforms."""
    began, kernel_stamps = time.perf_counter(), stamps.compute_kernel_stamps()
    object_folder.mkdir(exist_ok=True)
    with ProcessPoolExecutor() as executor:
        jobs = [executor.submit(_compile_alone, object_folder, name, kernel_stamps[name], platforms) for name in names]
        for number, job in enumerate(jobs, 1):
            job.result()
            print(f"\r{number} of {len(jobs)} kernels, {time.perf_counter() - began:.0f} s", end="", flush=True)
        print()


def _compile_alone(object_folder: Path, name: str, stamp: str, platforms: Sequence[Platform]) -> None:
    """Compile a kernel in a process of its own.

    Functions that Numba has compiled for one kernel stand in another order in the code of the next one, which changes
    the order of its instructions: what is built would depend on what was built before.
    """
    import_kernels()
    _run_in_child(_compile, object_folder, name, stamp, platforms)


def _compile(object_folder: Path, name: str, stamp: str, platforms: Sequence[Platform]) -> None:
    """Compile a kernel for platforms. Object files of an earlier build from the same source are taken over."""
    kernel = None
    for platform in platforms:
        for target in platform.targets:
            path = _get_object_path(object_folder, name, stamp, target)
            if optimise.is_built(name, target) and not path.exists():
                kernel = kernel or capture.capture(name, import_kernels()[name])
                if platform == WEB_ASSEMBLY:  # it changes what LLVM and Numba make for processors afterwards
                    _run_in_child(_write_object, path, kernel, target)
                else:
                    _write_object(path, kernel, target)


def _write_object(path: Path, kernel: capture.CapturedKernel, target: optimise.Target) -> None:
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(optimise.compile_kernel(kernel, target))
    partial.replace(path)


def _run_in_child(function: Callable[..., None], *arguments: object) -> None:
    """Run a function in a copy of this process. What it changes in this one is lost."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        message = f"{function.__name__} ended with {child.exitcode} in a process of its own"
        raise RuntimeError(message)


def _get_object_path(object_folder: Path, name: str, stamp: str, target: optimise.Target) -> Path:
    """Return the path of a kernel's object file. It names all that the content depends on."""
    target_stamp = hashlib.sha256(repr(target).encode()).hexdigest()[:8]
    return object_folder / f"{name}-{target.triple}-{target.name}-{target_stamp}-{stamp}-{_compute_build_stamp()}.o"


def _list_object_stamps(objects: Mapping[str, Mapping[str, Path]]) -> list[str]:
    """List the stamps of kernels' object files. Two builds differ in the kernels with other stamps."""
    return [
        f"{name}={_hash(b''.join(path.read_bytes() for path in paths.values()))}" for name, paths in objects.items()
    ]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def _compute_build_stamp() -> str:
    """Compute the stamp of the compilers: this folder's files, and the versions of Numba and LLVM."""
    digest = hashlib.sha256(f"{version('numba')} {version('llvmlite')} {LEVELS}".encode())
    for module in (capture, optimise, portable_code):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())

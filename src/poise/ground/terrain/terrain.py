"""Terrain under a figure: heights, normals and ray hits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import describe_value
from poise.calls.old_names import make_alias
from poise.errors import InputError
from poise.formatting import format_fields
from poise.ground.terrain.arguments import finite_number, level_direction, positive_number, unit_directions
from poise.ground.terrain.files.map_reading import map_of
from poise.ground.terrain.files.mesh_files import UPS, read_mesh, suffix_of
from poise.ground.terrain.function import Function
from poise.ground.terrain.noise import Noise
from poise.ground.terrain.shapes import Plane, Stairs
from poise.ground.terrain.surface import HEIGHT, Ground, Hits, Normal, Surface
from poise.maths.arrays import Floats, abbreviate, check_finite

_AT_ONCE = 16_384  # places; so many fit into a processor's cache with all that is worked out for them
_STEP = 0.5  # metres of such a figure: what it may step up to, see `Terrain.mesh`
_STEEPEST = 89.0  # degrees that a slope may have
_SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class Terrain:
    """Ground of any kind under a figure. Made by `flat`, `slope`, `stairs`, `noise`, `heightmap`, `mesh` or `function`.

    Parameters
    ----------
    surface
        What makes the ground, in lengths of its own and Z-up.
    up
        "y" or "z": the frame that points are given in. Frames are right-handed, and a Y-up point (x, y, z) is the Z-up
        point (x, -z, y).
    unit
        A length of this terrain in lengths of the clip that walks on it: 1 for files, arrays and functions; None for
        shapes, which are in metres of a figure that is 1.7 m tall. `for_figure` applies it.
    scale, lift
        Bring the heights of the surface to this terrain's: scale * height + lift.
    storey
        The step of `mesh`; None where it is still the default.

    Notes
    -----
    Points are (..., 3) finite numbers, any number of them; one point gets the same bits as in a batch. Answers are
    finite everywhere: beyond an edge and over a hole they are those of the nearest ground.
    """

    __repr__ = format_fields

    surface: Surface
    up: str = "y"
    unit: float | None = None
    scale: float = 1.0
    lift: float = 0.0
    storey: float | None = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.up, str) or self.up not in ("y", "z"):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f'up is "y" or "z"; got {abbreviate(self.up)}'
            raise InputError(message)
        is_surface = all(callable(getattr(self.surface, name, None)) for name in ("heights", "sample", "hit"))
        if isinstance(self.surface, Terrain) or not is_surface:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"a terrain is made by Terrain.flat() and its like, not of {describe_value(self.surface)}")
        object.__setattr__(self, "scale", positive_number(self.scale, "the scale of a terrain"))
        object.__setattr__(self, "lift", finite_number(self.lift, "the lift of a terrain"))
        if self.storey is not None:
            finite_number(self.storey, "the storey of a terrain")
        if self.unit is not None:
            object.__setattr__(self, "unit", positive_number(self.unit, "the unit of a terrain"))

    # --- questions ------------------------------------------------------------------------------

    def heights(self, points: ArrayLike) -> Floats:
        """Return heights (...) of the ground at points (..., 3).

        Heights are along the up axis, at the plan places of the points.

        A point's own height counts only on a mesh with several storeys; see `mesh`.
        """
        given = check_finite(points, "points", last_axis_length=3)
        x, y, z = self._inwards(given, self.storey)
        if len(x) <= _AT_ONCE:
            heights = self.surface.heights(x, y, z)
        else:
            heights = np.empty(len(x))
            for part in _parts(len(x)):
                heights[part] = self.surface.heights(x[part], y[part], z[part])
        return self._outwards(heights).reshape(given.shape[:-1])

    def normals(self, points: ArrayLike) -> Floats:
        """Return unit normals (..., 3) of the ground at points (..., 3).

        They are of the upper side, at the plan places of the points.
        """
        return self.sample(points).normals

    def sample(self, points: ArrayLike) -> Ground:
        """Return heights, normals and inside mask at points (..., 3).

        At the plan places of the points; inside is False where there is no ground.
        """
        given = check_finite(points, "points", last_axis_length=3)
        x, y, z = self._inwards(given, self.storey)
        normals, inside = np.empty((len(x), 3)), np.empty(len(x), dtype=np.bool_)
        if len(x) <= _AT_ONCE:  # slicing costs as much as a plane does
            heights, normal, inside[:] = self.surface.sample(x, y, z)
            self._face(normals, normal)
        else:
            heights = np.empty(len(x))
            for part in _parts(len(x)):
                heights[part], normal, inside[part] = self.surface.sample(x[part], y[part], z[part])
                self._face(normals[part], normal)
        shape = given.shape[:-1]
        return Ground(self._outwards(heights).reshape(shape), normals.reshape(given.shape), inside.reshape(shape))

    def hit(self, origins: ArrayLike, directions: ArrayLike) -> Hits:
        """Find first hits of rays on the ground, from either side.

        Parameters
        ----------
        origins
            (..., 3) where rays begin. A ray that starts on the ground hits it there.
        directions
            (..., 3) of any length but zero.

        Raises
        ------
        InputError
            For a direction of length zero.

        Notes
        -----
        Beyond the edges of a height map or mesh and over holes there is nothing to hit.
        """
        start, heading = np.broadcast_arrays(
            check_finite(origins, "origins", last_axis_length=3),
            unit_directions(check_finite(directions, "directions", last_axis_length=3)),
        )
        rays, ways = np.stack(self._inwards(start), axis=1), np.stack(self._rotate_inwards(heading), axis=1)
        distances, normals = np.empty(len(rays)), np.empty((len(rays), 3))
        for part in _parts(len(rays)):
            distances[part], normal = self.surface.hit(rays[part], ways[part])
            self._face(normals[part], normal)
        hit = np.isfinite(distances)
        normals[~hit] = (0.0, 1.0, 0.0) if self.up == "y" else (0.0, 0.0, 1.0)
        distances = (distances * self.scale).reshape(start.shape[:-1])
        hit = hit.reshape(start.shape[:-1])
        points = start + np.where(hit, distances, 0.0)[..., None] * heading
        return Hits(points, normals.reshape(start.shape), distances, hit)

    # --- the same ground in other lengths ---------------------------------------------------------

    def scale_by(self, factor: float) -> Terrain:
        """Return the ground scaled by `factor`. About the origin of the frame. The unit stays."""
        factor = positive_number(factor, "the factor of a terrain's size")
        storey = _STEP if self.storey is None else self.storey
        return dataclasses.replace(self, scale=self.scale * factor, lift=self.lift * factor, storey=storey * factor)

    def lift_by(self, offset: float) -> Terrain:
        """Return the ground higher by `offset`."""
        return dataclasses.replace(self, lift=self.lift + finite_number(offset, "the offset of a terrain"))

    def with_up(self, up: str) -> Terrain:
        """Return the same ground in the frame with up axis `up`."""
        return dataclasses.replace(self, up=up)

    scaled: ClassVar[Any] = make_alias("Terrain.scaled", scale_by)
    lifted: ClassVar[Any] = make_alias("Terrain.lifted", lift_by)
    turned: ClassVar[Any] = make_alias("Terrain.turned", with_up)

    def for_figure(self, height: float) -> Terrain:
        """Return the ground in lengths of a clip's figure. The figure is `height` tall; the unit is then 1."""
        metre = positive_number(height, "the height of a figure") / HEIGHT
        ground = self.scale_by(metre if self.unit is None else self.unit)
        storey = _STEP * metre if self.storey is None else ground.storey
        return dataclasses.replace(ground, unit=1.0, storey=storey)

    def for_clip(self, metre: float, up: str) -> Terrain:
        """Return the ground in the lengths and the frame of a clip.

        Feet are planted on the same ground, bit for bit.

        Parameters
        ----------
        metre
            A metre of the clip's figure in the clip's lengths.
        up
            The up axis of the clip.
        """
        unit = positive_number(metre, "a metre of a figure") if self.unit is None else self.unit
        ground = self if unit == 1.0 else self.scale_by(unit)
        return dataclasses.replace(ground.with_up(up), unit=1.0)

    # --- frames -----------------------------------------------------------------------------------

    def _rotate_inwards(self, vectors: Floats) -> tuple[Floats, Floats, Floats]:
        """Return components (n,) of vectors (..., 3), Z up. In the frame of the surface."""
        x, y, z = vectors.reshape(-1, 3).T
        return (x, -z, y) if self.up == "y" else (x, y, z)

    def _inwards(self, points: Floats, raised: float | None = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return components (n,) of points (..., 3) raised by a step. In the frame and lengths of the surface."""
        x, y, z = self._rotate_inwards(points)
        lower = self.lift - (_STEP if raised is None else raised)
        if lower:
            z = z - lower
        return (x, y, z) if self.scale == 1.0 else (x / self.scale, y / self.scale, z / self.scale)

    def _outwards(self, heights: Floats) -> Floats:
        if self.scale != 1.0:
            heights = heights * self.scale
        return heights + self.lift if self.lift else heights

    def _face(self, normals: Floats, normal: Normal) -> None:
        """Write components of the surface's normals into an array (n, 3)."""
        x, y, z = normal
        normals[:, 0], normals[:, 1], normals[:, 2] = (x, z, -y) if self.up == "y" else (x, y, z)

    # --- kinds ------------------------------------------------------------------------------------

    @staticmethod
    def flat(height: float = 0.0, *, up: str = "y", unit: float | None = None) -> Terrain:
        """Level ground."""
        return Terrain(Plane(finite_number(height, "the height of flat ground")), up, unit)

    @staticmethod
    def slope(
        degrees: float, *, direction: ArrayLike | None = None, up: str = "y", unit: float | None = None
    ) -> Terrain:
        """Make an endless slope through the origin.

        Parameters
        ----------
        degrees
            Its steepness, -89 to 89; with a negative one it falls.
        direction
            (3,) along which it climbs; only the level part counts. Default: the way that glTF figures face, +z in a
            Y-up frame, which is -y in a Z-up frame.
        up, unit
            As for the class.
        """
        angle = finite_number(degrees, "the steepness of a slope")
        if abs(angle) > _STEEPEST:
            message = f"a slope is -{_STEEPEST:g} to {_STEEPEST:g} degrees steep; got {angle:g}"
            raise InputError(message)
        x, y = level_direction(direction, up)
        steepness = math.tan(math.radians(angle))
        return Terrain(Plane(0.0, steepness * x, steepness * y), up, unit)

    @staticmethod
    def stairs(
        rise: float,
        going: float,
        *,
        direction: ArrayLike | None = None,
        start: float | None = None,
        up: str = "y",
        unit: float | None = None,
    ) -> Terrain:
        """Make endless stairs of level treads and upright risers. They climb along a direction, and descend behind.

        Parameters
        ----------
        rise
            Height of a step; with a negative one the stairs lead down.
        going
            Depth of a tread.
        direction
            As for `slope`.
        start
            Distance from the origin along `direction` to a riser; the tread before it has height 0. Default: half a
            tread, so that the origin is in the middle of one.
        up, unit
            As for the class.

        Notes
        -----
        An edge belongs to the tread behind it. Normals are those of treads, up; a ray may also hit a riser.
        """
        going = positive_number(going, "the going of stairs")
        rise = finite_number(rise, "the rise of stairs")
        first = 0.5 * going if start is None else finite_number(start, "the start of stairs")
        x, y = level_direction(direction, up)
        return Terrain(Stairs(rise, going, x, y, first), up, unit)

    @staticmethod
    def noise(
        amplitude: float, wavelength: float = 1.0, seed: int = 0, *, up: str = "y", unit: float | None = None
    ) -> Terrain:
        """Make endless smooth bumps: gradient noise. Always the same for one seed.

        Parameters
        ----------
        amplitude
            Heights lie within +- amplitude.
        wavelength
            Spacing of the lattice that bumps come from. The ground has height 0 at the origin and at all the lattice's
            corners. Crests are about 1.5 wavelengths apart, the mean square height is the square of 0.31 amplitudes,
            and no slope exceeds 2.93 amplitudes per wavelength.
        seed
            Which bumps.
        up, unit
            As for the class.

        Notes
        -----
        A ray that is level or nearly so is followed for 1000 wavelengths.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < _SEEDS:
            message = f"a seed is a whole number from 0 to {_SEEDS - 1}; got {abbreviate(seed)}"
            raise InputError(message)
        amplitude = finite_number(amplitude, "the amplitude of noise")
        return Terrain(Noise(amplitude, positive_number(wavelength, "the wavelength of noise"), int(seed)), up, unit)

    @staticmethod
    def heightmap(
        source: str | PathLike[str] | ArrayLike,
        *,
        size: ArrayLike | None = None,
        height: float | None = None,
        origin: ArrayLike | None = None,
        holes: bool = False,
        up: str = "y",
        unit: float | None = 1.0,
    ) -> Terrain:
        """Make ground from a height map, bilinear between posts.

        The map is a PNG picture, an npz file or an array (rows, cols).

        Parameters
        ----------
        source
            A picture is grey, 8 or 16 bits; of colours the luminance counts, 0.299 R + 0.587 G + 0.114 B. An npz file
            holds `heights` or `elevation`, and may hold `size`, `height`, `origin`, `spacing` or `dx` and `dy`, and the
            ranges `xmin`, `xmax`, `ymin`, `ymax` (y to the north): ymin is that of the first row.
        size
            (along x, along rows) from the first post to the last; one number: along x, with square cells. Default: what
            an npz file says, else 1 from post to post.
        height
            What white of a picture, or 1 of an array or npz file, stands for; default 1.
        origin
            (3,) where the middle of the map at value 0 lies. Default: what an npz file says, else the origin.
        holes
            Whether NaN in an array or npz file is a hole; a cell with a missing post is then one. Otherwise NaN is
            refused.
        up, unit
            As for the class.

        Raises
        ------
        FileError, InputError
            For a source that cannot be used.

        Notes
        -----
        Seen from above, with x to the right, the map lies as the picture is shown and the array is printed: rows run
        towards +z in a Y-up frame and towards -y in a Z-up frame.
        """
        return Terrain(map_of(source, size=size, height=height, origin=origin, holes=holes, up=up), up, unit)

    @staticmethod
    def mesh(
        path: str | PathLike[str],
        *,
        storey: float | None = None,
        up: str | None = None,
        unit: float | None = 1.0,
    ) -> Terrain:
        """Make ground from the triangles of a mesh file.

        A GLB, glTF, OBJ or STL file, all nodes of the scene where they stand.

        Parameters
        ----------
        path
            The file. It is read with trimesh; nothing outside its folder is opened and materials are passed over.
        storey
            The ground at a point is the highest that is at most this much above the point; where all of it is higher,
            the lowest. So a point under a bridge finds the ground there, and one on the bridge finds the bridge.
            Default: 0.5, or after `for_figure` half a metre of a figure that is 1.7 m tall.
        up
            The up axis of the file; default: z for STL, y for the others. The terrain's points are in this frame;
            `turned` changes that.
        unit
            As for the class.

        Raises
        ------
        FileError
            Where there is no ground in a file.
        UnsupportedError
            Without trimesh (the extra `terrain`).

        Notes
        -----
        Triangles without an area are passed over. What is steeper than 89.9999 degrees is a wall, which rays hit but
        nobody stands on; undersides are ground only where nothing else is.
        """
        frame = UPS[suffix_of(path)] if up is None else up
        step = None if storey is None else positive_number(storey, "the storey of a mesh")
        terrain = Terrain(Plane(0.0), frame, unit, storey=step)  # checks what was given before a file is read
        return dataclasses.replace(terrain, surface=read_mesh(path, frame))

    @staticmethod
    def function(
        f: Callable[[Floats, Floats], Any],
        *,
        normal: Callable[[Floats, Floats], Any] | None = None,
        step: float = 1e-4,
        up: str = "y",
        unit: float | None = 1.0,
    ) -> Terrain:
        """Make ground from a function of the level coordinates. In the order of the axes: f(x, z) for up="y".

        Parameters
        ----------
        f
            Takes two arrays (n,) and gives heights (n,), or one for all; finite everywhere.
        normal
            Gives normals (n, 3) for the same arrays, of any length, pointing up; default: central differences of f over
            +-step (1e-8 of a coordinate where that is more).
        step
            A length that f is smooth over.
        up, unit
            As for the class.

        Notes
        -----
        A ray is followed for a million times `step`, at least ten lengths at once, and takes the ground for no steeper
        than 76 degrees.
        """
        if not callable(f) or not (normal is None or callable(normal)):
            message = (
                f"a terrain function is called with two arrays; got {abbreviate(f if not callable(f) else normal)}"
            )
            raise InputError(message)
        return Terrain(Function(f, up, normal, positive_number(step, "the step of a terrain function")), up, unit)


def _parts(n: int) -> Iterator[slice]:
    return (slice(first, first + _AT_ONCE) for first in range(0, n, _AT_ONCE))

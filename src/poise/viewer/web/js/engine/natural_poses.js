/**
 * Natural poses of a figure, looked up. They are data of viewer/offline/natural_poses.py.
 *
 * For a part and a target a grid has the displacement of each joint from the start pose. A pull turns the pose in
 * which it began by the difference of two displacements, at its target and where the part was. So a part that stays
 * where it is moves nothing, other parts stay as they were left, and a pull may begin at any frame of a clip.
 */

/**
 * @import { Facing } from "poise/engine/facing.js"
 * @import { PackedGrid, PackedNaturalPoses } from "poise/engine/packed.ts"
 */

import { dot } from "poise/engine/maps.js";

const QUATERNION = 4; // numbers of a group, see list_groups in natural_poses.py

export class NaturalPoses {
  /**
   * @param {PackedNaturalPoses} packed
   * @param {Uint8Array} numbers
   * @param {ArrayLike<number>} start q
   * @param {number[][]} axes ahead, left and up
   */
  constructor(packed, numbers, start, axes) {
    this.packed = packed;
    this.axes = axes;
    this.grids = new Map(Object.entries(packed.grids).map(([part, grid]) => [part, new Grid(grid, numbers, start)]));
  }

  /**
   * The natural pose of a part on its way between two places. Null for parts without one.
   * @param {ArrayLike<number>} before q, with the part at the first place
   * @param {Facing} facing
   * @param {string} part
   * @param {ArrayLike<number>} from
   * @param {ArrayLike<number>} to
   */
  find(before, facing, part, from, to) {
    const grid = this.grids.get(part);
    if (!grid) return null;
    const q = Float64Array.from(before);
    const [first, second] = [from, to].map((place) => grid.interpolate(this.#locate(facing, place)));
    for (const group of grid.groups) {
      const { first: column, count, at } = group;
      const [a, b] = [first.subarray(at, at + count), second.subarray(at, at + count)];
      if (count === QUATERNION) {
        turn(q, column, measureTurn(a, b));
        continue;
      }
      const move = Array.from(b, (x, k) => x - a[k]);
      const moved = column === this.packed.root.column ? this.#turnRoot(move, facing) : move;
      moved.forEach((x, k) => (q[column + k] += x));
    }
    return q;
  }

  /** A place along the axes, for a figure in its start pose. @param {Facing} facing @param {ArrayLike<number>} place */
  #locate({ start, rest, cos, sin }, place) {
    const [ahead, left, up] = this.axes.map((axis, k) => dot(axis, place) - rest[k]);
    return [start[0] + cos * ahead + sin * left, start[1] - sin * ahead + cos * left, start[2] + up];
  }

  /** A translation of the root, turned as the rest pose faces. @param {number[]} move @param {Facing} facing */
  #turnRoot(move, { cos, sin }) {
    const { to_axes, from_axes } = this.packed.root;
    const [ahead, left, up] = multiply(to_axes, move);
    return multiply(from_axes, [cos * ahead - sin * left, sin * ahead + cos * left, up]);
  }
}

/**
 * @typedef {object} Group numbers of q that belong together
 * @property {number} first
 * @property {number} count
 * @property {number} at where they begin among those of the grid
 */

/** Displacements of one part over a grid of targets. */
class Grid {
  /** @param {PackedGrid} packed @param {Uint8Array} numbers @param {ArrayLike<number>} start */
  constructor(packed, numbers, start) {
    this.packed = packed;
    this.corners = packed.lines.reduce((product, line) => product * line.length, 1);
    let at = 0;
    /** @type {Group[]} */
    this.groups = packed.groups.map(([first, count]) => {
      at += count;
      return { first, count, at: at - count };
    });
    this.count = at;
    this.values = new Int8Array(numbers.buffer, numbers.byteOffset + packed.numbers, at * this.corners);
    this.start = Float64Array.from(
      this.groups.flatMap(({ first, count }) => Array.from({ length: count }, (_, k) => start[first + k])),
    );
  }

  /**
   * The numbers of all groups at a place between corners. Beyond the grid they are those of its rim.
   * @param {number[]} place along the axes
   */
  interpolate(place) {
    const { corners, count, packed, values } = this;
    const found = Float64Array.from(this.start);
    for (const [corner, weight] of this.#findCorners(place))
      for (let i = 0; i < count; i++) found[i] += weight * packed.steps[i] * values[corners * i + corner];
    for (const group of this.groups) if (group.count === QUATERNION) normalize(found, group.at);
    return found;
  }

  /** Corners about a place, and their weights. @param {number[]} place @returns {[number, number][]} */
  #findCorners(place) {
    const { lines } = this.packed;
    const cells = lines.map((line, axis) => findCell(line, place[axis]));
    return Array.from({ length: 8 }, (_, bits) => {
      const steps = [bits & 1, (bits >> 1) & 1, (bits >> 2) & 1];
      const corner = lines.reduce((number, line, axis) => number * line.length + cells[axis].first + steps[axis], 0);
      const weights = cells.map(({ share }, axis) => (steps[axis] ? share : 1 - share));
      return [corner, weights[0] * weights[1] * weights[2]];
    });
  }
}

/**
 * The cell of a place on a line. Its first corner, and the share of the way to the next one.
 * @param {number[]} line @param {number} place
 */
function findCell(line, place) {
  const first = Math.max(
    line.slice(0, -1).findLastIndex((corner) => corner <= place),
    0,
  );
  const share = (place - line[first]) / (line[first + 1] - line[first]);
  return { first, share: Math.min(Math.max(share, 0), 1) };
}

/** @param {number[]} matrix rows of three @param {ArrayLike<number>} vector */
function multiply(matrix, vector) {
  return [0, 3, 6].map((row) => dot(matrix.slice(row, row + 3), vector));
}

/** Scale the quaternion at an index to length 1. @param {Float64Array} values @param {number} at */
function normalize(values, at) {
  const length = Math.hypot(...values.subarray(at, at + QUATERNION)) || 1;
  for (let k = at; k < at + QUATERNION; k++) values[k] /= length;
}

/** The shorter turn from a to b, in the frame of a. @param {Float64Array} a @param {Float64Array} b */
function measureTurn([aw, ax, ay, az], [bw, bx, by, bz]) {
  const sign = aw * bw + ax * bx + ay * by + az * bz < 0 ? -1 : 1;
  return [
    sign * (aw * bx - ax * bw - ay * bz + az * by),
    sign * (aw * by + ax * bz - ay * bw - az * bx),
    sign * (aw * bz - ax * by + ay * bx - az * bw),
  ];
}

/** Turn a quaternion in its own frame. @param {Float64Array} q @param {number} at @param {number[]} turn */
function turn(q, at, [x, y, z]) {
  const w = Math.sqrt(Math.max(0, 1 - (x * x + y * y + z * z)));
  const [rw, rx, ry, rz] = q.subarray(at, at + QUATERNION);
  q[at] = rw * w - rx * x - ry * y - rz * z;
  q[at + 1] = rw * x + rx * w + ry * z - rz * y;
  q[at + 2] = rw * y - rx * z + ry * w + rz * x;
  q[at + 3] = rw * z + rx * y - ry * x + rz * w;
  normalize(q, at);
}

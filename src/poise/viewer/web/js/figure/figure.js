/**
 * Where the joints are. World matrices from a frame's numbers, for every character, in rig coordinates.
 * Plain arrays without three.js, filled anew each frame, so that a frame leaves nothing to collect.
 */

/** @import { Joint } from "poise/protocol/messages.ts" */

/** Points along which a matrix is read: rows of a width-12 frame. */
const AFFINE = 12;

/** @typedef {{[index: number]: number}} Numbers that are written to */

export class Figure {
  /** @param {{joints: Joint[], places: number[][], size: number}} model */
  constructor(model) {
    this.joints = model.joints;
    this.count = model.joints.length;
    this.places = model.places.length ? model.places : [[0, 0, 0]];
    this.size = model.size > 0 ? model.size : 1;
    this.rows = new Map(model.joints.map((joint, row) => [joint.name, row]));
    this.linear = model.joints.map((joint) => joint.linear);
    this.inverses = this.linear.map((linear) => (linear ? invertMatrix(linear) : null));
    this.characters = 0;
    this.ready = false;
    this.positions = this.turns = this.maps = new Float32Array(0);
    this._reserve(1);
  }

  /** @param {number} characters */
  _reserve(characters) {
    if (characters === this.characters) return;
    this.characters = characters;
    const n = characters * this.count;
    this.positions = new Float32Array(3 * n);
    this.turns = new Float32Array(9 * n); // rotations, row by row: the matrices without scale
    this.maps = new Float32Array(9 * n); // with scale
  }

  /**
   * Take the numbers of one view.
   * @param {Float32Array} values [characters][joints][width]
   * @param {number} width
   * @param {number} characters
   */
  update(values, width, characters) {
    if (values.length !== characters * this.count * width) {
      throw new Error(`a frame of another model: ${values.length} numbers for ${this.count} joints`);
    }
    this._reserve(characters);
    const read = width === AFFINE ? this._readAffine : this._readTurn;
    for (let c = 0, i = 0; c < characters; c++) {
      const place = this.places[c] ?? [0, 0, 0];
      for (let row = 0; row < this.count; row++, i++) read.call(this, values, i * width, i, row, place);
    }
    this.ready = true;
  }

  /** @param {Float32Array} v @param {number} at @param {number} i @param {number} row @param {number[]} place */
  _readTurn(v, at, i, row, place) {
    for (let k = 0; k < 3; k++) this.positions[3 * i + k] = v[at + k] + place[k];
    turnInto(this.turns, 9 * i, v[at + 3], v[at + 4], v[at + 5], v[at + 6]);
    const linear = this.linear[row];
    if (linear) multiplyInto(this.maps, 9 * i, this.turns, 9 * i, linear);
    else for (let k = 0; k < 9; k++) this.maps[9 * i + k] = this.turns[9 * i + k];
  }

  /** @param {Float32Array} v @param {number} at @param {number} i @param {number} row @param {number[]} place */
  _readAffine(v, at, i, row, place) {
    for (let r = 0; r < 3; r++) {
      this.positions[3 * i + r] = v[at + 4 * r + 3] + place[r];
      for (let k = 0; k < 3; k++) this.maps[9 * i + 3 * r + k] = v[at + 4 * r + k];
    }
    const inverse = this.inverses[row];
    if (inverse) multiplyInto(this.turns, 9 * i, this.maps, 9 * i, inverse);
    else for (let k = 0; k < 9; k++) this.turns[9 * i + k] = this.maps[9 * i + k];
    straighten(this.turns, 9 * i);
  }

  /** A joint's place. @param {number} row @param {number} [character] @returns {number[]} */
  readPosition(row, character = 0) {
    const at = 3 * (character * this.count + row);
    return [this.positions[at], this.positions[at + 1], this.positions[at + 2]];
  }

  /** The end of a joint's bone. @param {number} row @param {number} [character] @returns {number[]} */
  computeTail(row, character = 0) {
    return this.computePoint(row, this.joints[row].bone, character);
  }

  /** A point given in a joint's unscaled frame. @param {number} row @param {number[]} p @param {number} [character] */
  computePoint(row, p, character = 0) {
    const [x, y, z] = this.turnDirection(row, p, character);
    const at = this.readPosition(row, character);
    return [at[0] + x, at[1] + y, at[2] + z];
  }

  /**
   * A direction given in a joint's unscaled frame.
   * @param {number} row
   * @param {number[]} d
   * @param {number} [character]
   */
  turnDirection(row, d, character = 0) {
    const t = this.turns;
    const at = 9 * (character * this.count + row);
    return [0, 3, 6].map((r) => t[at + r] * d[0] + t[at + r + 1] * d[1] + t[at + r + 2] * d[2]);
  }
}

/**
 * The matrix of a quaternion, row by row. Its length does not matter.
 * @param {Numbers} out
 * @param {number} at
 * @param {number} w
 * @param {number} x
 * @param {number} y
 * @param {number} z
 */
export function turnInto(out, at, w, x, y, z) {
  const squared = w * w + x * x + y * y + z * z;
  const s = squared > 0 ? 2 / squared : 0;
  out[at] = 1 - s * (y * y + z * z);
  out[at + 1] = s * (x * y - w * z);
  out[at + 2] = s * (x * z + w * y);
  out[at + 3] = s * (x * y + w * z);
  out[at + 4] = 1 - s * (x * x + z * z);
  out[at + 5] = s * (y * z - w * x);
  out[at + 6] = s * (x * z - w * y);
  out[at + 7] = s * (y * z + w * x);
  out[at + 8] = 1 - s * (x * x + y * y);
}

/**
 * out = a b, 3 x 3 row by row. `out` and `a` must not overlap.
 * @param {Numbers} out
 * @param {number} at
 * @param {ArrayLike<number>} a
 * @param {number} from
 * @param {ArrayLike<number>} b
 */
export function multiplyInto(out, at, a, from, b) {
  for (let r = 0; r < 9; r += 3) {
    for (let k = 0; k < 3; k++) {
      out[at + r + k] = a[from + r] * b[k] + a[from + r + 1] * b[3 + k] + a[from + r + 2] * b[6 + k];
    }
  }
}

/**
 * Make the columns of a matrix orthonormal and right-handed (Gram-Schmidt).
 * @param {Float32Array} m
 * @param {number} at
 */
function straighten(m, at) {
  /** @param {number} k */
  const readColumn = (k) => [m[at + k], m[at + 3 + k], m[at + 6 + k]];
  const a = normalize(readColumn(0), [1, 0, 0]);
  const second = readColumn(1);
  const along = a[0] * second[0] + a[1] * second[1] + a[2] * second[2];
  const spare = Math.abs(a[1]) < 0.9 ? cross(a, [0, 1, 0]) : cross(a, [0, 0, 1]);
  const b = normalize(
    second.map((value, k) => value - along * a[k]),
    normalize(spare, [0, 1, 0]),
  );
  const c = cross(a, b);
  for (let r = 0; r < 3; r++) [m[at + 3 * r], m[at + 3 * r + 1], m[at + 3 * r + 2]] = [a[r], b[r], c[r]];
}

/** @param {number[]} v @param {number[]} otherwise @returns {number[]} */
function normalize(v, otherwise) {
  const length = Math.hypot(v[0], v[1], v[2]);
  return length > 1e-12 ? v.map((value) => value / length) : otherwise;
}

/** @param {number[]} a @param {number[]} b @returns {number[]} */
function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

/** The inverse of a 3 x 3 matrix. Null where it has none (a joint scaled to nothing). @param {number[]} m */
function invertMatrix(m) {
  const [a, b, c] = [m.slice(0, 3), m.slice(3, 6), m.slice(6, 9)];
  const rows = [cross(b, c), cross(c, a), cross(a, b)];
  const determinant = a[0] * rows[0][0] + a[1] * rows[0][1] + a[2] * rows[0][2];
  if (Math.abs(determinant) < 1e-30) return null;
  return [0, 1, 2].flatMap((k) => rows.map((row) => row[k] / determinant));
}

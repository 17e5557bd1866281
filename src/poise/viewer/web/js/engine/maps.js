/** World maps of joints, 12 numbers each: three rows of four. */

/** @import { Vector } from "poise/protocol/messages.ts" */

/** The map of a joint. @param {Float64Array} maps of all joints @param {number} row */
export function readMap(maps, row) {
  return maps.subarray(12 * row, 12 * row + 12);
}

/** A point in the world. @param {Float64Array} map @param {number[]} offset in the frame of the joint */
export function transformPoint(map, offset) {
  return [0, 4, 8].map((k) => map[k] * offset[0] + map[k + 1] * offset[1] + map[k + 2] * offset[2] + map[k + 3]);
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** @param {Vector} a @param {Vector} b */
export function measureDistance(a, b) {
  return Math.hypot(...a.map((value, k) => value - b[k]));
}

/** The rotation w x y z of a map. Its scale does not matter. @param {Float64Array} map */
export function computeQuaternion(map) {
  const columns = [0, 1, 2].map((k) => [map[k], map[4 + k], map[8 + k]]);
  const [x, y, z] = columns.map((column) => column.map((value) => value / Math.hypot(...column)));
  const trace = x[0] + y[1] + z[2];
  const candidates = [
    [1 + trace, y[2] - z[1], z[0] - x[2], x[1] - y[0]],
    [y[2] - z[1], 1 + 2 * x[0] - trace, y[0] + x[1], z[0] + x[2]],
    [z[0] - x[2], y[0] + x[1], 1 + 2 * y[1] - trace, z[1] + y[2]],
    [x[1] - y[0], z[0] + x[2], z[1] + y[2], 1 + 2 * z[2] - trace],
  ];
  const lengths = candidates.map((candidate) => Math.hypot(...candidate));
  const best = lengths.indexOf(Math.max(...lengths)); // the others lose digits
  return candidates[best].map((value) => value / lengths[best]);
}

/** Where a figure stands and faces, beside its start pose. */

/** @import { Vector } from "poise/protocol/messages.ts" */

import { computeQuaternion, dot } from "poise/engine/maps.js";

const MIN_LEVEL = 0.1; // of the axis to the left: a figure on its side faces as it did at the start

/**
 * @typedef {object} Facing
 * @property {number[]} start the hips at the start, along the axes ahead, left and up
 * @property {number[]} rest the hips now
 * @property {number} cos of the turn about the axis up
 * @property {number} sin
 */

/**
 * How a figure stands and faces.
 * @param {number[][]} axes ahead, left and up at the start
 * @param {Float64Array} start map of the hips
 * @param {Float64Array} rest map of the hips in another pose
 * @returns {Facing}
 */
export function findFacing(axes, start, rest) {
  const [ahead, left] = axes;
  const now = rotate(computeQuaternion(rest), rotate(invert(computeQuaternion(start)), left));
  const [cos, sin] = [dot(left, now), -dot(ahead, now)];
  const level = Math.hypot(cos, sin);
  const isOnSide = level < MIN_LEVEL;
  return {
    start: axes.map((axis) => dot(axis, [start[3], start[7], start[11]])),
    rest: axes.map((axis) => dot(axis, [rest[3], rest[7], rest[11]])),
    cos: isOnSide ? 1 : cos / level,
    sin: isOnSide ? 0 : sin / level,
  };
}

/** The axes of a figure that faces elsewhere. @param {number[][]} axes @param {Facing} facing @returns {Vector[]} */
export function turnAxes([ahead, left, up], { cos, sin }) {
  return [ahead.map((x, k) => cos * x + sin * left[k]), left.map((x, k) => cos * x - sin * ahead[k]), up];
}

/** @param {number[]} quaternion w x y z */
function invert([w, x, y, z]) {
  return [w, -x, -y, -z];
}

/** @param {number[]} quaternion w x y z @param {Vector} vector @returns {Vector} */
function rotate([w, x, y, z], [vx, vy, vz]) {
  const [tx, ty, tz] = [2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)];
  return [vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx];
}

/** Where a figure stands and faces, beside its start pose. */

/** @import { Vector } from "poise/protocol/messages.ts" */

import { dot } from "poise/engine/maps.js";

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
  const inHips = [0, 1, 2].map((k) => start[k] * left[0] + start[4 + k] * left[1] + start[8 + k] * left[2]);
  const length2 = dot(inHips, inHips) || 1;
  const now = [0, 4, 8].map((row) => dot(rest.subarray(row, row + 3), inHips) / length2);
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

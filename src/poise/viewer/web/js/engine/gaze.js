/** Where a head looks. Solved after the body, so that nothing else moves for it. */

/**
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedGaze } from "poise/engine/packed.ts"
 * @import { Vector } from "poise/protocol/messages.ts"
 */

import { Group } from "poise/engine/chains.js";

export class Gaze {
  /** @param {Kernels} kernels @param {PackedGaze} packed by viewer/offline/body.py @param {Uint8Array} numbers */
  constructor(kernels, packed, numbers) {
    this.packed = packed;
    this.group = new Group(kernels, packed.group, numbers);
  }

  /**
   * Turn neck and head from their rest to a point.
   * @param {Float64Array} q
   * @param {ArrayLike<number>} rest q
   * @param {Float64Array} maps of all joints in q
   * @param {Vector} point
   * @returns {Float64Array} q
   */
  solve(q, rest, maps, point) {
    const start = Float64Array.from(q);
    for (const [first, end] of this.packed.columns) for (let i = first; i < end; i++) start[i] = rest[i];
    this.group.place(maps);
    return this.group.solve([...point], start).q;
  }
}

/**
 * A point that a standing person can look at. Its distance is kept.
 * @param {Vector[]} axes ahead, left, up
 * @param {PackedGaze["range"]} range
 * @param {Float64Array} head its map
 * @param {Vector} point
 * @returns {Vector}
 */
export function clampGaze(axes, range, head, point) {
  const eye = [head[3], head[7], head[11]];
  const [ahead, left, up] = axes.map((axis) => axis.reduce((sum, part, k) => sum + part * (point[k] - eye[k]), 0));
  const distance = Math.hypot(ahead, left, up);
  const yaw = clamp(Math.atan2(left, ahead), -range.yaw, range.yaw);
  const pitch = clamp(Math.atan2(up, Math.hypot(ahead, left)), ...range.pitch);
  const shares = [Math.cos(pitch) * Math.cos(yaw), Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch)];
  return eye.map((start, k) => start + distance * axes.reduce((sum, axis, i) => sum + shares[i] * axis[k], 0));
}

/** @param {number} value @param {number} low @param {number} high */
function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

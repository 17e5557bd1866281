/** Where a head looks. Solved after the body, so that nothing else moves for it. */

/**
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedGaze } from "poise/engine/packed.ts"
 * @import { Vector } from "poise/protocol/messages.ts"
 */

import { Group } from "poise/engine/chains.js";

const MAX_YAW = (70 * Math.PI) / 180; // [rad] as in viewer/document/whole_body.py
const [LOWEST, HIGHEST] = [(-60 * Math.PI) / 180, (50 * Math.PI) / 180]; // [rad] of the pitch

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
 * @param {Float64Array} head its map
 * @param {Vector} point
 * @returns {Vector}
 */
export function clampGaze(axes, head, point) {
  const eye = [head[3], head[7], head[11]];
  const [ahead, left, up] = axes.map((axis) => axis.reduce((sum, part, k) => sum + part * (point[k] - eye[k]), 0));
  const distance = Math.hypot(ahead, left, up);
  const yaw = clamp(Math.atan2(left, ahead), -MAX_YAW, MAX_YAW);
  const pitch = clamp(Math.atan2(up, Math.hypot(ahead, left)), LOWEST, HIGHEST);
  const shares = [Math.cos(pitch) * Math.cos(yaw), Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch)];
  return eye.map((start, k) => start + distance * axes.reduce((sum, axis, i) => sum + shares[i] * axis[k], 0));
}

/** @param {number} value @param {number} low @param {number} high */
function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

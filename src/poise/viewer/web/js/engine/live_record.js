/** Figures of racing methods for the newest targets, as comparison/live.py measures them. */

/**
 * @import { Chains } from "poise/engine/chains.js"
 * @import { PackedRace, RaceJoint } from "poise/engine/packed.ts"
 */

const MOST_TARGETS = 120; // the newest that count
const MIN_PATH_SHARE = 0.95; // of solved targets, from which a method follows the path
const TIMED = 0.5; // [ms] that a solve is repeated: clocks of browsers are coarse
const MOST_REPEATS = 20;

/** @typedef {{q: Float64Array, microseconds: number, iterations: number, isSolved: boolean}} Output */

export class LiveRecord {
  /** @param {Chains} chains @param {PackedRace} packed */
  constructor(chains, packed) {
    this.chains = chains;
    this.packed = packed;
    /** @type {Map<string, Output[]>} by method, the newest last */
    this.outputs = new Map();
  }

  /** Solve for the target by each method, from its answer before. @param {string[]} methods */
  follow(methods) {
    for (const method of methods) {
      const outputs = this.outputs.get(method) ?? [];
      const start = outputs.at(-1)?.q ?? this.chains.start;
      if (!outputs.length) this.chains.run(method, start); // the browser compiles what runs for the first time
      outputs.push(this.#solve(method, start));
      if (outputs.length > MOST_TARGETS) outputs.shift();
      this.outputs.set(method, outputs);
    }
  }

  /** @param {string} method @param {Float64Array} start @returns {Output} */
  #solve(method, start) {
    const began = performance.now();
    let solved = this.chains.run(method, start);
    let repeats = 1;
    while (performance.now() - began < TIMED && repeats < MOST_REPEATS) {
      solved = this.chains.run(method, start);
      repeats += 1;
    }
    const microseconds = (1000 * (performance.now() - began)) / repeats;
    const { q, iterations, isMet } = solved;
    const isSolved = isMet && (this.chains.measure(q) ?? 0) <= this.packed.tolerance;
    return { q, microseconds, iterations, isSolved };
  }

  /** Time of the newest solve of a method. @param {string} method @returns {number} [µs] */
  findNewestTime(method) {
    return this.outputs.get(method)?.at(-1)?.microseconds ?? 0;
  }

  /** Measure a method by the columns of `poise compare`. @param {string} method @returns {Record<string, number>} */
  measure(method) {
    const outputs = this.outputs.get(method) ?? [];
    const solved = outputs.filter(({ isSolved }) => isSolved);
    const share = outputs.length ? solved.length / outputs.length : NaN;
    const times = outputs.map(({ microseconds }) => microseconds);
    const poses = outputs.map(({ q }) => q);
    const [step, acceleration, jerk] =
      share >= MIN_PATH_SHARE ? measureSmoothness(poses, this.packed.joints) : [NaN, NaN, NaN];
    return {
      solved_1: 100 * share,
      call: findQuantile(times, 0.5),
      call_p99: findQuantile(times, 0.99),
      iterations: findQuantile(
        solved.map(({ iterations }) => iterations),
        0.5,
      ),
      step,
      acceleration,
      jerk,
    };
  }
}

/**
 * The largest first, second and third difference of a joint along poses.
 * @param {Float64Array[]} poses
 * @param {RaceJoint[]} joints
 */
export function measureSmoothness(poses, joints) {
  let steps = poses.slice(1).map((q, i) => joints.map((joint) => displace(joint, poses[i], q)));
  return [0, 1, 2].map(() => {
    const sizes = steps.flatMap((step) => step.map((parts) => Math.hypot(...parts)));
    steps = steps.slice(1).map((step, i) => step.map((parts, j) => parts.map((part, k) => part - steps[i][j][k])));
    return sizes.length ? Math.max(...sizes) : NaN;
  });
}

/**
 * How a joint moved: a rotation vector, or a value.
 * @param {RaceJoint} joint
 * @param {Float64Array} a
 * @param {Float64Array} b
 */
function displace(joint, a, b) {
  if ("quaternion" in joint) return turnBetween(a.subarray(joint.quaternion), b.subarray(joint.quaternion));
  const value = joint.factor * (b[joint.column] - a[joint.column]);
  return [joint.turns ? value - 2 * Math.PI * Math.floor((value + Math.PI) / (2 * Math.PI)) : value];
}

/** The rotation vector of b a^-1, the shorter way. @param {Float64Array} a @param {Float64Array} b w x y z */
function turnBetween([aw, ax, ay, az], [bw, bx, by, bz]) {
  const w = bw * aw + bx * ax + by * ay + bz * az;
  const vector = [
    bx * aw - bw * ax - by * az + bz * ay,
    by * aw - bw * ay - bz * ax + bx * az,
    bz * aw - bw * az - bx * ay + by * ax,
  ];
  const length = Math.hypot(...vector);
  if (length === 0) return [0, 0, 0];
  const angle = 2 * Math.atan2(length, Math.abs(w)) * (w < 0 ? -1 : 1);
  return vector.map((part) => (part / length) * angle);
}

/** A quantile, between two numbers in proportion. @param {number[]} numbers @param {number} share */
function findQuantile(numbers, share) {
  if (!numbers.length) return NaN;
  const sorted = [...numbers].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
}

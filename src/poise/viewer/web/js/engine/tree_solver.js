/** The engine of trees on problems of a body. Targets and a start in, a configuration with its error curve out. */

/**
 * @import { Kernels, Memory } from "poise/engine/kernels.js"
 * @import { Letter, Scalar } from "poise/engine/packed.ts"
 * @import { Goal, Problem, Tree } from "poise/engine/tree.js"
 */

const [FRAME_ROW, TERM_ROW, EFFECTOR_ROW, LIMIT_ROW] = [9, 15, 29, 14]; // see kernels/layout.py
const [MAX_LANES, LANE_STATE_ROWS, NODE_NUMBERS] = [8, 14, 25]; // of the work memory, see kernels/lane_workspace.py
const MAX_PREFERENCE = 2; // largest weight of a preferred pose
const PREFERENCE_SHARE = 0.5; // of the way to it that a step covers
const PREFERENCE_ITERATIONS = 150; // at least, with a preferred pose
const MAX_CURVE = 400; // iterations of a curve

/**
 * @typedef {object} Packed a problem in the memory of the kernels
 * @property {Problem} problem
 * @property {boolean} isPlain whether nothing has limits
 * @property {Memory[]} maps between q and u
 * @property {Memory} turning
 * @property {Memory} base
 * @property {Memory} columns
 * @property {Memory[]} before arguments before the targets
 * @property {Memory[]} behind arguments behind the start
 */

export class TreeSolver {
  /**
   * @param {Kernels} kernels
   * @param {Tree} tree
   */
  constructor(kernels, tree) {
    this.kernels = kernels;
    this.tree = tree;
    this.nq = tree.start.length;
    /** Memory by name; it grows with the largest problem. @type {Map<string, Memory>} */
    this.memory = new Map();
    /** @type {Packed|null} */
    this.packed = null;
  }

  /**
   * Choose what the next solves are about.
   * @param {Goal[]} goals
   * @param {{preferred?: Float64Array|null, preference?: number}} [rest] a pose that is preferred, and its weight
   */
  setGoals(goals, { preferred = null, preference = 0 } = {}) {
    const problem = this.tree.pack(goals);
    const { map, nd, nu, count, termCount } = problem;
    const { damping, iterations, restarts, polish } = this.tree.packed;
    const prefers = preferred !== null && preference > 0;
    const steps = prefers ? Math.max(iterations, PREFERENCE_ITERATIONS) : iterations;
    const isPlain = problem.limits.every((number) => number === 0);
    const maps = [
      this.#write("shared", "I", [map.shared.length / 2, 2], map.shared),
      this.#write("hinged balls", "I", [map.hingedBalls.length / 2, 2], map.hingedBalls),
      this.#write("hinged limits", "F", [map.hingedLimits.length / 7, 7], map.hingedLimits),
      this.#write("moves", "I", [map.moves.length / 2, 2], map.moves),
      this.#write("move scales", "F", [map.moveScales.length], map.moveScales),
    ];
    // A hinge that is preferred somewhere stays in its own turn.
    const turning = prefers ? [] : map.turning;
    const work =
      MAX_LANES *
      (LANE_STATE_ROWS +
        NODE_NUMBERS * count +
        2 * nu +
        2 * problem.targetWidth +
        nd * (3 * termCount + 1) +
        3 * termCount * (3 * termCount + 4)); // prettier-ignore
    const preferredU = this.#reserve("preferred u", "F", [1, nu]);
    this.kernels.viewNumbers(preferredU).fill(0);
    if (prefers) this.#convert(preferred, preferredU, maps);
    const weight = prefers ? Math.min(preference, MAX_PREFERENCE) : 0;
    this.packed = {
      problem,
      isPlain,
      maps,
      turning: this.#write("turning", "F", [turning.length / 3, 3], turning),
      base: this.#write("base", "F", [1, 12], this.tree.arrays.base),
      columns: this.#write("columns", "I", [problem.targetColumns.length / 3, 3], problem.targetColumns),
      before: [
        this.#write("nodes", "I", [count, 4], problem.nodeTable),
        this.#write("frames", "F", [1, count, FRAME_ROW], problem.frames),
        this.#write("dofs", "F", [nd, 4], problem.dofs),
        this.#write("terms", "I", [termCount, TERM_ROW], problem.terms),
        this.#write("effectors", "F", [termCount, EFFECTOR_ROW], problem.effectors),
        this.#write("paths", "I", [problem.paths.length], problem.paths),
        this.#write("ranges", "I", [nd, 2], problem.ranges),
      ],
      behind: [
        this.#write("draws", "F", [restarts, nd], this.tree.arrays.draws.subarray(0, restarts * nd)),
        { ...preferredU, shape: [nu] },
        this.#write("weights", "F", [nd], new Float64Array(nd).fill(weight)),
        ...(isPlain ? [] : [this.#write("limits", "F", [count, LIMIT_ROW], problem.limits)]),
        this.#write("settings", "F", [6], [...damping, steps, restarts, polish, prefers ? PREFERENCE_SHARE : 0]),
        this.#reserve("work", "F", [work]),
      ],
    };
  }

  /** Prefer another pose, with the weight that was chosen with the goals. @param {ArrayLike<number>} q */
  setPreferred(q) {
    if (!this.packed) throw new Error("no goals were chosen");
    const { maps, problem } = this.packed;
    this.#convert(q, this.#reserve("preferred u", "F", [1, problem.nu]), maps);
  }

  /** @param {ArrayLike<number>} q @param {Memory} u @param {Memory[]} maps */
  #convert(q, u, maps) {
    const source = this.#write("source q", "F", [1, this.nq], q);
    this.#call("kernel_coordinates.convert_q_to_u", [source, ...maps, u]);
    return source;
  }

  /**
   * Solve for targets from a start.
   * @param {ArrayLike<number>} targets x y z, and w x y z of a goal that turns, goal by goal
   * @param {ArrayLike<number>} start q
   * @param {boolean} [traced] whether the curve of errors is wanted
   */
  solve(targets, start, traced = false) {
    if (!this.packed) throw new Error("no goals were chosen");
    const { problem, isPlain, maps, turning, base, columns, before, behind } = this.packed;
    const { nu, width, targetWidth, unit } = problem;
    const world = this.#write("world targets", "F", [1, width], targets);
    const startU = this.#reserve("start u", "F", [1, nu]);
    const startQ = this.#convert(start, startU, maps);
    const kernelTargets = this.#reserve("kernel targets", "F", [1, targetWidth]);
    const signedUnit = { f: this.tree.packed.base_scale * unit };
    this.#call("kernel_coordinates.convert_targets", [world, base, signedUnit, columns, kernelTargets]);
    const u = this.#write("u", "F", [1, nu], new Float64Array(nu));
    const [errors, counts] = [this.#write("errors", "F", [1], [0]), this.#write("counts", "I", [1, 3], [0, 0, 0])];
    const trace = this.#reserve("trace", "F", [traced ? MAX_CURVE : 0, traced ? nu + 1 : 0]);
    const makeNone = (/** @type {number} */ axes) => this.#reserve(`none ${axes}`, "F", new Array(axes).fill(0));
    const noLayout = this.#reserve("no layout", "I", [0]);
    const worldTargets = [makeNone(1), noLayout, ...Array.from({ length: 6 }, () => makeNone(2)), makeNone(3)]; // here there are none
    this.#call(`tree_lm.${isPlain ? "plain4" : "solve4"}`, [
      ...before,
      kernelTargets,
      startU,
      ...behind,
      { i: 0 },
      { i: 1 },
      ...[u, errors, counts, trace],
      ...worldTargets,
    ]);
    const [iterations, attempts, isMet] = [...this.kernels.viewIntegers(counts)].map(Number);
    const moved = this.#reserve("moved", "B", [1]);
    this.kernels.viewBytes(moved)[0] = iterations > 0 ? 1 : 0;
    const q = this.#reserve("q", "F", [1, this.nq]);
    this.#call("kernel_coordinates.convert_u_to_q", [u, moved, startQ, ...maps, turning, q]);
    const curve = traced ? this.#readCurve(problem, trace, iterations + attempts) : [];
    const [error] = this.kernels.viewNumbers(errors);
    return { q: Float64Array.from(this.kernels.viewNumbers(q)), iterations, isMet: isMet > 0, error, curve };
  }

  /**
   * Errors before each iteration, of one goal in file units.
   * @param {Problem} problem
   * @param {Memory} trace
   * @param {number} rows
   */
  #readCurve({ goals, unit, nu }, trace, rows) {
    const single = goals.length === 1 && !goals[0].turns;
    const scale = single ? Math.abs(this.tree.packed.base_scale * unit) / goals[0].weight : 1;
    const numbers = this.kernels.viewNumbers(trace);
    const count = Math.min(rows, trace.shape[0]);
    return Array.from({ length: count }, (_, i) => Math.sqrt(numbers[(nu + 1) * i]) * scale);
  }

  /** @param {string} name @param {(Memory|Scalar)[]} words */
  #call(name, words) {
    const filled = words.map((word) => ("address" in word ? { array: word, start: 0, shape: word.shape } : word));
    this.kernels.call(name, this.kernels.fill(filled));
  }

  /**
   * Memory of a name with a shape. Only more than it ever had is reserved anew.
   * @param {string} name
   * @param {Letter} type
   * @param {number[]} shape
   * @returns {Memory}
   */
  #reserve(name, type, shape) {
    const count = shape.reduce((product, extent) => product * extent, 1);
    let memory = this.memory.get(name);
    if (!memory || memory.count < count) {
      memory = this.kernels.reserveArray(type, [count]);
      this.memory.set(name, memory);
    }
    return { type, shape, count, address: memory.address };
  }

  /** @param {string} name @param {"F"|"I"} type @param {number[]} shape @param {ArrayLike<number>} values */
  #write(name, type, shape, values) {
    const array = this.#reserve(name, type, shape);
    if (type === "I") this.kernels.viewIntegers(array).set(Array.from(values, (value) => BigInt(value)));
    else this.kernels.viewNumbers(array).set(values);
    return array;
  }
}

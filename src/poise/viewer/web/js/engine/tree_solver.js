/** The engine of trees on problems of a body: targets and a start in, a configuration with its error curve out. */

/**
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { Goal, Tree } from "poise/engine/tree.js"
 */

// @ts-nocheck: the types of its problems are still to be written

const [FRAME_ROW, TERM_ROW, EFFECTOR_ROW, LIMIT_ROW] = [9, 15, 29, 14]; // see kernels/layout.py
const [MAX_LANES, LANE_STATE_ROWS, NODE_NUMBERS] = [8, 14, 25]; // of the work memory, see kernels/lane_workspace.py
const MAX_PREFERENCE = 2; // largest weight of a preferred pose
const PREFERENCE_SHARE = 0.5; // of the way to it that a step covers
const PREFERENCE_ITERATIONS = 150; // at least, with a preferred pose
const MAX_CURVE = 400; // iterations of a curve

export class TreeSolver {
  /**
   * @param {Kernels} kernels
   * @param {Tree} tree
   */
  constructor(kernels, tree) {
    this.kernels = kernels;
    this.tree = tree;
    this.nq = tree.start.length;
    /** @type {Map<string, any>} memory by name; it grows with the largest problem */
    this.memory = new Map();
    this.problem = null;
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
    const write = (name, type, shape, values) => this.#write(name, type, shape, values);
    this.problem = problem;
    this.isPlain = isPlain;
    this.maps = [
      write("shared", "I", [map.shared.length / 2, 2], map.shared),
      write("hinged balls", "I", [map.hingedBalls.length / 2, 2], map.hingedBalls),
      write("hinged limits", "F", [map.hingedLimits.length / 7, 7], map.hingedLimits),
      write("moves", "I", [map.moves.length / 2, 2], map.moves),
      write("move scales", "F", [map.moveScales.length], map.moveScales),
    ];
    // A hinge that is preferred somewhere stays in its own turn.
    const turning = prefers ? [] : map.turning;
    this.turning = write("turning", "F", [turning.length / 3, 3], turning);
    this.base = write("base", "F", [1, 12], this.tree.arrays.base);
    this.columns = write("columns", "I", [problem.targetColumns.length / 3, 3], problem.targetColumns);
    const work =
      MAX_LANES *
      (LANE_STATE_ROWS +
        NODE_NUMBERS * count +
        2 * nu +
        2 * problem.targetWidth +
        nd * (3 * termCount + 1) +
        3 * termCount * (3 * termCount + 4)); // prettier-ignore
    this.arrays = {
      before: [
        write("nodes", "I", [count, 4], problem.nodeTable),
        write("frames", "F", [1, count, FRAME_ROW], problem.frames),
        write("dofs", "F", [nd, 4], problem.dofs),
        write("terms", "I", [termCount, TERM_ROW], problem.terms),
        write("effectors", "F", [termCount, EFFECTOR_ROW], problem.effectors),
        write("paths", "I", [problem.paths.length], problem.paths),
        write("ranges", "I", [nd, 2], problem.ranges),
      ],
      draws: write("draws", "F", [restarts, nd], this.tree.arrays.draws.subarray(0, restarts * nd)),
      limits: isPlain ? [] : [write("limits", "F", [count, LIMIT_ROW], problem.limits)],
      settings: write("settings", "F", [6], [...damping, steps, restarts, polish, prefers ? PREFERENCE_SHARE : 0]),
      work: this.#reserve("work", "F", [work]),
    };
    this.#prefer(prefers ? preferred : null, Math.min(preference, MAX_PREFERENCE));
  }

  /** The configuration that is preferred, by weight. */
  #prefer(preferred, weight) {
    const { nd, nu } = this.problem;
    const weights = this.#write("weights", "F", [nd], new Float64Array(nd).fill(preferred ? weight : 0));
    const u = this.#reserve("preferred u", "F", [1, nu]);
    this.#view(u).fill(0);
    if (preferred) this.#convert(preferred, u);
    this.preference = [{ ...u, shape: [nu] }, weights];
  }

  #convert(q, u) {
    const source = this.#write("source q", "F", [1, this.nq], q);
    this.#call("kernel_coordinates.convert_q_to_u", [source, ...this.maps, u]);
  }

  /**
   * Solve for targets from a start.
   * @param {ArrayLike<number>} targets x y z, and w x y z of a goal that turns, goal by goal
   * @param {ArrayLike<number>} start q
   * @param {boolean} [traced] whether the curve of errors is wanted
   */
  solve(targets, start, traced = false) {
    const { nd: _, nu, width, targetWidth, unit } = this.problem;
    const world = this.#write("world targets", "F", [1, width], targets);
    const startQ = this.#write("start q", "F", [1, this.nq], start);
    const startU = this.#reserve("start u", "F", [1, nu]);
    this.#call("kernel_coordinates.convert_q_to_u", [startQ, ...this.maps, startU]);
    const kernelTargets = this.#reserve("kernel targets", "F", [1, targetWidth]);
    const signedUnit = { f: this.tree.packed.base_scale * unit };
    this.#call("kernel_coordinates.convert_targets", [world, this.base, signedUnit, this.columns, kernelTargets]);
    const u = this.#write("u", "F", [1, nu], new Float64Array(nu));
    const [errors, counts] = [this.#write("errors", "F", [1], [0]), this.#write("counts", "I", [1, 3], [0, 0, 0])];
    const trace = this.#reserve("trace", "F", [traced ? MAX_CURVE : 0, traced ? nu + 1 : 0]);
    const { before, draws, limits, settings, work } = this.arrays;
    const none = (...shape) => this.#reserve(`none ${shape.length}`, "F", shape);
    this.#call(`tree_lm.${this.isPlain ? "plain4" : "solve4"}`, [
      ...before,
      kernelTargets,
      startU,
      draws,
      ...this.preference,
      ...limits,
      settings,
      work,
      { i: 0 },
      { i: 1 },
      u,
      errors,
      counts,
      trace,
      none(0),
      this.#reserve("no layout", "I", [0]),
      none(0, 0),
      none(0, 0),
      none(0, 0),
      none(0, 0),
      none(0, 0),
      none(0, 0),
      none(0, 0, 0),
    ]); // prettier-ignore
    const [iterations, attempts, isMet] = [...this.#view(counts)].map(Number);
    const moved = this.#write("moved", "B", [1], [iterations > 0 ? 1 : 0]);
    const q = this.#reserve("q", "F", [1, this.nq]);
    this.#call("kernel_coordinates.convert_u_to_q", [u, moved, startQ, ...this.maps, this.turning, q]);
    const answer = { q: Float64Array.from(this.#view(q)), iterations, isMet: isMet > 0 };
    return traced ? { ...answer, curve: this.#readCurve(trace, nu, iterations + attempts) } : answer;
  }

  /** Errors before each iteration, of one goal in file units. */
  #readCurve(trace, nu, rows) {
    const { goals, unit } = this.problem;
    const single = goals.length === 1 && !goals[0].turns;
    const scale = single ? Math.abs(this.tree.packed.base_scale * unit) / goals[0].weight : 1;
    const numbers = this.#view(trace);
    const count = Math.min(rows, trace.shape[0]);
    return Array.from({ length: count }, (_, i) => Math.sqrt(numbers[(nu + 1) * i]) * scale);
  }

  #call(name, words) {
    const filled = words.map((word) => ("address" in word ? { array: word, start: 0, shape: word.shape } : word));
    this.kernels.call(name, this.kernels.fill(filled));
  }

  /** Memory of a name with a shape; only more than it ever had is reserved anew. */
  #reserve(name, type, shape) {
    const count = shape.reduce((product, extent) => product * extent, 1);
    let memory = this.memory.get(name);
    if (!memory || memory.count < count) {
      memory = this.kernels.reserveArray(type, [count]);
      this.memory.set(name, memory);
    }
    return { type, shape, count, address: memory.address };
  }

  #write(name, type, shape, values) {
    const array = this.#reserve(name, type, shape);
    this.#view(array).set(type === "I" ? Array.from(values, (value) => BigInt(value)) : values);
    return array;
  }

  #view(array) {
    return this.kernels.view(array, 0, array.count);
  }
}

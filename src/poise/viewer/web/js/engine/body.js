/**
 * A whole body that this page solves: what the document of the viewer does in viewer/document/pulls.py.
 *
 * One part is pulled at a time; its target stays where it was let go. Pinned parts hold their place. The engine of trees
 * meets the goals; among its answers it prefers the start pose.
 */

/** @import { Kernels } from "poise/engine/kernels.js" */

// @ts-nocheck: the types of its problems are still to be written

import { Program } from "poise/engine/program.js";
import { Tree } from "poise/engine/tree.js";
import { TreeSolver } from "poise/engine/tree_solver.js";

const REST_PULL = 0.5; // weight of the start pose
const ORIGIN = [0, 0, 0];

/**
 * @typedef {object} Answer what the last solve did
 * @property {"reached"|"missed"|"nothing"} status
 * @property {number} iterations
 * @property {number} milliseconds
 * @property {number|null} left largest distance of a pulled point from its target [file units]
 * @property {number[]} curve error before each iteration
 */

export class Body {
  /**
   * @param {Kernels} kernels
   * @param {any} packed by viewer/offline/body.py
   * @param {Uint8Array} numbers
   */
  constructor(kernels, packed, numbers) {
    this.packed = packed;
    this.kernels = kernels;
    this.solvers = new Map();
    this.maps = new Map();
    this.numbers = numbers;
    this.mode = Object.keys(packed.modes)[0];
    this.restPull = true;
    this.reset();
  }

  /** Choices of limits. @returns {{value: string, text: string}[]} */
  get modes() {
    return Object.entries(this.packed.modes).map(([value, { title }]) => ({ value, text: title }));
  }

  get methods() {
    return [{ value: "levenberg_marquardt", text: "Levenberg-Marquardt" }];
  }

  get hint() {
    return "Drag a part. A click on a hand or foot pins it.";
  }

  get method() {
    return this.methods[0].value;
  }

  get solver() {
    if (!this.solvers.has(this.mode)) {
      const tree = new Tree(this.packed.modes[this.mode], this.numbers);
      this.solvers.set(this.mode, new TreeSolver(this.kernels, tree));
      this.maps.set(this.mode, new Program(this.kernels, this.packed.modes[this.mode].maps, this.numbers));
    }
    return this.solvers.get(this.mode);
  }

  /** The start pose, with its pins; nothing is pulled. */
  reset() {
    this.#startFrom(this.solver.tree.start);
    this.pulled = null;
    this.pins = new Map(this.packed.pins.map((joint) => [joint, { enabled: true, ...this.placeOf(joint) }]));
    this.answer = { status: "nothing", iterations: 0, milliseconds: 0, left: null, curve: [] };
  }

  /** A frame of the clip becomes the pose; pinned parts hold where they are in it. @param {number} i */
  adoptFrame(i) {
    const [offset, count] = this.packed.frames;
    const { nq } = this.solver;
    const at = this.numbers.byteOffset + offset + 4 * nq * i;
    if (nq * (i + 1) > count) return;
    this.#startFrom(new Float32Array(this.numbers.buffer.slice(at, at + 4 * nq)));
    this.pulled = null;
    for (const [joint, pin] of this.pins) this.pins.set(joint, { ...pin, ...this.placeOf(joint) });
  }

  /** A pose to start from, which is preferred. */
  #startFrom(q) {
    this.q = Float64Array.from(q);
    this.rest = Float64Array.from(q);
    for (const solver of this.solvers.values()) solver.key = null; // what it prefers is another pose now
  }

  /** What the page cannot do. */
  get note() {
    return "Natural poses need Poise itself: here the engine prefers the start pose.";
  }

  /** @param {string} mode limits or none */
  setMode(mode) {
    this.mode = mode;
    this.#startFrom(this.solver.tree.start); // the last pose may be beyond limits
    this.solve();
  }

  /** @param {boolean} on whether answers prefer the start pose */
  setRestPull(on) {
    this.restPull = on;
    this.solve();
  }

  /** Pin a part where it is, or let it go. @param {string} joint */
  pin(joint) {
    if (!this.packed.pinnable.includes(joint)) return;
    const pin = this.pins.get(joint);
    if (this.pulled?.joint === joint) this.#release();
    if (pin?.enabled) pin.enabled = false;
    else this.pins.set(joint, { enabled: true, ...this.placeOf(joint) });
  }

  /** Pull a part, or turn it; keys say no offset. @param {any} drag as the viewport tells it */
  drag({ joint, offset = ORIGIN, position, rotation, phase }) {
    const turns = rotation !== undefined;
    if (phase === "start" || this.pulled?.joint !== joint) this.#begin(joint, turns ? ORIGIN : offset, turns);
    const before = JSON.stringify([this.pulled.position, this.pulled.rotation]);
    this.pulled.position = position;
    if (turns) this.pulled.rotation = rotation;
    if (JSON.stringify([position, this.pulled.rotation]) !== before) this.solve();
    if (phase === "end") this.#settle();
  }

  #begin(joint, offset, turns) {
    this.#release();
    const pin = this.pins.get(joint);
    const isPin = Boolean(pin?.enabled);
    const turned = isPin ? pin.rotation : turns ? this.placeOf(joint).rotation : null;
    this.pulled = { joint, offset, position: null, rotation: turned, isPin };
    if (isPin) pin.enabled = false;
  }

  /** Nothing is pulled: a pin holds where its joint is now. */
  #release() {
    if (this.pulled?.isPin) this.pins.set(this.pulled.joint, { enabled: true, ...this.placeOf(this.pulled.joint) });
    this.pulled = null;
  }

  /** A part that was pulled beyond reach rests where it is. */
  #settle() {
    if (this.pulled.isPin) return this.#release();
    if (this.answer.status !== "reached") this.pulled.position = this.pointOf(this.pulled.joint, this.pulled.offset);
  }

  /** Goals of what is pinned and pulled, and their targets side by side. */
  collect() {
    const { names } = this.solver.tree;
    const { pulled } = this;
    const goals = [];
    const targets = [];
    for (const [joint, { enabled, position, rotation }] of this.pins) {
      if (!enabled) continue;
      goals.push({ part: names.indexOf(joint), turns: true, offset: ORIGIN, weight: this.packed.pin_weight });
      targets.push(...position, ...rotation);
    }
    if (pulled) {
      const { joint, offset, position, rotation } = pulled;
      const weight = this.packed.pulled_pin_weight; // so much has any pulled part
      goals.push({ part: names.indexOf(joint), turns: rotation !== null, offset, weight });
      targets.push(...position, ...(rotation ?? []));
    }
    return { goals, targets };
  }

  solve() {
    const { solver, pulled } = this;
    const began = performance.now();
    const { goals, targets } = this.collect();
    if (!goals.length) return;
    this.#choose(goals);
    const { q, iterations, isMet, curve } = solver.solve(targets, this.q, true);
    this.q = q;
    const milliseconds = performance.now() - began;
    const left = pulled ? distance(this.pointOf(pulled.joint, pulled.offset), pulled.position) : null;
    this.answer = { status: isMet ? "reached" : "missed", iterations, milliseconds, left, curve };
  }

  /** The goals of the next solves. Packing takes a millisecond, so the same goals are packed once. */
  #choose(goals) {
    const { solver } = this;
    const key = JSON.stringify([this.mode, this.restPull, goals]);
    if (solver.key === key) return;
    const rest = this.restPull ? { preferred: this.rest, preference: REST_PULL } : {};
    solver.setGoals(goals, rest);
    solver.key = key;
  }

  /** World maps of all joints, 12 numbers each: three rows of four. */
  computeMaps() {
    this.solver; // makes the program of its mode
    const program = this.maps.get(this.mode);
    program.run({ q: this.q });
    return program.view("maps");
  }

  #mapOf(joint) {
    const maps = this.computeMaps();
    const row = this.solver.tree.rowOf(joint);
    return maps.subarray(12 * row, 12 * row + 12);
  }

  /** @param {string} joint @param {number[]} offset in its frame */
  pointOf(joint, offset) {
    const map = this.#mapOf(joint);
    return [0, 4, 8].map((k) => map[k] * offset[0] + map[k + 1] * offset[1] + map[k + 2] * offset[2] + map[k + 3]);
  }

  /** @param {string} joint @returns {{position: number[], rotation: number[]}} */
  placeOf(joint) {
    const map = this.#mapOf(joint);
    return { position: [map[3], map[7], map[11]], rotation: quaternionOf(map) };
  }

  /** What the viewport shows of the goals: the part of a state message. */
  describe() {
    const chains = [...this.pins].map(([joint, pin]) => ({ ...pin, id: `pin ${joint}`, kind: "pin", tip: joint }));
    const { pulled } = this;
    if (pulled?.position) {
      const rotation = pulled.rotation ?? [1, 0, 0, 0];
      const kind = pulled.rotation ? "place" : "position";
      chains.push({ id: "pull", kind, tip: pulled.joint, enabled: true, position: pulled.position, rotation });
    }
    const all = chains.map((chain) => ({ joints: [], others: [], relative_to: null, ...chain }));
    return { chains: all, scope: "body", free_root: true, pulled: pulled ? "pull" : null };
  }
}

function distance(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/** The rotation w x y z of a map; its scale does not matter. */
function quaternionOf(map) {
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

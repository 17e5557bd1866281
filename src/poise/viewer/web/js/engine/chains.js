/** Chains that this page solves by the method that is chosen: targets in, poses and errors out. */

/** @import { Kernels } from "poise/engine/kernels.js" */

// @ts-nocheck: the types of its problems are still to be written

import { Program } from "poise/engine/program.js";

const TURNING = new Set(["place", "pin"]); // kinds of chains whose rotation counts

/** The program of a group of chains; a free chain is straightened towards targets out of reach. */
class Group {
  constructor(kernels, packed, numbers) {
    this.names = packed.chains;
    this.line = packed.line;
    const make = (program) => new Program(kernels, program, numbers);
    this.program = make(packed.program);
    this.check = this.line ? make(this.line.check) : null;
    this.straight = this.line ? make(this.line.program) : null;
  }

  /** @param {number[]} target numbers of all its chains @param {Float64Array} start q */
  solve(target, start) {
    const program = this.#choose(target);
    program.run({ target, start });
    return {
      q: Float64Array.from(program.view("q")),
      iterations: Number(program.view("iterations")[0]),
      isMet: program.view("met")[0] > 0,
      curve: readCurve(program),
    };
  }

  #choose(target) {
    if (!this.line) return this.program;
    this.check.run({ target });
    const point = this.check.view("point");
    const { origin, distance } = this.line;
    const squared = origin.reduce((sum, value, k) => sum + (point[k] - value) ** 2, 0);
    return squared > distance * distance ? this.straight : this.program;
  }
}

/** The error before each iteration. */
function readCurve(program) {
  const { curve } = program.packed;
  if (!curve) return [];
  const count = curve.counts.reduce((sum, part) => sum + Number(program.viewPart(part)[0]), curve.more);
  const numbers = program.viewPart(curve.numbers);
  const rows = Math.min(count, Math.floor(numbers.length / curve.stride));
  const read = (i) => numbers[i * curve.stride];
  return Array.from({ length: rows }, (_, i) => curve.scale * (curve.is_squared ? Math.sqrt(read(i)) : read(i)));
}

export class Chains {
  /**
   * @param {Kernels} kernels
   * @param {any} packed by viewer/offline/chains.py
   * @param {Uint8Array} numbers
   * @param {{chains: any[], scope: string}} document the chains as a state message has them
   */
  constructor(kernels, packed, numbers, document) {
    this.kernels = kernels;
    this.packed = packed;
    this.numbers = numbers;
    this.document = document;
    this.mode = Object.keys(packed.modes)[0];
    this.method = packed.method;
    this.compares = false;
    this.groups = new Map();
    this.maps = new Map();
    this.reset();
  }

  get modes() {
    return Object.entries(this.packed.modes).map(([value, { title }]) => ({ value, text: title }));
  }

  get methods() {
    return Object.entries(this.now.methods).map(([value, { title, refusal }]) => ({ value, text: title, refusal }));
  }

  /** What is packed for the chosen limits. */
  get now() {
    return this.packed.modes[this.mode];
  }

  get hint() {
    return "Drag a target, or the limb that reaches for it.";
  }

  /** What the method leaves out, and why. */
  get note() {
    const { groups = [], left_out: leftOut = [] } = this.now.methods[this.method];
    const reasons = leftOut.map(({ chain, reason }) => `${chain}: ${reason}`);
    if (groups.length > 1) reasons.unshift("Chain after chain: this method takes one at a time.");
    return reasons.join(" ");
  }

  reset() {
    this.chains = structuredClone(this.document.chains);
    this.q = Float64Array.from(this.now.start);
    this.answer = { status: "nothing", iterations: 0, milliseconds: 0, left: null, curve: [] };
    this.compared = [];
  }

  /** @param {string} mode limits or none */
  setMode(mode) {
    this.mode = mode;
    if (this.now.methods[this.method].refusal !== undefined) this.method = this.methods.find((m) => !m.refusal).value;
    this.q = Float64Array.from(this.now.start);
    this.solve();
  }

  /** @param {string} method that is not refused */
  setMethod(method) {
    this.method = method;
    this.q = Float64Array.from(this.now.start); // so that methods are compared from the same pose
    this.solve();
  }

  pin() {}

  /** A target or pole was dragged. @param {any} drag as the viewport tells it */
  drag({ what, chain: id, position, rotation, direction }) {
    const chain = this.chains.find((each) => each.id === id);
    if (!chain) return;
    const before = JSON.stringify(numbersOf(chain));
    if (what === "pole") chain.pole = position;
    else {
      chain.position = position;
      if (rotation && TURNING.has(chain.kind)) chain.rotation = rotation;
      if (direction) chain.direction = direction;
    }
    if (JSON.stringify(numbersOf(chain)) !== before) this.solve();
  }

  /** @param {boolean} on whether all methods solve for each target, from the same pose */
  setCompares(on) {
    this.compares = on;
    this.solve();
  }

  solve() {
    const start = this.q;
    const { q, answer } = this.#run(this.method, start);
    this.answer = answer;
    const others = this.compares ? this.methods.filter(({ refusal }) => refusal === undefined) : [];
    this.compared = others.map(({ value, text }) => ({
      title: text,
      ...(value === this.method ? answer : this.#run(value, start).answer),
    }));
    this.q = q;
  }

  /** The answer of a method. @param {string} method @param {Float64Array} start q */
  #run(method, start) {
    const began = performance.now();
    let iterations = 0;
    let isMet = true;
    let curve = [];
    let q = start;
    for (const group of this.#list(method)) {
      const target = group.names.flatMap((name) => numbersOf(this.chains.find(({ id }) => id === name)));
      const answer = group.solve(target, q);
      q = answer.q;
      iterations += answer.iterations;
      isMet &&= answer.isMet;
      if (answer.curve.length > curve.length) curve = answer.curve;
    }
    const milliseconds = performance.now() - began;
    this.q = q;
    const status = isMet ? "reached" : "missed";
    return { q, answer: { status, iterations, milliseconds, left: this.#measure(), curve } };
  }

  /** The groups of a method, made at its first use. @param {string} method */
  #list(method) {
    const key = `${this.mode} ${method}`;
    if (!this.groups.has(key)) {
      const { groups } = this.now.methods[method];
      this.groups.set(
        key,
        groups.map((packed) => new Group(this.kernels, packed, this.numbers)),
      );
    }
    return this.groups.get(key);
  }

  /** The largest distance of a tip from its target. */
  #measure() {
    const maps = this.computeMaps();
    const measured = this.chains.filter(({ kind }) => kind !== "look");
    const distances = measured.map(({ tip, offset, position }) => {
      const map = maps.subarray(12 * this.now.rows[tip], 12 * this.now.rows[tip] + 12);
      const point = [0, 4, 8].map(
        (k) => map[k] * offset[0] + map[k + 1] * offset[1] + map[k + 2] * offset[2] + map[k + 3],
      );
      return Math.hypot(...point.map((value, k) => value - position[k]));
    });
    return distances.length ? Math.max(...distances) : null;
  }

  /** World maps of all joints, 12 numbers each: three rows of four. */
  computeMaps() {
    if (!this.maps.has(this.mode)) this.maps.set(this.mode, new Program(this.kernels, this.now.maps, this.numbers));
    const program = this.maps.get(this.mode);
    program.run({ q: this.q });
    return program.view("maps");
  }

  /** What the viewport shows of the goals: the part of a state message. */
  describe() {
    return { chains: this.chains, scope: this.document.scope, free_root: this.packed.free_root, pulled: null };
  }
}

/** The numbers of a chain's target, in the order of its goals. */
function numbersOf({ kind, position, rotation, direction, pole }) {
  const turned = TURNING.has(kind) ? rotation : kind === "direction" ? direction : [];
  return [...position, ...turned, ...(pole ?? [])];
}

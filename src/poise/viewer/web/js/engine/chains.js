/** Chains that this page solves by the method that is chosen. Targets in, poses and errors out. */

/**
 * @import { Answer } from "poise/engine/body.js"
 * @import { Begun } from "poise/engine/race.js"
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedChainMode, PackedChains, PackedGroup, PackedProgram } from "poise/engine/packed.ts"
 * @import { Chain, Drag } from "poise/protocol/messages.ts"
 */

import { measureDistance, readMap, transformPoint } from "poise/engine/maps.js";
import { Program } from "poise/engine/program.js";

const TURNING = new Set(["place", "pin"]); // kinds of chains whose rotation counts

/** @type {Answer} */
const NO_ANSWER = { status: "nothing", iterations: 0, milliseconds: 0, left: null, curve: [] };

/**
 * @typedef {object} Solved what a method found
 * @property {Float64Array} q
 * @property {number} iterations
 * @property {boolean} isMet
 * @property {number[]} curve error before each iteration
 * @property {Program} program that ran last, with its trace
 */

/** The program of a group of chains. A free chain is straightened towards targets out of reach. */
export class Group {
  /** @param {Kernels} kernels @param {PackedGroup} packed @param {Uint8Array} numbers */
  constructor(kernels, packed, numbers) {
    const make = (/** @type {PackedProgram} */ program) => new Program(kernels, program, numbers);
    const { chains, line, program, base } = packed;
    this.names = chains;
    this.base = base ?? null;
    this.program = make(program);
    this.line = line ? { ...line, check: make(line.check), straight: make(line.program) } : null;
  }

  /**
   * Put the joint that it hangs from where a pose has it.
   * @param {Float64Array} maps of all joints
   */
  place(maps) {
    if (!this.base) return;
    const { row, divisors } = this.base;
    const base = readMap(maps, row).map((value, k) => value / divisors[k]);
    for (const program of [this.program, ...(this.line ? [this.line.check, this.line.straight] : [])])
      program.view("base").set(base);
  }

  /** @param {number[]} target numbers of all its chains @param {Float64Array} start q @returns {Solved} */
  solve(target, start) {
    const program = this.#choose(target);
    program.run({ target, start });
    return {
      q: Float64Array.from(program.view("q")),
      iterations: program.read("iterations"),
      isMet: program.read("met") > 0,
      curve: readCurve(program),
      program,
    };
  }

  /** @param {number[]} target */
  #choose(target) {
    if (!this.line) return this.program;
    const { check, straight, origin, distance } = this.line;
    check.run({ target });
    const point = check.view("point");
    const squared = origin.reduce((sum, value, k) => sum + (point[k] - value) ** 2, 0);
    return squared > distance * distance ? straight : this.program;
  }
}

/** The error before each iteration. @param {Program} program @returns {number[]} */
function readCurve(program) {
  const { curve } = program.packed;
  if (!curve) return [];
  const count = curve.counts.reduce((sum, part) => sum + program.readPart(part), curve.more);
  const numbers = program.viewPart(curve.numbers);
  const rows = Math.min(count, Math.ceil(numbers.length / curve.stride));
  const read = (/** @type {number} */ i) => numbers[i * curve.stride];
  return Array.from({ length: rows }, (_, i) => curve.scale * (curve.is_squared ? Math.sqrt(read(i)) : read(i)));
}

export class Chains {
  /**
   * @param {Kernels} kernels
   * @param {PackedChains} packed by viewer/offline/chains.py
   * @param {Uint8Array} numbers
   * @param {{chains: Chain[], scope: "limbs"|"chains"}} document the chains as a state message has them
   */
  constructor(kernels, packed, numbers, document) {
    this.kernels = kernels;
    this.packed = packed;
    this.numbers = numbers;
    this.document = document;
    this.mode = Object.keys(packed.modes)[0];
    this.method = packed.method;
    /** @type {Map<string, Group[]>} */
    this.groups = new Map();
    /** @type {Map<string, Program>} */
    this.maps = new Map();
    this.chains = document.chains;
    /** A pose to start from in place of that of the rig. @type {Float64Array|null} */
    this.adopted = null;
    this.q = this.before = this.start;
    /** The chain that was dragged last, from the pose `before`. @type {string|undefined} */
    this.dragged = undefined;
    this.answer = NO_ANSWER;
    this.reset();
  }

  get modes() {
    return Object.entries(this.packed.modes).map(([value, { title }]) => ({ value, text: title }));
  }

  get methods() {
    return Object.entries(this.now.methods).map(([value, { title, refusal }]) => ({ value, text: title, refusal }));
  }

  /** What is packed for the chosen limits. @returns {PackedChainMode} */
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

  /**
   * Where a race for a tip begins. It is the pose in which its drag did; null: the start pose.
   * @param {string} tip
   * @returns {Begun|null}
   */
  findRace(tip) {
    const chain = this.chains.find((each) => each.tip === tip && each.id === this.dragged);
    return chain ? { q: this.before, position: chain.position } : null;
  }

  reset() {
    this.dragged = undefined;
    this.chains = structuredClone(this.document.chains);
    this.q = this.start;
    this.answer = NO_ANSWER;
  }

  /** The start pose. @returns {Float64Array} q */
  get start() {
    return Float64Array.from(this.adopted ?? this.now.start);
  }

  /** Start from a pose from now on. Its targets are at their tips; null: the start pose. @param {Float64Array|null} q */
  adopt(q) {
    this.adopted = q;
    this.reset();
    if (!q) return;
    const maps = this.computeMaps(q);
    for (const chain of this.chains) if (chain.kind !== "look") chain.position = this.#computeTip(chain, maps);
  }

  adoptFrame() {} // chains of a page have no clip

  readFrame() {
    return null;
  }

  /** @param {string} mode limits or none */
  setMode(mode) {
    this.mode = mode;
    const usable = this.methods.filter(({ refusal }) => refusal === undefined);
    if (!usable.some(({ value }) => value === this.method)) this.method = usable[0].value;
    this.q = this.start;
    this.solve();
  }

  /** @param {string} method that is not refused */
  setMethod(method) {
    this.method = method;
    this.q = this.start; // so that methods are compared from the same pose
    this.solve();
  }

  pin() {} // chains have no parts to pin

  /** A target or pole was dragged. @param {Drag} drag @returns {boolean} whether it is elsewhere now */
  move({ what, chain: id, position, rotation, direction }) {
    const chain = this.chains.find((each) => each.id === id);
    if (!chain || !position) return false;
    const before = JSON.stringify(listNumbers(chain));
    if (what === "pole") chain.pole = position;
    else {
      chain.position = position;
      if (rotation && TURNING.has(chain.kind)) chain.rotation = rotation;
      if (direction) chain.direction = direction;
    }
    return JSON.stringify(listNumbers(chain)) !== before;
  }

  /** @param {Drag} drag as the viewport tells it */
  drag(drag) {
    if (drag.phase === "start" || this.dragged !== drag.chain) [this.dragged, this.before] = [drag.chain, this.q];
    if (this.move(drag)) this.solve();
  }

  /** Solve for all targets, from the pose that is shown. */
  solve() {
    const began = performance.now();
    const solved = this.run(this.method, this.q);
    const milliseconds = performance.now() - began;
    this.q = solved.q;
    const { iterations, curve } = solved;
    /** @type {Answer["status"]} */
    const status = solved.isMet ? "reached" : "missed";
    this.answer = { status, iterations, milliseconds, left: this.measure(this.q), curve };
  }

  /**
   * Solve by a method, group after group.
   * @param {string} method
   * @param {Float64Array} start q
   * @returns {Solved}
   */
  run(method, start) {
    const [first, ...others] = this.#list(method);
    let all = this.#solve(first, start);
    for (const group of others) {
      const next = this.#solve(group, all.q);
      const curve = next.curve.length > all.curve.length ? next.curve : all.curve;
      all = { ...next, iterations: all.iterations + next.iterations, isMet: all.isMet && next.isMet, curve };
    }
    return all;
  }

  /** @param {Group} group @param {Float64Array} start q */
  #solve(group, start) {
    group.place(this.computeMaps(start));
    return group.solve(this.#collect(group), start);
  }

  /** Numbers of the targets of a group. @param {Group} group */
  #collect({ names }) {
    return this.chains.filter(({ id }) => names.includes(id)).flatMap(listNumbers);
  }

  /** The groups of a method, made at its first use. @param {string} method @returns {Group[]} */
  #list(method) {
    const key = `${this.mode} ${method}`;
    const made = this.groups.get(key);
    if (made) return made;
    const packed = this.now.methods[method].groups ?? [];
    const groups = packed.map((group) => new Group(this.kernels, group, this.numbers));
    this.groups.set(key, groups);
    return groups;
  }

  /** The largest distance of a tip from its target in a pose. @param {Float64Array} q */
  measure(q) {
    const maps = this.computeMaps(q);
    const measured = this.chains.filter(({ kind }) => kind !== "look");
    const distances = measured.map((chain) => measureDistance(this.#computeTip(chain, maps), chain.position));
    return distances.length ? Math.max(...distances) : null;
  }

  /** @param {Chain} chain @param {Float64Array} maps */
  #computeTip({ tip, offset }, maps) {
    return transformPoint(readMap(maps, this.now.rows[tip]), offset);
  }

  /** World maps of all joints in a pose. */
  computeMaps(q = this.q) {
    let program = this.maps.get(this.mode);
    if (!program) {
      program = new Program(this.kernels, this.now.maps, this.numbers);
      this.maps.set(this.mode, program);
    }
    program.run({ q });
    return program.view("maps");
  }

  /** What the viewport shows of the goals. The part of a state message. */
  describe() {
    return { chains: this.chains, scope: this.document.scope, free_root: this.packed.free_root, pulled: null };
  }
}

/** The numbers of a chain's target, in the order of its goals. @param {Chain} chain @returns {number[]} */
function listNumbers({ kind, position, rotation, direction, pole }) {
  const turned = TURNING.has(kind) ? rotation : kind === "direction" ? direction : [];
  return [...position, ...turned, ...(pole ?? [])];
}

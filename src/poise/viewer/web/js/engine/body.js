/**
 * A whole body that this page solves. What the document of the viewer does in viewer/document/pulls.py.
 *
 * One part is pulled at a time; its target stays where it was let go. Pinned parts hold their place. The engine of
 * trees meets the goals; among its answers it prefers the start pose.
 */

/**
 * @import { Begun } from "poise/engine/race.js"
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedBody } from "poise/engine/packed.ts"
 * @import { Goal } from "poise/engine/tree.js"
 * @import { Chain, Drag, Rotation, Vector } from "poise/protocol/messages.ts"
 */

import { clampGaze, Gaze } from "poise/engine/gaze.js";
import { computeQuaternion, measureDistance, readMap, transformPoint } from "poise/engine/maps.js";
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
 *
 * @typedef {{position: Vector, rotation: Rotation}} Place
 *
 * @typedef {Place & {enabled: boolean}} Pin
 *
 * @typedef {object} Pulled
 * @property {string} joint
 * @property {Vector} offset of the point, in the frame of the joint
 * @property {Vector} position of the target
 * @property {Rotation|null} rotation
 * @property {boolean} isPin whether a pin holds it when it is let go
 */

/** @type {Answer} */
const NO_ANSWER = { status: "nothing", iterations: 0, milliseconds: 0, left: null, curve: [] };

/** The solver of some limits. It has the key of the goals packed last, and the places of all joints. */
class Mode {
  /** @param {Kernels} kernels @param {PackedBody["modes"][string]} packed @param {Uint8Array} numbers */
  constructor(kernels, packed, numbers) {
    this.tree = new Tree(packed, numbers);
    this.solver = new TreeSolver(kernels, this.tree);
    this.maps = new Program(kernels, packed.maps, numbers);
    this.gaze = packed.gaze && new Gaze(kernels, packed.gaze, numbers);
    this.key = "";
  }
}

export class Body {
  /**
   * @param {Kernels} kernels
   * @param {PackedBody} packed by viewer/offline/body.py
   * @param {Uint8Array} numbers
   */
  constructor(kernels, packed, numbers) {
    this.packed = packed;
    this.kernels = kernels;
    this.numbers = numbers;
    this.mode = Object.keys(packed.modes)[0];
    /** @type {Map<string, Mode>} made at their first use */
    this.made = new Map();
    this.restPull = true;
    this.q = Float64Array.from(this.#now.tree.start);
    this.rest = this.q;
    this.before = this.q; // when the pull began
    /** @type {Pulled|null} */
    this.pulled = null;
    /** @type {Map<string, Pin>} */
    this.pins = new Map();
    this.answer = NO_ANSWER;
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

  /** What solves with the chosen limits. */
  get #now() {
    let made = this.made.get(this.mode);
    if (!made) {
      made = new Mode(this.kernels, this.packed.modes[this.mode], this.numbers);
      this.made.set(this.mode, made);
    }
    return made;
  }

  /** The start pose, with its pins; nothing is pulled. */
  reset() {
    this.#startFrom(this.#now.tree.start);
    this.pulled = null;
    this.pins = new Map(this.packed.pins.map((joint) => [joint, { enabled: true, ...this.readPlace(joint) }]));
    this.answer = NO_ANSWER;
  }

  /** A frame of the clip becomes the pose. Pinned parts hold where they are in it. @param {number} i */
  adoptFrame(i) {
    const q = this.readFrame(i);
    if (!q) return;
    this.#startFrom(q);
    this.pulled = null;
    for (const [joint, pin] of this.pins) this.pins.set(joint, { ...pin, ...this.readPlace(joint) });
  }

  /** The pose of a frame of the clip. Null without one. @param {number} i */
  readFrame(i) {
    const [offset, count] = this.packed.frames ?? [0, 0];
    const nq = this.q.length;
    const at = this.numbers.byteOffset + offset + 4 * nq * i;
    if (nq * (i + 1) > count) return null;
    return Float64Array.from(new Float32Array(this.numbers.buffer.slice(at, at + 4 * nq)));
  }

  /**
   * Where a race for a tip begins. It is the pose in which its pull did, or the one that is shown.
   * @param {string} tip
   * @returns {Begun}
   */
  findRace(tip) {
    const { pulled } = this;
    return pulled?.joint === tip ? { q: this.before, position: pulled.position } : { q: this.q, position: null };
  }

  /** A pose to start from, which is preferred. @param {ArrayLike<number>} q */
  #startFrom(q) {
    this.q = Float64Array.from(q);
    this.rest = Float64Array.from(q);
    for (const mode of this.made.values()) mode.key = ""; // what it prefers is another pose now
  }

  /** What the page cannot do. */
  get note() {
    return "Natural poses need Poise itself: here the engine prefers the start pose.";
  }

  /** @param {string} mode limits or none */
  setMode(mode) {
    this.mode = mode;
    this.#startFrom(this.#now.tree.start); // the last pose may be beyond limits
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
    else this.pins.set(joint, { enabled: true, ...this.readPlace(joint) });
  }

  /** Pull a part, or turn it; keys say no offset. @param {Drag} drag as the viewport tells it */
  drag({ joint, offset = ORIGIN, position, rotation, phase }) {
    if (!joint || !position) return;
    const isNew = phase === "start" || this.pulled?.joint !== joint;
    const pulled = isNew || !this.pulled ? this.#begin(joint, rotation ? ORIGIN : offset, rotation) : this.pulled;
    const before = isNew ? "" : JSON.stringify([pulled.position, pulled.rotation]);
    this.pulled = { ...pulled, position: this.#keepAboveFloor(position), rotation: rotation ?? pulled.rotation };
    if (JSON.stringify([this.pulled.position, this.pulled.rotation]) !== before) this.solve();
    if (phase === "end") this.#settle(this.pulled);
  }

  /** The place above the floor. @param {Vector} position @returns {Vector} */
  #keepAboveFloor(position) {
    const { axes, floor } = this.packed;
    const up = axes[2];
    const height = up.reduce((sum, part, k) => sum + part * position[k], 0);
    return floor === null || height >= floor ? position : position.map((x, k) => x + (floor - height) * up[k]);
  }

  /** @param {string} joint @param {Vector} offset @param {Rotation} [rotation] @returns {Pulled} */
  #begin(joint, offset, rotation) {
    this.#release();
    this.before = this.q;
    const pin = this.pins.get(joint);
    const isPin = pin?.enabled === true;
    if (isPin) pin.enabled = false;
    return { joint, offset, position: offset, rotation: isPin ? pin.rotation : (rotation ?? null), isPin };
  }

  /** Nothing is pulled: a pin holds where its joint is now. */
  #release() {
    if (this.pulled?.isPin) this.pins.set(this.pulled.joint, { enabled: true, ...this.readPlace(this.pulled.joint) });
    this.pulled = null;
  }

  /** A part that was pulled beyond reach rests where it is. @param {Pulled} pulled */
  #settle(pulled) {
    if (pulled.isPin) return this.#release();
    if (this.answer.status !== "reached") pulled.position = this.computePoint(pulled.joint, pulled.offset);
  }

  /** Goals of pinned and pulled parts, and their targets side by side. */
  collect() {
    const { names } = this.#now.tree;
    const { pulled } = this;
    /** @type {Goal[]} */
    const goals = [];
    /** @type {number[]} */
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
    const { pulled } = this;
    const began = performance.now();
    const { goals, targets } = this.collect();
    if (!goals.length) return;
    this.#choose(goals);
    const { q, iterations, isMet, curve } = this.#now.solver.solve(targets, this.q, true);
    this.q = q;
    this.#look();
    const milliseconds = performance.now() - began;
    const left = pulled ? measureDistance(this.computePoint(pulled.joint, pulled.offset), pulled.position) : null;
    /** @type {Answer["status"]} */
    const status = isMet ? "reached" : "missed";
    this.answer = { status, iterations, milliseconds, left, curve };
  }

  /** The head looks at an arm or leg that is pulled. */
  #look() {
    const { gaze } = this.#now;
    const { pulled } = this;
    if (!gaze || !pulled || !this.packed.limbs.includes(pulled.joint)) return;
    const maps = this.computeMaps();
    const head = readMap(maps, this.#now.tree.findRow(gaze.packed.head));
    const point = clampGaze(this.packed.axes, head, pulled.position);
    this.q = Float64Array.from(gaze.solve(this.q, this.rest, maps, point));
  }

  /**
   * The goals of the next solves. Packing takes a millisecond, so the same goals are packed once.
   * @param {Goal[]} goals
   */
  #choose(goals) {
    const mode = this.#now;
    const key = JSON.stringify([this.restPull, goals]);
    if (mode.key === key) return;
    mode.solver.setGoals(goals, this.restPull ? { preferred: this.rest, preference: REST_PULL } : {});
    mode.key = key;
  }

  /** World maps of all joints, 12 numbers each: three rows of four. */
  computeMaps() {
    const { maps } = this.#now;
    maps.run({ q: this.q });
    return maps.view("maps");
  }

  /** @param {string} joint */
  #readMap(joint) {
    return readMap(this.computeMaps(), this.#now.tree.findRow(joint));
  }

  /** @param {string} joint @param {number[]} offset in its frame */
  computePoint(joint, offset) {
    return transformPoint(this.#readMap(joint), offset);
  }

  /** @param {string} joint @returns {{position: number[], rotation: number[]}} */
  readPlace(joint) {
    const map = this.#readMap(joint);
    return { position: [map[3], map[7], map[11]], rotation: computeQuaternion(map) };
  }

  /** What the viewport shows of the goals. The part of a state message. */
  describe() {
    /** @type {Chain[]} */
    const chains = [...this.pins].map(([tip, pin]) => makeChain({ ...pin, id: `pin ${tip}`, kind: "pin", tip }));
    const { pulled } = this;
    if (pulled) {
      const { joint: tip, position, rotation } = pulled;
      const target = { position, rotation: rotation ?? [1, 0, 0, 0], enabled: true };
      chains.push(makeChain({ ...target, id: "pull", kind: rotation ? "place" : "position", tip }));
    }
    /** @type {"body"} */
    const scope = "body";
    return { chains, scope, free_root: true, pulled: pulled ? "pull" : null };
  }
}

/** @param {Place & Pick<Chain, "id"|"kind"|"tip"|"enabled">} known @returns {Chain} of a state message */
function makeChain(known) {
  return {
    root: null,
    weight: 1,
    pull: 1,
    ground: false,
    direction: ORIGIN,
    axis: ORIGIN,
    pole: null,
    offset: ORIGIN,
    joints: [],
    others: [],
    relative_to: null,
    follow: false,
    range: null,
    ...known,
  };
}

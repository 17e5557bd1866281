/**
 * A whole body that this page solves. What the document of the viewer does in viewer/document/pulls.py.
 *
 * One part is pulled at a time; its target stays where it was let go. Pinned parts hold their place. The engine of
 * trees meets the goals; of its answers it prefers the one nearest to a natural pose, or to the start pose.
 */

/**
 * @import { Begun } from "poise/engine/race.js"
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedBody } from "poise/engine/packed.ts"
 * @import { Goal } from "poise/engine/tree.js"
 * @import { Chain, Drag, Rotation, Vector } from "poise/protocol/messages.ts"
 */

import { findFacing, turnAxes } from "poise/engine/facing.js";
import { clampGaze, Gaze } from "poise/engine/gaze.js";
import { computeQuaternion, measureDistance, readMap, transformPoint } from "poise/engine/maps.js";
import { NaturalPoses } from "poise/engine/natural_poses.js";
import { Program } from "poise/engine/program.js";
import { Tree } from "poise/engine/tree.js";
import { TreeSolver } from "poise/engine/tree_solver.js";

const PREFERENCE = 0.5; // weight of the preferred pose
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
 * @property {Vector} from the place of the joint in the pose in which the pull began
 * @property {Vector} lever from there to the point
 * @property {Vector} position of the target
 * @property {Rotation|null} rotation
 * @property {boolean} isPin whether a pin holds it when it is let go
 */

/** @type {Answer} */
const NO_ANSWER = { status: "nothing", iterations: 0, milliseconds: 0, left: null, curve: [] };

/** The solver of some limits. It has the key of the goals packed last, and the places of all joints. */
class Mode {
  /**
   * @param {Kernels} kernels
   * @param {PackedBody["modes"][string]} packed
   * @param {Uint8Array} numbers
   * @param {number[][]} axes ahead, left and up
   */
  constructor(kernels, packed, numbers, axes) {
    this.tree = new Tree(packed, numbers);
    this.solver = new TreeSolver(kernels, this.tree);
    this.maps = new Program(kernels, packed.maps, numbers);
    this.gaze = packed.gaze && new Gaze(kernels, packed.gaze, numbers);
    this.natural = packed.natural && new NaturalPoses(packed.natural, numbers, this.tree.start, axes);
    this.startMaps = this.computeMaps(this.tree.start).slice();
    this.key = "";
  }

  /** World maps of all joints, 12 numbers each. They stay until the next call. @param {Float64Array} q */
  computeMaps(q) {
    this.maps.run({ q });
    return this.maps.view("maps");
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
    this.chosen = "natural"; // which pose answers prefer, where there is one
    this.q = Float64Array.from(this.#now.tree.start);
    this.rest = this.q;
    this.facing = this.#compareWithStart();
    this.before = this.q; // when the pull began
    /** A frame of the clip that was started from. @type {Float64Array|null} */
    this.adopted = null;
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

  /** Poses that answers may prefer. @returns {{value: string, text: string}[]} */
  get preferences() {
    const natural = { value: "natural", text: "Natural poses" };
    const others = [
      { value: "start", text: "The start pose" },
      { value: "none", text: "No pose" },
    ];
    return this.#now.natural ? [natural, ...others] : others;
  }

  /** The one that they do. */
  get preference() {
    return this.chosen === "natural" && !this.#now.natural ? "start" : this.chosen;
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
      made = new Mode(this.kernels, this.packed.modes[this.mode], this.numbers, this.packed.axes);
      this.made.set(this.mode, made);
    }
    return made;
  }

  /** The start pose, with its pins; nothing is pulled. */
  reset() {
    this.adopted = null;
    this.#startFrom(this.#now.tree.start);
    this.pulled = null;
    this.pins = new Map(this.packed.pins.map((joint) => [joint, { enabled: true, ...this.readPlace(joint) }]));
    this.answer = NO_ANSWER;
  }

  /** A frame of the clip becomes the pose. Pinned parts hold where they are in it. @param {number} i */
  adoptFrame(i) {
    const q = this.readFrame(i);
    if (!q) return;
    this.adopted = q;
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
    this.before = this.rest;
    this.facing = this.#compareWithStart();
    for (const mode of this.made.values()) mode.key = ""; // what it prefers is another pose now
  }

  /** Where the figure stands and faces now. */
  #compareWithStart() {
    const { tree, startMaps } = this.#now;
    const row = tree.findRow(this.packed.hips);
    return findFacing(this.packed.axes, readMap(startMaps, row), readMap(this.computeMaps(), row));
  }

  /** @param {string} mode limits or none */
  setMode(mode) {
    this.mode = mode;
    this.#startFrom(this.adopted ?? this.#now.tree.start); // the last pose may be beyond limits
    if (this.pulled) this.pulled = { ...this.pulled, ...this.#placePart(this.pulled.joint, this.pulled.offset) };
    this.solve();
  }

  /** @param {string} preference which pose answers prefer */
  setPreference(preference) {
    this.chosen = preference;
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
    if (![...this.pins.values()].some(({ enabled }) => enabled)) this.facing = this.#compareWithStart();
    const pin = this.pins.get(joint);
    const isPin = pin?.enabled === true;
    if (isPin) pin.enabled = false;
    const turned = isPin ? pin.rotation : (rotation ?? null);
    return { joint, offset, ...this.#placePart(joint, offset), position: offset, rotation: turned, isPin };
  }

  /** Where a part is, and the way to its pulled point. @param {string} joint @param {Vector} offset */
  #placePart(joint, offset) {
    const from = this.readPlace(joint).position;
    return { from, lever: this.computePoint(joint, offset).map((x, k) => x - from[k]) };
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
    const preferred = this.#findPreferred();
    this.#choose(goals, preferred);
    const { q, iterations, isMet, curve } = this.#meet(targets, preferred);
    this.q = q;
    this.#look();
    const milliseconds = performance.now() - began;
    const left = pulled ? measureDistance(this.computePoint(pulled.joint, pulled.offset), pulled.position) : null;
    /** @type {Answer["status"]} */
    const status = isMet ? "reached" : "missed";
    this.answer = { status, iterations, milliseconds, left, curve };
  }

  /**
   * Solve from the preferred pose. What is beyond reach from there begins at the last pose, too: it stays calm.
   * @param {number[]} targets
   * @param {Float64Array|null} preferred
   */
  #meet(targets, preferred) {
    const { solver } = this.#now;
    const answer = solver.solve(targets, preferred ?? this.q, true);
    if (answer.isMet || !preferred) return answer;
    const other = solver.solve(targets, this.q, true);
    const better = other.error <= answer.error ? other : answer;
    return { ...better, iterations: answer.iterations + other.iterations };
  }

  /** The pose that answers prefer, if any. */
  #findPreferred() {
    if (this.preference === "none") return null;
    const { natural } = this.#now;
    if (this.preference === "start" || !natural) return this.rest;
    const { pulled, before } = this;
    if (!pulled) return before;
    const target = pulled.position.map((x, k) => x - pulled.lever[k]);
    return natural.find(before, this.facing, pulled.joint, pulled.from, target) ?? before;
  }

  /** The head looks at an arm or leg that is pulled. Neck and head begin at the rest pose, so that no roll adds up. */
  #look() {
    const { gaze } = this.#now;
    const { pulled } = this;
    if (!gaze || !pulled || !this.packed.limbs.includes(pulled.joint)) return;
    const maps = this.computeMaps();
    const head = readMap(maps, this.#now.tree.findRow(gaze.packed.head));
    const axes = turnAxes(this.packed.axes, this.facing);
    const point = clampGaze(axes, gaze.packed.range, head, pulled.position);
    this.q = Float64Array.from(gaze.solve(this.q, this.rest, maps, point));
  }

  /**
   * The goals of the next solves. Packing takes a millisecond, so the same goals are packed once.
   * @param {Goal[]} goals
   * @param {Float64Array|null} preferred
   */
  #choose(goals, preferred) {
    const mode = this.#now;
    const key = JSON.stringify([preferred !== null, goals]);
    if (mode.key !== key) mode.solver.setGoals(goals, preferred ? { preferred, preference: PREFERENCE } : {});
    else if (preferred) mode.solver.setPreferred(preferred);
    mode.key = key;
  }

  /** World maps of all joints, 12 numbers each: three rows of four. */
  computeMaps() {
    return this.#now.computeMaps(this.q);
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

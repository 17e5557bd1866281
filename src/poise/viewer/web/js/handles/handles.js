/**
 * What the user can drag, as the document has it. Targets and poles of chains, pins, and handles made in Python.
 * Each is an object in rig coordinates with a mark of constant size on the screen.
 */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { MarkKind } from "poise/handles/marks.js"
 * @import { Chain, Dragged, State } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 */

import { disposeMark, makeMark } from "poise/handles/marks.js";
import { Group, Matrix3, Matrix4, Object3D, Quaternion, Vector3 } from "three";

const LARGEST = 1 / 300; // of the figure's size for a pixel: from afar marks get smaller
const CLOSE = 2; // pixels for one of a target's, at most: near by it is as large as a thing beside the figure
const AFAR = 0.85; // and at least: it is seen on every rig
const PIN = 12; // pixels that the head of a pin stands over its place
const TARGETS = new Set(["position", "place", "direction", "look"]); // marks
const GAZE = "gaze"; // of a whole body: it is at what is pulled, which has a mark
const Y = new Vector3(0, 1, 0);
const _last = new Vector3();

/**
 * @typedef {object} Wanted one thing as the document has it
 * @property {string} key
 * @property {"target"|"pole"|"pin"|"handle"|"turn"} what
 * @property {string} id of the chain, or the handle's name
 * @property {MarkKind} mark
 * @property {number[]} position
 * @property {Quaternion} rotation
 * @property {string|null} tip
 * @property {boolean} enabled
 * @property {boolean} [ground] the document puts it on the ground, wherever a hand lifts it
 * @property {string|null} [relative] the joint in whose frame position and rotation are; none: in the world
 * @property {boolean} [single] of a bone: it turns about one axis only
 * @property {boolean} [moves] of a bone: it is moved, too
 * @property {(object: Object3D) => Dragged} [tells] what a drag tells, where it is no target, pole or handle
 *
 * @typedef {ReturnType<typeof readFrame>} JointFrame
 *
 * @typedef {object} Drawn
 * @property {Object3D} object
 * @property {ReturnType<typeof makeMark>} drawn
 * @property {{position: Vector3, turn: Quaternion}} put where the document has it
 * @property {JointFrame|null} taken the frame of its joint when the drag began
 *
 * @typedef {Wanted & Drawn} Handle
 *
 * @typedef {{key: string, what: Wanted["what"], gap: number}} Near gap [pixels]
 */

/**
 * Everything in a state message that can be dragged.
 * @param {State} state
 * @param {Vector3} up
 * @returns {Wanted[]}
 */
export function listWanted(state, up) {
  const shown = (state.chains ?? []).filter(({ id }) => state.scope !== "body" || id !== GAZE);
  const chains = shown.flatMap((chain) => listHandles(chain, up, Boolean(state.terrain)));
  return [...chains, ...(state.handles ?? []).map(describeHandle)];
}

/** A handle made in Python. @param {State["handles"][0]} handle @returns {Wanted} */
function describeHandle({ name, position, rotation }) {
  const shared = { key: `handle:${name}`, id: name, position, rotation: readTurn(rotation), tip: null, enabled: true };
  return { ...shared, what: "handle", mark: "handle" };
}

/** @param {Chain} chain @param {Vector3} up @param {boolean} terrain @returns {Wanted[]} */
function listHandles(chain, up, terrain) {
  const shared = { id: chain.id, tip: chain.tip, enabled: chain.enabled !== false };
  const still = new Quaternion();
  if (chain.kind === "pin") {
    const rotation = still.setFromUnitVectors(Y, up);
    return [{ ...shared, key: `pin:${chain.id}`, what: "pin", mark: "pin", position: chain.position, rotation }];
  }
  /** @type {Wanted} */
  const target = {
    ...shared,
    key: `target:${chain.id}`,
    what: "target",
    mark: chain.kind,
    position: chain.position,
    rotation: still,
    ground: chain.ground && terrain && !chain.relative_to,
    relative: chain.relative_to ?? null,
  };
  if (chain.kind === "direction") {
    target.rotation = still.setFromUnitVectors(Y, new Vector3().fromArray(chain.direction).normalize());
  } else if (chain.kind === "place") {
    target.rotation = readTurn(chain.rotation);
  }
  if (!chain.pole) return [target];
  const pole = { ...shared, key: `pole:${chain.id}`, position: chain.pole, rotation: new Quaternion() };
  return [target, { ...pole, what: "pole", mark: "pole" }];
}

/**
 * The frame of a joint, by default of the first character.
 * @param {Figure} figure
 * @param {number} row
 * @param {number} [character]
 */
export function readFrame(figure, row, character = 0) {
  const at = 9 * (character * figure.count + row);
  const t = figure.turns.subarray(at, at + 9);
  const matrix = new Matrix4().set(t[0], t[1], t[2], 0, t[3], t[4], t[5], 0, t[6], t[7], t[8], 0, 0, 0, 0, 1);
  return {
    origin: new Vector3().fromArray(figure.readPosition(row, character)),
    turn: new Quaternion().setFromRotationMatrix(matrix).normalize(),
    map: new Matrix3().fromArray(figure.maps, at).transpose(),
  };
}

/** @param {number[]|null|undefined} wxyz */
function readTurn(wxyz) {
  const [w, x, y, z] = wxyz ?? [1, 0, 0, 0];
  return new Quaternion(x, y, z, w).normalize();
}

export class Handles {
  /** @param {Figure} figure */
  constructor(figure) {
    this.figure = figure;
    this.group = new Group();
    /** @type {Map<string, Handle>} by key */
    this.all = new Map();
    /** @type {string|null} key */
    this.dragged = null;
    /** @type {Map<string, number>} serial of the newest place dragged to, until the document has it; by key */
    this._held = new Map();
    this._serial = 0;
    this._up = Y;
  }

  /** @param {Wanted[]} wanted @param {number} serial of the newest drag that they contain @param {Vector3} up */
  set(wanted, serial, up) {
    this._serial = serial;
    this._up = up;
    const keys = new Set(wanted.map(({ key }) => key));
    for (const key of [...this.all.keys()]) if (!keys.has(key) && this.all.get(key)?.what !== "turn") this._remove(key);
    for (const one of wanted) this._take(one);
  }

  /** @param {Wanted} one */
  _take(one) {
    let handle = this.all.get(one.key);
    if (handle && handle.mark !== one.mark) {
      this._remove(one.key);
      handle = undefined;
    }
    if (!handle) {
      const put = { position: new Vector3(), turn: new Quaternion() };
      handle = { ...one, object: new Object3D(), drawn: makeMark(one.mark), put, taken: null };
      handle.object.add(handle.drawn);
      this.group.add(handle.object);
      this.all.set(one.key, handle);
    }
    const { position, rotation, relative } = handle;
    Object.assign(handle, one);
    handle.drawn.visible = one.enabled; // what is switched off has no place: a clip has left it behind
    if (!this._isHeld(handle)) this._put(handle);
    else if (one.relative && one.relative === relative) Object.assign(handle, { position, rotation });
  }

  /** A handle that no document has: the selected bone. @param {Wanted} one @param {number} serial that its place has */
  takeOwn(one, serial) {
    this._serial = serial;
    this._take(one);
  }

  /** @param {string} key */
  drop(key) {
    if (this.all.has(key)) this._remove(key);
    if (this.dragged === key) this.dragged = null;
  }

  /** @param {Handle} handle */
  _put(handle) {
    const { object, position, rotation } = handle;
    object.position.fromArray(position);
    object.quaternion.copy(rotation);
    const frame = this._frameOf(handle);
    if (frame) {
      object.position.applyMatrix3(frame.map).add(frame.origin);
      object.quaternion.premultiply(frame.turn);
    }
    handle.put = { position: object.position.clone(), turn: object.quaternion.clone() };
  }

  /** Where the joint is that a handle is relative to. Null: the world. @param {{relative?: string|null}} of */
  _frameOf({ relative }) {
    const row = relative ? this.figure.rows.get(relative) : undefined;
    return row === undefined || !this.figure.ready ? null : readFrame(this.figure, row);
  }

  /** Relative handles go along with their joints: call after each frame. */
  follow() {
    for (const handle of this.all.values()) if (handle.relative) this._put(handle);
  }

  /**
   * A drag begins. What is dragged is told in the frame that its joint has now: the answers move that joint.
   * @param {string|null} key
   */
  begin(key) {
    this.dragged = key;
    const handle = key === null ? undefined : this.all.get(key);
    if (handle) handle.taken = this._frameOf(handle);
  }

  /**
   * Whether what the user has dragged stands against what the document says. Echoes of older places come late.
   * @param {Handle} handle
   */
  _isHeld(handle) {
    const newest = this._held.get(handle.key);
    if (newest === undefined) return handle.key === this.dragged;
    if (this._serial >= newest) {
      this._held.delete(handle.key);
      return false;
    }
    this.land(handle.key);
    return true;
  }

  /** A place that was told of. It stands until the document has it. @param {string} key @param {number} serial */
  hold(key, serial) {
    this._held.set(key, serial);
  }

  /** The connection is new: the document is right, whatever was under way. */
  forgetHeld() {
    this._held.clear();
  }

  /**
   * Put a handle where a hand in another view has it.
   * @param {string} key
   * @param {{position?: number[], rotation?: number[]}} place
   * @param {number} serial
   */
  move(key, { position, rotation }, serial) {
    const handle = this.all.get(key);
    if (!handle) return;
    const told = { position: position ?? handle.position, rotation: rotation ? readTurn(rotation) : handle.rotation };
    if (handle.relative) this._put(Object.assign(handle, told));
    else this._put({ ...handle, ...told });
    this.hold(key, serial);
  }

  /**
   * A hand has moved or turned a handle. One that is relative goes on with its joint from there. What the hand has left
   * as it was put has gone along with the joint, and stays as it is in the frame.
   * @param {string} key
   */
  keepMove(key) {
    const handle = this.all.get(key);
    if (handle?.relative && handle.taken) {
      const { object, taken, put } = handle;
      if (!object.position.equals(put.position)) {
        const local = object.position.clone().sub(taken.origin).applyMatrix3(taken.map.clone().invert());
        handle.position = local.toArray();
      }
      if (!object.quaternion.equals(put.turn))
        handle.rotation = taken.turn.clone().invert().multiply(object.quaternion);
      this._put(handle);
    }
    this.land(key);
  }

  /** A target on the ground has the document's last height for it. @param {string} key */
  land(key) {
    const handle = this.all.get(key);
    if (!handle?.ground) return;
    const { object, position } = handle;
    const height = _last.fromArray(position).sub(object.position).dot(this._up);
    object.position.addScaledVector(this._up, height);
  }

  /** Back to where it was taken. A press that has not moved moves nothing. @param {string} key */
  putBack(key) {
    const handle = this.all.get(key);
    if (handle) this._put(handle);
  }

  /**
   * Keep the marks' size on the screen; call before each drawing. Targets in the world keep theirs as far as they can
   * be seen.
   * @param {(point: number[]) => number[]} project
   */
  fitToScreen(project) {
    const largest = LARGEST * this.figure.size;
    for (const { object, drawn, mark } of this.all.values()) {
      const pixel = 1 / project(object.position.toArray())[3];
      const target = TARGETS.has(mark);
      drawn.scale.setScalar(
        target ? Math.max(Math.min(CLOSE * pixel, largest), AFAR * pixel) : Math.min(pixel, largest),
      );
    }
  }

  /**
   * @param {Palette} palette
   * @param {keyof Palette["status"]} status
   * @param {string|null} active key
   */
  paint(palette, status, active) {
    for (const { key, what, enabled, drawn } of this.all.values()) {
      if (what === "turn") continue; // the rings alone are seen
      const colour = what === "target" ? palette.status[status] : palette[what];
      drawn.material.color.setHex(enabled ? colour : palette.off);
      drawn.material.emissive.setHex(enabled ? colour : 0).multiplyScalar(key === active ? 0.5 : 0.2);
    }
  }

  /**
   * The handle whose mark is nearest to a point of the canvas. Of several in one place the one that comes first.
   * @param {(point: number[]) => number[]} project
   * @param {number} x pixels
   * @param {number} y
   * @param {number} reach pixels: farther away is none
   * @param {string|null} [except] key of one that is not meant
   * @returns {Near|null}
   */
  findNearest(project, x, y, reach, except = null) {
    /** @type {Near|null} */
    let best = null;
    for (const { key, enabled, object, what } of this.all.values()) {
      if (key === except || what === "turn") continue;
      const [sx, sy, ahead] = project(object.position.toArray());
      const gap = Math.hypot(sx - x, sy - (what === "pin" ? PIN : 0) - y);
      if (enabled && ahead > 0 && gap < (best?.gap ?? reach)) best = { key, what, gap };
    }
    return best;
  }

  /** What a drag of this handle tells. @param {Handle} handle @returns {Dragged} */
  makeMessage({ what, id, mark, object, tells, relative, position, rotation }) {
    if (tells) return tells(object);
    if (what === "pin") throw new Error("a pin is not dragged");
    const turn = relative ? rotation : object.quaternion;
    const { x, y, z, w } = turn;
    const told = { what, position: relative ? position : object.position.toArray(), rotation: [w, x, y, z] };
    if (what === "handle") return { ...told, name: id };
    const direction = mark === "direction" ? Y.clone().applyQuaternion(turn).toArray() : undefined;
    return { ...told, direction, chain: id };
  }

  /** @param {string} key */
  _remove(key) {
    const handle = this.all.get(key);
    if (!handle) return;
    disposeMark(handle.drawn);
    handle.object.removeFromParent();
    this.all.delete(key);
    this._held.delete(key);
  }

  dispose() {
    for (const key of [...this.all.keys()]) this._remove(key);
    this.group.removeFromParent();
  }
}

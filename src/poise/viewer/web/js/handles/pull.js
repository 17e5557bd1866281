/**
 * A part of the figure that is pulled. The point that was pressed follows the pointer, in the plane that faces the
 * camera. With Shift the part turns instead, about its own place.
 */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Part } from "poise/handles/part_at.js"
 * @import { Phase } from "poise/protocol/messages.ts"
 * @import { Viewport } from "poise/stage/viewport.js"
 */

import { readFrame } from "poise/handles/handles.js";
import { Quaternion, Vector3 } from "three";

const TURN = 0.01; // [rad] of a turn for a pixel

/**
 * @typedef {object} Held
 * @property {string} joint
 * @property {number[]} shift rig coordinates: how far this character of a crowd stands from the first
 * @property {number[]} offset of the point, in the frame of the joint
 * @property {number} ahead of the camera [figure sizes]
 * @property {number[]} from pixels on the canvas
 * @property {boolean} turns
 * @property {number[]} place of the joint when it was pressed
 * @property {Quaternion} turn of the joint then
 */

export class Pull {
  /** @param {Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    /** @type {Held|null} */
    this.held = null;
    this._told = false;
    this._last = [0, 0]; // pixels: where the pointer is
  }

  /** Whether any part can be pulled. Not while bones are turned or a program shows the poses. */
  get ready() {
    const { bone, state, told } = this.viewport;
    return state?.scope === "body" && !state.driven && bone.joint === null && told.onDrag !== undefined;
  }

  /**
   * Begin to pull a part; what cannot move is not pulled.
   * @param {Part} part
   * @param {number[]} from pixels on the canvas
   * @param {boolean} turns
   */
  begin(part, from, turns) {
    const { actor, state, view } = this.viewport;
    if (!actor || !state) return;
    const { figure } = actor;
    const row = figure.joints[part.row].part;
    if (!state.free_root && isFixed(figure, row)) return; // the base of a robot stays, and so does the camera
    const { origin, turn, map } = readFrame(figure, row, part.character);
    const offset = new Vector3().fromArray(part.point).sub(origin).applyMatrix3(map.clone().invert());
    const [here, first] = [figure.places[part.character] ?? [0, 0, 0], figure.places[0]];
    view.refresh();
    this.held = {
      joint: figure.joints[row].name,
      shift: here.map((value, k) => value - first[k]),
      offset: offset.toArray(),
      ahead: view.project(part.point)[2],
      from,
      turns,
      place: origin.toArray(),
      turn,
    };
    this._told = false;
  }

  /** The pointer is here now. @param {number} x @param {number} y pixels on the canvas */
  move(x, y) {
    if (!this.held) return;
    this._last = [x, y];
    this._tell(this.held, this._told ? "move" : "start");
    this._told = true;
  }

  /** The part is let go. */
  end() {
    if (this.held && this._told) this._tell(this.held, "end");
    this.held = null;
  }

  /** @param {Held} held @param {Phase} phase */
  _tell(held, phase) {
    const now = held.turns ? this._computeTurn(held) : this._computeMove(held);
    this.viewport.told.onDrag?.({ what: "pull", joint: held.joint, ...now, phase });
  }

  /** @param {Held} held */
  _computeMove({ offset, ahead, shift }) {
    const { view } = this.viewport;
    view.refresh();
    const at = view.pointAt(this._last[0], this._last[1], ahead);
    return { offset, position: at.map((value, k) => value - shift[k]) };
  }

  /**
   * Turned about the picture's axes. To the side about the one upwards, up and down about the other.
   * @param {Held} held
   */
  _computeTurn({ from, turn, place, shift }) {
    const { camera } = this.viewport;
    const across = new Vector3().setFromMatrixColumn(camera.matrixWorld, 0);
    const upwards = new Vector3().setFromMatrixColumn(camera.matrixWorld, 1);
    const sideways = new Quaternion().setFromAxisAngle(upwards, TURN * (this._last[0] - from[0]));
    const down = new Quaternion().setFromAxisAngle(across, TURN * (this._last[1] - from[1]));
    const { x, y, z, w } = sideways.multiply(down).multiply(turn);
    return { position: place.map((value, k) => value - shift[k]), rotation: [w, x, y, z] };
  }
}

/** Whether nothing from the root to a joint moves. @param {Figure} figure @param {number} row */
function isFixed({ joints }, row) {
  for (let up = row; up >= 0; up = joints[up].parent) if (joints[up].kind !== "fixed") return false;
  return true;
}

/**
 * A view by keys alone. Choose a part, move and turn it, look around. What is moved is the chosen part of a whole body,
 * or what the gizmo has. Presses that follow each other are one drag, so they are one step of undo.
 */

/**
 * @import { StageKey } from "poise/commands/stage_keys.js"
 * @import { Phase } from "poise/protocol/messages.ts"
 * @import { Actor } from "poise/stage/actor.js"
 * @import { Viewport } from "poise/stage/viewport.js"
 */

import { writeKeys } from "poise/commands/shortcuts.js";
import { STAGE_KEYS } from "poise/commands/stage_keys.js";
import { readFrame } from "poise/handles/handles.js";
import { Quaternion, Vector3 } from "three";

const STEP = 0.01; // figure sizes
const TURN = Math.PI / 90; // [rad]
const ORBIT = Math.PI / 24; // [rad]
const PAN = 0.04; // of the distance
const REST = 400; // [ms] without a press after which a drag has ended

/** @typedef {{joint: string, position: number[], rotation: Quaternion|null}} Held */

export class StageKeys {
  /** @param {Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    this.timer = 0;
    /** @type {Held|null} the part that is moved */
    this.held = null;
    this._ends = new AbortController();
    const { container } = viewport;
    Object.assign(container, { tabIndex: 0, role: "application" });
    container.setAttribute("aria-label", "Figure: C chooses a part, arrows move it, H shows all keys");
    const { signal } = this._ends;
    /** @type {Map<string, StageKey>} */
    const table = new Map();
    for (const each of STAGE_KEYS) for (const keys of each.keys.split(" or ")) table.set(keys, each);
    container.addEventListener("keydown", (event) => this._press(event, table.get(writeKeys(event))), { signal });
    container.addEventListener("blur", () => this.settle(), { signal });
  }

  /** @param {KeyboardEvent} event @param {StageKey|undefined} key */
  _press(event, key) {
    const { actor } = this.viewport;
    if (!key || event.altKey || event.target !== this.viewport.container || !actor?.figure.ready) return;
    event.preventDefault();
    event.stopPropagation(); // no frame of the clip is meant
    if (key.act === "choose") return this._choose(key.way[0]);
    if (key.act === "move" || key.act === "turn") return this._drag(key);
    const { view } = this.viewport;
    if (key.act === "orbit") view.orbit(ORBIT * key.way[0], ORBIT * key.way[1]);
    else if (key.act === "pan") view.pan(PAN * key.way[0], PAN * key.way[1]);
    else view.zoom(key.way[0]);
  }

  /** The next part of a whole body, or the next target. @param {number} step */
  _choose(step) {
    const { actor, pull, told } = this.viewport;
    this.settle();
    if (!actor) return;
    if (!pull.ready) {
      const targets = [...actor.handles.all.values()].filter(({ what, enabled }) => enabled && what !== "pin");
      if (!targets.length) return;
      const at = targets.findIndex(({ key }) => key === this.viewport.gizmo.active);
      return this.viewport.take(targets[findNext(at, step, targets.length)]);
    }
    const { joints } = actor.figure;
    const parts = [...new Set(joints.map(({ part }) => part))];
    const at = parts.indexOf(joints[actor.selected]?.part ?? -1);
    told.onSelect(joints[parts[findNext(at, step, parts.length)]].name);
  }

  /** @param {StageKey} key */
  _drag({ act, way }) {
    const { actor, gizmo, pull, stage, view } = this.viewport;
    if (!actor) return;
    const inPicture = new Vector3().fromArray(way).applyQuaternion(view.camera.quaternion);
    const turn = new Quaternion().setFromAxisAngle(inPicture, TURN);
    const step = inPicture.clone().multiplyScalar(STEP * stage.size);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.settle(), REST);
    if (!pull.ready) return act === "turn" || gizmo.onlyTurns ? gizmo.spin(turn) : gizmo.nudge(step);
    const { joints } = actor.figure;
    if (actor.selected < 0) return this._choose(1);
    this._pull(actor, joints[actor.selected].part, act === "turn" ? turn : null, step);
  }

  /** @param {Actor} actor @param {number} row of the part @param {Quaternion|null} turn @param {Vector3} step */
  _pull({ figure }, row, turn, step) {
    const joint = figure.joints[row].name;
    if (this.held && (this.held.joint !== joint || (this.held.rotation !== null) !== (turn !== null))) this.settle();
    const phase = this.held ? "move" : "start";
    const frame = readFrame(figure, row);
    this.held ??= { joint, position: frame.origin.toArray(), rotation: turn && frame.turn };
    if (turn) this.held.rotation?.premultiply(turn);
    else this.held.position = this.held.position.map((value, k) => value + step.getComponent(k));
    this._tell(this.held, phase);
  }

  /** @param {Held} held @param {Phase} phase */
  _tell({ joint, position, rotation }, phase) {
    const turned = rotation ? { rotation: [rotation.w, rotation.x, rotation.y, rotation.z] } : {};
    this.viewport.told.onDrag?.({ what: "pull", joint, position, ...turned, phase });
  }

  /** No key was pressed for a while. What was moved is let go. */
  settle() {
    clearTimeout(this.timer);
    if (this.held) this._tell(this.held, "end");
    this.held = null;
    this.viewport.gizmo.drop();
  }

  dispose() {
    this._ends.abort();
    clearTimeout(this.timer);
  }
}

/** @param {number} at @param {number} step @param {number} count */
function findNext(at, step, count) {
  return at < 0 ? (step > 0 ? 0 : count - 1) : (at + step + count) % count;
}

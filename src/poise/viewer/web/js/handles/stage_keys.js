/**
 * A view by keys alone: choose a part, move and turn it, look around. What is moved is the chosen part of a whole body,
 * or what the gizmo has. Presses that follow each other are one drag, so they are one step of undo.
 */

import { written } from "poise/commands/shortcuts.js";
import { frameOf } from "poise/handles/handles.js";
import { Quaternion, Vector3 } from "three";

const STEP = 0.01; // figure sizes
const TURN = Math.PI / 90; // [rad]
const ORBIT = Math.PI / 24; // [rad]
const ZOOM = 1.1; // of the distance
const PAN = 0.04; // of the distance
const REST = 400; // [ms] without a press after which a drag has ended

/**
 * @typedef {object} StageKey
 * @property {string} keys as in shortcuts.js
 * @property {string} text
 * @property {"choose"|"move"|"turn"|"orbit"|"pan"|"zoom"} act
 * @property {number[]} way in the picture: to the right, upwards, towards who looks; of the others the number alone
 */

/** @type {StageKey[]} */
export const STAGE_KEYS = [
  { keys: "] or N", text: "Choose the next part", act: "choose", way: [1] },
  { keys: "[ or Shift+N", text: "Choose the part before", act: "choose", way: [-1] },
  { keys: "Left", text: "Move it to the left", act: "move", way: [-1, 0, 0] },
  { keys: "Right", text: "Move it to the right", act: "move", way: [1, 0, 0] },
  { keys: "Up", text: "Move it upwards", act: "move", way: [0, 1, 0] },
  { keys: "Down", text: "Move it downwards", act: "move", way: [0, -1, 0] },
  { keys: "PageUp", text: "Move it away", act: "move", way: [0, 0, -1] },
  { keys: "PageDown", text: "Move it nearer", act: "move", way: [0, 0, 1] },
  { keys: "Ctrl+Left", text: "Turn it to the left", act: "turn", way: [0, -1, 0] },
  { keys: "Ctrl+Right", text: "Turn it to the right", act: "turn", way: [0, 1, 0] },
  { keys: "Ctrl+Up", text: "Turn it upwards", act: "turn", way: [-1, 0, 0] },
  { keys: "Ctrl+Down", text: "Turn it downwards", act: "turn", way: [1, 0, 0] },
  { keys: "Shift+Left", text: "Look from further left", act: "orbit", way: [-1, 0] },
  { keys: "Shift+Right", text: "Look from further right", act: "orbit", way: [1, 0] },
  { keys: "Shift+Up", text: "Look from further above", act: "orbit", way: [0, 1] },
  { keys: "Shift+Down", text: "Look from further below", act: "orbit", way: [0, -1] },
  { keys: "Ctrl+Shift+Left", text: "Camera to the left", act: "pan", way: [-1, 0] },
  { keys: "Ctrl+Shift+Right", text: "Camera to the right", act: "pan", way: [1, 0] },
  { keys: "Ctrl+Shift+Up", text: "Camera upwards", act: "pan", way: [0, 1] },
  { keys: "Ctrl+Shift+Down", text: "Camera downwards", act: "pan", way: [0, -1] },
  { keys: "+ or =", text: "Nearer", act: "zoom", way: [1 / ZOOM] },
  { keys: "-", text: "Farther", act: "zoom", way: [ZOOM] },
];

export class StageKeys {
  /** @param {any} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    this.timer = 0;
    /** @type {{joint: string, position: number[], rotation: Quaternion|null}|null} the part that is moved */
    this.held = null;
    this._ends = new AbortController();
    const { container } = viewport;
    Object.assign(container, { tabIndex: 0, role: "application" });
    container.setAttribute("aria-label", "Figure: N chooses a part, arrows move it, H shows all keys");
    const { signal } = this._ends;
    const table = new Map(STAGE_KEYS.flatMap((each) => each.keys.split(" or ").map((keys) => [keys, each])));
    container.addEventListener("keydown", (event) => this._press(event, table.get(written(event))), { signal });
    container.addEventListener("blur", () => this.rest(), { signal });
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
    this.rest();
    if (!pull.ready) {
      const targets = [...actor.handles.all.values()].filter(({ what, enabled }) => enabled && what !== "pin");
      if (!targets.length) return;
      const at = targets.findIndex(({ key }) => key === this.viewport.gizmo.active);
      return this.viewport.take(targets[next(at, step, targets.length)]);
    }
    const { joints } = actor.figure;
    const parts = [...new Set(joints.map(({ part }) => part))];
    const at = parts.indexOf(joints[actor.selected]?.part ?? -1);
    told.onSelect(joints[parts[next(at, step, parts.length)]].name);
  }

  /** @param {StageKey} key */
  _drag({ act, way }) {
    const { actor, gizmo, pull, stage, view } = this.viewport;
    const inPicture = new Vector3(...way).applyQuaternion(view.camera.quaternion);
    const turn = new Quaternion().setFromAxisAngle(inPicture, TURN);
    const step = inPicture.clone().multiplyScalar(STEP * stage.size);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.rest(), REST);
    if (!pull.ready) return act === "turn" || gizmo.onlyTurns ? gizmo.spin(turn) : gizmo.nudge(step);
    const { joints } = actor.figure;
    if (actor.selected < 0) return this._choose(1);
    this._pull(joints[actor.selected].part, act === "turn" ? turn : null, step);
  }

  /** @param {number} row of the part @param {Quaternion|null} turn @param {Vector3} step */
  _pull(row, turn, step) {
    const { figure } = this.viewport.actor;
    const joint = figure.joints[row].name;
    if (this.held && (this.held.joint !== joint || (this.held.rotation !== null) !== (turn !== null))) this.rest();
    const phase = this.held ? "move" : "start";
    const frame = frameOf(figure, row);
    this.held ??= { joint, position: frame.origin.toArray(), rotation: turn && frame.turn };
    if (turn) this.held.rotation?.premultiply(turn);
    else this.held.position = this.held.position.map((value, k) => value + step.getComponent(k));
    this._tell(phase);
  }

  _tell(phase) {
    const { joint, position, rotation } = /** @type {any} */ (this.held);
    const turned = rotation ? { rotation: [rotation.w, rotation.x, rotation.y, rotation.z] } : {};
    this.viewport.told.onDrag({ what: "pull", joint, position, ...turned, phase });
  }

  /** No key was pressed for a while: what was moved is let go. */
  rest() {
    clearTimeout(this.timer);
    if (this.held) this._tell("end");
    this.held = null;
    this.viewport.gizmo.drop();
  }

  dispose() {
    this._ends.abort();
    clearTimeout(this.timer);
  }
}

function next(at, step, count) {
  return at < 0 ? (step > 0 ? 0 : count - 1) : (at + step + count) % count;
}

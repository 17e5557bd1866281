/** The arrows and rings that drag one handle at a time. */

import { far } from "poise/handles/pointer.js";
import { TransformControls } from "three/addons/controls/TransformControls.js";

const SIZE = 0.75;
const TURNS = new Set(["place", "direction", "handle", "bone"]);

export class Gizmo {
  /**
   * Make it before the camera's controls: both listen to the canvas, and this one has to come first.
   * @param {import("poise/stage/stage.js").Stage} stage
   * @param {(message: object) => number} onDrag what is sent with it: its serial
   */
  constructor(stage, onDrag) {
    this.stage = stage;
    this.onDrag = onDrag;
    this.handles = null;
    this.camera = null;
    this.active = null; // key of a handle
    this.mode = "move";
    this.space = "world";
    this._pressedAt = [0, 0]; // pixels
    this._still = true; // what is pressed has not moved: a click
    this._moved = this._told = false; // since the last drawing; at all
    this._pull = null; // {place, from, ahead} of a drag that is done without arrows
    this.controls = new TransformControls(stage.camera, stage.canvas);
    this.controls.setSize(SIZE);
    stage.overlay.add(this.controls.getHelper());
    this.controls.addEventListener("change", () => stage.invalidate());
    this.controls.addEventListener("mouseDown", () => this._start());
    this.controls.addEventListener("objectChange", () => this._move());
    this.controls.addEventListener("mouseUp", () => this._end());
    this._cancel = () => this.controls.pointerUp(null); // a touch that the system takes over ends the drag
    stage.canvas.addEventListener("pointercancel", this._cancel);
    this._watch = (event) => this._pointed(event);
    for (const name of ["pointerdown", "pointermove"]) stage.canvas.addEventListener(name, this._watch);
  }

  /** @param {import("poise/stage/camera.js").Camera} camera */
  setCamera(camera) {
    this.camera = camera;
    this.controls.camera = camera.camera;
  }

  /** @param {import("poise/handles/handles.js").Handles} handles */
  setHandles(handles) {
    this._abort();
    this.handles = handles;
    this.attach(null);
  }

  /** What is dragged is gone: nobody is told of it any more. */
  _abort() {
    if (this.handles) this.handles.dragged = null;
    this._pull = null;
    this._moved = false;
    this.controls.pointerUp(null);
    this.camera.controls.enabled = true;
  }

  get dragging() {
    return Boolean(this.handles?.dragged);
  }

  /** Whether what it has can be turned. */
  get turns() {
    return this.active !== null && TURNS.has(this.handles.all.get(this.active)?.mark);
  }

  /** Whether the pointer is on an arrow or ring. */
  get hovered() {
    return this.controls.axis !== null;
  }

  /** Whether an arrow or ring lies at a point of the canvas. @param {number} x @param {number} y pixels */
  covers(x, y) {
    const [width, height] = this.stage.extent();
    this.controls.pointerHover({ x: (2 * x) / width - 1, y: 1 - (2 * y) / height, button: 0 }); // a finger has not hovered
    return this.hovered;
  }

  /** @param {string|null} key */
  attach(key) {
    if (this.handles.all.has(this.handles.dragged)) return;
    if (this.controls.dragging) this._abort();
    const handle = key === null ? undefined : this.handles.all.get(key);
    this.active = handle?.enabled && handle.what !== "pin" ? key : null;
    if (this.active === null) this.controls.detach();
    else this.controls.attach(handle.object);
    this._fit();
    this.stage.invalidate();
  }

  /** @param {"move"|"turn"} mode @param {"world"|"local"} space whose axes the arrows and rings have */
  setMode(mode, space) {
    this.mode = mode;
    this.space = space;
    this._fit();
    this.stage.invalidate();
  }

  /** A point cannot be turned; a bone only turns, unless it is free, and a hinge only about its axis. */
  _fit() {
    const { mark, single, moves } = this.handles?.all.get(this.active) ?? {};
    const turning = mark === "bone" ? !(moves && this.mode === "move") : this.mode === "turn" && this.turns;
    this.controls.setMode(turning ? "rotate" : "translate");
    this.controls.setSpace(single ? "local" : this.space);
    this.controls.showX = this.controls.showY = !single;
  }

  /** @param {import("poise/stage/palette.js").Palette} palette */
  setPalette(palette) {
    this.controls.setColors(palette.x, palette.y, palette.z, palette.axis);
  }

  _start() {
    this.camera.controls.enabled = false;
    this.handles.begin(this.active);
    this._moved = this._told = false;
  }

  /**
   * Begin to drag what it has without arrows: along with the pointer, as far from the camera as it is.
   * @param {number} x pixels on the canvas
   * @param {number} y
   * @param {number[]} shift rig coordinates: what the pointer has lies this far from the handle
   * @returns {boolean} whether it can be
   */
  grab(x, y, shift) {
    if (this.active === null || this.dragging) return false;
    const place = this.handles.all.get(this.active).object.position.toArray();
    this.camera.refresh();
    const ahead = this.camera.project(place.map((value, k) => value + shift[k]))[2];
    if (ahead <= 0) return false; // behind the camera
    this._pull = { place, ahead, from: this.camera.pointAt(x, y, ahead) };
    this._start();
    this._still = false;
    return true;
  }

  /** The pointer of a drag without arrows is here now. @param {number} x @param {number} y pixels on the canvas */
  pull(x, y) {
    if (!this._pull || !this.dragging) return;
    const { place, from, ahead } = this._pull;
    this.camera.refresh();
    const to = this.camera.pointAt(x, y, ahead);
    this.controls.object.position.fromArray(place.map((value, k) => value + to[k] - from[k]));
    this._move();
    this.stage.invalidate();
  }

  /** A drag without arrows has ended. */
  drop() {
    if (!this._pull) return;
    this._pull = null;
    this._end();
  }

  /** Whether it has a bone that turns in its place. */
  get onlyTurns() {
    const { mark, moves } = this.handles?.all.get(this.active) ?? {};
    return mark === "bone" && !moves;
  }

  /** Move what it has by keys; `drop` ends that. @param {import("three").Vector3} step rig coordinates */
  nudge(step) {
    if (!this._takeByKeys()) return;
    this.controls.object.position.add(step);
    this._move();
    this.stage.invalidate();
  }

  /** Turn what it has by keys; `drop` ends that. @param {import("three").Quaternion} turn */
  spin(turn) {
    if (!this.turns || !this._takeByKeys()) return;
    this.controls.object.quaternion.premultiply(turn);
    this._move();
    this.stage.invalidate();
  }

  /** @returns {boolean} whether it has something */
  _takeByKeys() {
    if (this.active === null || (this.dragging && !this._pull)) return false;
    if (this.dragging) return true;
    this._pull = { place: this.controls.object.position.toArray(), ahead: 0, from: [0, 0, 0] };
    this._start();
    this._still = false;
    return true;
  }

  /** A press that stays where it is does nothing; it may be a click on something behind the gizmo. */
  _pointed(event) {
    const at = [event.clientX, event.clientY];
    if (event.type === "pointerdown") [this._pressedAt, this._still] = [at, true];
    else if (far(this._pressedAt, at, event.pointerType)) this._still = false;
  }

  _move() {
    if (!this.dragging) return;
    if (this._still) this.handles.putBack(this.active);
    else this.handles.moved(this.active);
    this._moved = !this._still; // sent once a drawing
  }

  /** Tell of a move, at most once an animation frame; called before each drawing. */
  flush() {
    if (!this._moved) return;
    this._moved = false;
    if (!this.dragging) return;
    this._tell(this._told ? "move" : "start");
    this._told = true;
  }

  _end() {
    this.camera.controls.enabled = true;
    if (!this.dragging) return;
    this.flush();
    if (this._told) this._tell("end");
    else this.handles.putBack(this.active);
    this.handles.dragged = null;
  }

  _tell(phase) {
    if (!this.handles.all.has(this.active)) return;
    const serial = this.onDrag({ ...this.handles.message(this.active), phase });
    this.handles.hold(this.active, serial);
  }

  dispose() {
    this.stage.canvas.removeEventListener("pointercancel", this._cancel);
    for (const name of ["pointerdown", "pointermove"]) this.stage.canvas.removeEventListener(name, this._watch);
    this.controls.detach();
    this.controls.dispose();
  }
}

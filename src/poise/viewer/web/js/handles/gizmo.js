/** The arrows and rings that drag one handle at a time. */

/**
 * @import { Handle } from "poise/handles/handles.js"
 * @import { Drag, Phase } from "poise/protocol/messages.ts"
 * @import { Camera } from "poise/stage/camera.js"
 * @import { Palette } from "poise/stage/palette.js"
 * @import { Stage } from "poise/stage/stage.js"
 * @import { Quaternion, Vector3 } from "three"
 */

import { Figure } from "poise/figure/figure.js";
import { Handles } from "poise/handles/handles.js";
import { isDrag } from "poise/handles/pointer.js";
import { TransformControls } from "three/addons/controls/TransformControls.js";

const SIZE = 0.75;
/** @type {("pointerdown"|"pointermove")[]} */
const POINTED = ["pointerdown", "pointermove"];
const TURNS = new Set(["place", "direction", "handle", "bone"]);
const NONE = new Handles(new Figure({ joints: [], places: [], size: 1 })); // before the first model

export class Gizmo {
  /**
   * Make it before the camera's controls. Both listen to the canvas, and this one has to come first.
   * @param {Stage} stage
   * @param {(drag: Drag) => number} onDrag what is sent with it: its serial
   */
  constructor(stage, onDrag) {
    this.stage = stage;
    this.onDrag = onDrag;
    this.handles = NONE;
    /** @type {Camera|null} */
    this.camera = null;
    /** @type {string|null} key of a handle */
    this.active = null;
    /** @type {"move"|"turn"} */
    this.mode = "move";
    /** @type {"world"|"local"} */
    this.space = "world";
    this._pressedAt = [0, 0]; // pixels
    this._still = true; // what is pressed has not moved: a click
    this._moved = this._told = false; // since the last drawing; at all
    /** @type {{place: number[], from: number[], ahead: number}|null} of a drag that is done without arrows */
    this._pull = null;
    this.controls = new TransformControls(stage.camera, stage.canvas);
    this.controls.setSize(SIZE);
    stage.overlay.add(this.controls.getHelper());
    this.controls.addEventListener("change", () => stage.invalidate());
    this.controls.addEventListener("mouseDown", () => this._start());
    this.controls.addEventListener("objectChange", () => this._move());
    this.controls.addEventListener("mouseUp", () => this._end());
    this._cancel = () => this.controls.pointerUp(null); // a touch that the system takes over ends the drag
    stage.canvas.addEventListener("pointercancel", this._cancel);
    this._watch = (/** @type {PointerEvent} */ event) => this._watchPointer(event);
    for (const name of POINTED) stage.canvas.addEventListener(name, this._watch);
  }

  /** @param {Camera} camera */
  setCamera(camera) {
    this.camera = camera;
    this.controls.camera = camera.camera;
  }

  /** @param {Handles} handles */
  setHandles(handles) {
    this._abort();
    this.handles = handles;
    this.attach(null);
  }

  /** What is dragged is gone: nobody is told of it any more. */
  _abort() {
    this.handles.dragged = null;
    this._pull = null;
    this._moved = false;
    this.controls.pointerUp(null);
    this._holdCamera(false);
  }

  get dragging() {
    return Boolean(this.handles.dragged);
  }

  /** The handle that it has. */
  get handle() {
    return this.active === null ? undefined : this.handles.all.get(this.active);
  }

  /** Whether what it has can be turned. */
  get turns() {
    const { handle } = this;
    return handle !== undefined && TURNS.has(handle.mark);
  }

  /** Whether the pointer is on an arrow or ring. */
  get hovered() {
    return this.controls.axis !== null;
  }

  /** Whether an arrow or ring lies at a point of the canvas. @param {number} x @param {number} y pixels */
  isAt(x, y) {
    const [width, height] = this.stage.measureExtent();
    const at = { x: (2 * x) / width - 1, y: 1 - (2 * y) / height, button: 0 };
    this.controls.pointerHover(/** @type {PointerEvent} */ (at)); // a finger has not hovered
    return this.hovered;
  }

  /** @param {string|null} key */
  attach(key) {
    if (this.handles.dragged !== null && this.handles.all.has(this.handles.dragged)) return;
    if (this.controls.dragging) this._abort();
    const handle = key === null ? undefined : this.handles.all.get(key);
    const taken = handle?.enabled && handle.what !== "pin" ? handle : null;
    this.active = taken?.key ?? null;
    if (taken === null) this.controls.detach();
    else this.controls.attach(taken.object);
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

  /** A point cannot be turned. A bone only turns, unless it is free, and a hinge only about its axis. */
  _fit() {
    const { handle } = this;
    const single = handle?.single === true;
    const ofBone = handle?.mark === "bone";
    const turning = ofBone ? !(handle.moves && this.mode === "move") : this.mode === "turn" && this.turns;
    this.controls.setMode(turning ? "rotate" : "translate");
    this.controls.setSpace(single ? "local" : this.space);
    this.controls.showX = this.controls.showY = !single;
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.controls.setColors(palette.x, palette.y, palette.z, palette.axis);
  }

  /** While something is dragged the camera stays. @param {boolean} held */
  _holdCamera(held) {
    if (this.camera) this.camera.controls.enabled = !held;
  }

  _start() {
    this._holdCamera(true);
    this.handles.begin(this.active);
    this._moved = this._told = false;
  }

  /**
   * Begin to drag what it has without arrows. Along with the pointer, as far from the camera as it is.
   * @param {number} x pixels on the canvas
   * @param {number} y
   * @param {number[]} shift rig coordinates: what the pointer has lies this far from the handle
   * @returns {boolean} whether it can be
   */
  grab(x, y, shift) {
    const { camera, handle } = this;
    if (!handle || !camera || this.dragging) return false;
    const place = handle.object.position.toArray();
    camera.refresh();
    const ahead = camera.project(place.map((value, k) => value + shift[k]))[2];
    if (ahead <= 0) return false; // behind the camera
    this._pull = { place, ahead, from: camera.pointAt(x, y, ahead) };
    this._start();
    this._still = false;
    return true;
  }

  /** The pointer of a drag without arrows is here now. @param {number} x @param {number} y pixels on the canvas */
  pull(x, y) {
    const { camera, handle } = this;
    if (!this._pull || !camera || !handle || !this.dragging) return;
    const { place, from, ahead } = this._pull;
    camera.refresh();
    const to = camera.pointAt(x, y, ahead);
    handle.object.position.fromArray(place.map((value, k) => value + to[k] - from[k]));
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
    return this.handle?.mark === "bone" && !this.handle.moves;
  }

  /** Move what it has by keys; `drop` ends that. @param {Vector3} step rig coordinates */
  nudge(step) {
    const handle = this._takeByKeys();
    if (!handle) return;
    handle.object.position.add(step);
    this._move();
    this.stage.invalidate();
  }

  /** Turn what it has by keys; `drop` ends that. @param {Quaternion} turn */
  spin(turn) {
    const handle = this.turns ? this._takeByKeys() : null;
    if (!handle) return;
    handle.object.quaternion.premultiply(turn);
    this._move();
    this.stage.invalidate();
  }

  /** @returns {Handle|null} what it has, held by keys now */
  _takeByKeys() {
    const { handle } = this;
    if (!handle || (this.dragging && !this._pull)) return null;
    if (this.dragging) return handle;
    this._pull = { place: handle.object.position.toArray(), ahead: 0, from: [0, 0, 0] };
    this._start();
    this._still = false;
    return handle;
  }

  /**
   * A press that stays where it is does nothing. It may be a click on something behind the gizmo.
   * @param {PointerEvent} event
   */
  _watchPointer(event) {
    const at = [event.clientX, event.clientY];
    if (event.type === "pointerdown") [this._pressedAt, this._still] = [at, true];
    else if (isDrag(this._pressedAt, at, event.pointerType)) this._still = false;
  }

  _move() {
    if (!this.dragging || this.active === null) return;
    if (this._still) this.handles.putBack(this.active);
    else this.handles.keepMove(this.active);
    this._moved = !this._still; // sent once a drawing
  }

  /** Tell of a move, at most once an animation frame. Called before each drawing. */
  flush() {
    if (!this._moved) return;
    this._moved = false;
    if (!this.dragging) return;
    this._tell(this._told ? "move" : "start");
    this._told = true;
  }

  _end() {
    this._holdCamera(false);
    if (!this.dragging) return;
    this.flush();
    if (this._told) this._tell("end");
    else if (this.active !== null) this.handles.putBack(this.active);
    this.handles.dragged = null;
  }

  /** @param {Phase} phase */
  _tell(phase) {
    const { handle } = this;
    if (handle) this.handles.hold(handle.key, this.onDrag({ ...this.handles.makeMessage(handle), phase }));
  }

  dispose() {
    this.stage.canvas.removeEventListener("pointercancel", this._cancel);
    for (const name of POINTED) this.stage.canvas.removeEventListener(name, this._watch);
    this.controls.detach();
    this.controls.dispose();
  }
}

/** The arrows and rings that drag one handle at a time. */

import { TransformControls } from "three/addons/controls/TransformControls.js";

const SIZE = 0.75;
const TURNS = new Set(["place", "direction", "handle"]);

export class Gizmo {
  /**
   * Make it before the camera's controls: both listen to the canvas, and this one has to come first.
   * @param {import("poise/stage.js").Stage} stage
   * @param {(message: object) => void} onDrag
   */
  constructor(stage, onDrag) {
    this.stage = stage;
    this.onDrag = onDrag;
    this.handles = null;
    this.camera = null;
    this.active = null; // key of a handle
    this.mode = "move";
    this.controls = new TransformControls(stage.camera, stage.canvas);
    this.controls.setSize(SIZE);
    stage.overlay.add(this.controls.getHelper());
    this.controls.addEventListener("change", () => stage.invalidate());
    this.controls.addEventListener("mouseDown", () => this._start());
    this.controls.addEventListener("objectChange", () => (this._moved = true)); // sent once a drawing
    this.controls.addEventListener("mouseUp", () => this._end());
    this._cancel = () => this.controls.pointerUp(null); // a touch that the system takes over ends the drag
    stage.canvas.addEventListener("pointercancel", this._cancel);
  }

  /** @param {import("poise/camera.js").Camera} camera */
  setCamera(camera) {
    this.camera = camera;
    this.controls.camera = camera.camera;
  }

  /** @param {import("poise/handles.js").Handles} handles */
  setHandles(handles) {
    this.handles = handles;
    this.attach(null);
  }

  get dragging() {
    return this.handles?.dragged !== null;
  }

  /** Whether the pointer is on an arrow or ring. */
  get hovered() {
    return this.controls.axis !== null;
  }

  /** @param {string|null} key */
  attach(key) {
    if (this.handles?.dragged) return;
    const handle = key === null ? undefined : this.handles.all.get(key);
    this.active = handle?.enabled && handle.what !== "pin" ? key : null;
    if (this.active === null) this.controls.detach();
    else this.controls.attach(handle.object);
    this._fit();
    this.stage.invalidate();
  }

  /** @param {"move"|"turn"} mode @param {"world"|"local"} [space] */
  setMode(mode, space = "world") {
    this.mode = mode;
    this.controls.setSpace(space);
    this._fit();
    this.stage.invalidate();
  }

  /** A point cannot be turned. */
  _fit() {
    const turns = this.mode === "turn" && this.active !== null && TURNS.has(this.handles.all.get(this.active).mark);
    this.controls.setMode(turns ? "rotate" : "translate");
  }

  /** @param {import("poise/palette.js").Palette} palette */
  setPalette(palette) {
    this.controls.setColors(palette.x, palette.y, palette.z, palette.axis);
  }

  _start() {
    this.camera.controls.enabled = false;
    this.handles.startDrag(this.active);
    this._moved = false;
    this._tell("start");
  }

  /** Tell of a move, at most once an animation frame; called before each drawing. */
  flush() {
    if (!this._moved) return;
    this._moved = false;
    if (this.dragging) this._tell("move");
  }

  _end() {
    this.camera.controls.enabled = true;
    if (!this.dragging) return;
    this.flush();
    this._tell("end");
    this.handles.endDrag(() => this.stage.invalidate());
  }

  _tell(phase) {
    if (this.handles.all.has(this.active)) this.onDrag({ ...this.handles.message(this.active), phase });
  }

  dispose() {
    this.stage.canvas.removeEventListener("pointercancel", this._cancel);
    this.controls.detach();
    this.controls.dispose();
  }
}

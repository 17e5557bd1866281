// Mouse, touch and keys: they drag the target, turn its direction, and move the camera.

import { Arm } from "./arm.js";
import { add, normalise, scale, subtract } from "./matrices.js";

const GRAB_RADII_PX = { mouse: 26, pen: 30, touch: 44 };
const ORBIT_RAD_PER_PX = 0.008;
const ZOOM_PER_WHEEL_PX = 0.0012;
const KEY_STEP_PX = 12; // of an arrow key, on the screen
const KEY_DEPTH_M = 0.03; // of Page Up and Page Down
const KEY_ORBIT_RAD = 0.1;
const KEY_ZOOM = 1.1;
const MAX_DISTANCE_M = 4; // of a target from the arm's foot

const ARROW_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Pointer {
  /** `view` has camera, target, hasDirection, tip, onTarget(target, event) and onCamera(). */
  constructor(canvas, view) {
    this.canvas = canvas;
    this.view = view;
    this.pointers = new Map(); // by id: [x, y]
    this.held = null; // "target", "direction" or "camera"
    this.turnsDirection = false; // whether arrow keys turn the direction
    const listen = (name, method) => canvas.addEventListener(name, (event) => method.call(this, event));
    listen("pointerdown", this.#press);
    listen("pointermove", this.#move);
    for (const name of ["pointerup", "pointercancel"]) listen(name, this.#release);
    listen("keydown", this.#type);
    canvas.addEventListener("wheel", (event) => this.#roll(event), { passive: false });
    // A page round this one scrolls by touches beside the target; a drag of the target must not scroll it.
    canvas.addEventListener("touchstart", (event) => this.#touch(event), { passive: false });
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** Find what a point of the picture takes hold of. */
  find([x, y], radius) {
    const { camera, target, hasDirection } = this.view;
    const isNear = (point) => {
      const [px, py] = camera.project(point);
      return Math.hypot(px - x, py - y) <= radius;
    };
    if (hasDirection && isNear(Arm.findKnob(target))) return "direction";
    return isNear([...target.subarray(0, 3)]) ? "target" : "camera";
  }

  #touch(event) {
    const radius = GRAB_RADII_PX.touch;
    const isHeld = [...event.touches].some((touch) => this.find(this.#place(touch), radius) !== "camera");
    if (isHeld || event.touches.length > 1 || !isEmbedded()) event.preventDefault();
  }

  #press(event) {
    if (event.button > 0 || this.pointers.size > 1) return;
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const place = this.#place(event);
    this.pointers.set(event.pointerId, place);
    this.held = this.pointers.size > 1 ? "camera" : this.find(place, GRAB_RADII_PX[event.pointerType] ?? 30);
    this.canvas.dataset.held = this.held;
  }

  #move(event) {
    const place = this.#place(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.canvas.dataset.over = this.find(place, GRAB_RADII_PX.mouse);
      return;
    }
    const before = this.#measureSpread();
    this.pointers.set(event.pointerId, place);
    const [dx, dy] = [place[0] - last[0], place[1] - last[1]];
    const share = 1 / this.pointers.size; // two fingers turn half as far each
    if (this.held === "camera") {
      this.view.camera.orbit(-dx * share * ORBIT_RAD_PER_PX, dy * share * ORBIT_RAD_PER_PX);
      if (before > 0) this.view.camera.zoom(before / this.#measureSpread());
      this.view.onCamera();
    } else this.#drag(dx, dy, event, this.held === "direction");
  }

  /** Measure the distance of two fingers; 0 with fewer. */
  #measureSpread() {
    if (this.pointers.size !== 2) return 0;
    const [a, b] = [...this.pointers.values()];
    return Math.max(Math.hypot(a[0] - b[0], a[1] - b[1]), 1);
  }

  /** Move the target, or turn its direction, by a motion on the screen [px]. */
  #drag(dx, dy, event, turns) {
    const { camera } = this.view;
    const target = Float64Array.from(this.view.target);
    if (turns) {
      const knob = Arm.findKnob(target);
      const moved = add(knob, camera.convertMotion(dx, dy, knob));
      target.set(normalise(subtract(moved, [...target.subarray(0, 3)])), 3);
    } else target.set(this.#moveInside(target, camera.convertMotion(dx, dy, [...target.subarray(0, 3)])));
    this.view.onTarget(target, event);
  }

  #moveInside(target, motion) {
    const moved = add([...target.subarray(0, 3)], motion);
    const distance = Math.hypot(...moved);
    return distance > MAX_DISTANCE_M ? scale(moved, MAX_DISTANCE_M / distance) : moved;
  }

  #release(event) {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size) return;
    this.held = null;
    delete this.canvas.dataset.held;
  }

  #roll(event) {
    // Inside another page the wheel scrolls that page, until the picture has been clicked.
    if (isEmbedded() && document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    this.view.camera.zoom(
      Math.exp(Math.max(-120, Math.min(120, pixels)) * ZOOM_PER_WHEEL_PX * (event.ctrlKey ? 6 : 1)),
    );
    this.view.onCamera();
  }

  #type(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { camera } = this.view;
    const arrow = ARROW_KEYS[event.key];
    if (arrow && event.shiftKey) camera.orbit(-arrow[0] * KEY_ORBIT_RAD, arrow[1] * KEY_ORBIT_RAD);
    else if (arrow) this.#drag(arrow[0] * KEY_STEP_PX, arrow[1] * KEY_STEP_PX, event, this.turnsDirection);
    else if (event.key === "PageUp" || event.key === "PageDown") this.#pushTarget(event);
    else if (event.key === "+" || event.key === "=") camera.zoom(1 / KEY_ZOOM);
    else if (event.key === "-") camera.zoom(KEY_ZOOM);
    else if (event.key === "t" && this.view.hasDirection) this.turnsDirection = !this.turnsDirection;
    else return;
    event.preventDefault();
    this.view.onCamera();
  }

  /** Move the target away from the viewer, or nearer. */
  #pushTarget(event) {
    const step = event.key === "PageUp" ? -KEY_DEPTH_M : KEY_DEPTH_M;
    const target = Float64Array.from(this.view.target);
    target.set(this.#moveInside(target, scale(this.view.camera.back, step)));
    this.view.onTarget(target, event);
  }
}

/** Return whether another page shows this one. */
export function isEmbedded() {
  return globalThis.self !== globalThis.top;
}

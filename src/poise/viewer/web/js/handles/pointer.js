/** What the pointer does besides orbiting and dragging gizmos: clicks, double clicks, and what it hovers over. */

const STILL = { mouse: 4, pen: 6, touch: 10 }; // pixels: farther is a drag, not a click; no hand is quite still
const REACH = { mouse: 13, pen: 16, touch: 24 }; // pixels beside the middle of a mark that still hit it
const SOON = 350; // [ms] between the clicks of a double click

export class Pointer {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{onPress(): void, onClick(x: number, y: number, type: string, busy: boolean): void,
   *   onDouble(x: number, y: number, type: string): void,
   *   onHover(x: number, y: number): void, onLeave(): void, isBusy(): boolean}} told pixels on the canvas, type of the
   *   pointer; busy: a gizmo had the pointer
   */
  constructor(canvas, told) {
    this.canvas = canvas;
    this.told = told;
    this._down = null;
    this._last = -Infinity;
    this._touches = new Set();
    this._ends = new AbortController();
    const on = (name, listener) => canvas.addEventListener(name, listener, { signal: this._ends.signal });
    on("pointerdown", (event) => this._press(event));
    on("pointermove", (event) => this._move(event));
    on("pointerup", (event) => this._release(event));
    on("pointercancel", (event) => this._forget(event));
    for (const name of ["pointerleave", "wheel"]) on(name, () => this._leave()); // a wheel moves the picture away
  }

  _press(event) {
    this._touches.add(event.pointerId);
    const single = this._touches.size === 1 && event.button === 0;
    this._down = single ? at(event) : null; // two fingers pan and zoom
    this._busy = this.told.isBusy();
    this._stopHover();
    this.told.onPress();
  }

  _leave() {
    this._stopHover();
    this.told.onLeave();
  }

  _stopHover() {
    cancelAnimationFrame(this._hover);
    this._hover = undefined;
  }

  _move(event) {
    if (this._down && far(this._down, at(event), event.pointerType)) this._down = null;
    if (event.buttons === 0 && event.pointerType !== "touch") this._waiting(event);
  }

  /** Hovering is looked up once an animation frame, however often the mouse reports. */
  _waiting(event) {
    const [x, y] = at(event);
    this._hover ??= requestAnimationFrame(() => {
      this._hover = undefined;
      if (!this._ends.signal.aborted) this.told.onHover(...this._place);
    });
    this._place = [x, y];
  }

  _release(event) {
    const down = this._down;
    this._forget(event);
    if (!down || event.button !== 0 || far(down, at(event), event.pointerType)) return;
    const again = !this._busy && event.timeStamp - this._last < SOON && !far(this._lastPlace, down, event.pointerType);
    this._last = again || this._busy ? -Infinity : event.timeStamp;
    this._lastPlace = down;
    if (again) this.told.onDouble(...down, event.pointerType);
    else this.told.onClick(...down, event.pointerType, this._busy);
  }

  _forget(event) {
    this._touches.delete(event.pointerId);
    this._down = null;
  }

  dispose() {
    this._ends.abort();
  }
}

/** @param {PointerEvent} event @returns {[number, number]} */
function at(event) {
  const box = event.target.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** Whether a pointer that went from one place to the other drags. @param {string} type of the pointer */
export function far(a, b, type) {
  return Math.hypot(a[0] - b[0], a[1] - b[1]) > (STILL[type] ?? STILL.mouse);
}

/** How far beside a mark a pointer still hits it [pixels]. @param {string} type of the pointer */
export function reachOf(type) {
  return REACH[type] ?? REACH.mouse;
}

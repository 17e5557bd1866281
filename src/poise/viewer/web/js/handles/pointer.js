/** What the pointer does besides orbiting and dragging gizmos. Clicks, double clicks, and what it hovers over. */

/** @type {Record<string, number>} */
const STILL = { mouse: 4, pen: 6, touch: 10 }; // pixels: farther is a drag, not a click; no hand is quite still
/** @type {Record<string, number>} */
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
    /** @type {[number, number]|null} */
    this._down = null;
    this._last = -Infinity;
    /** @type {[number, number]} of the last click */
    this._lastPlace = [0, 0];
    /** @type {[number, number]} where the pointer hovers */
    this._place = [0, 0];
    this._hover = 0;
    this._busy = false; // a gizmo has the pointer
    this._touches = new Set();
    this._ends = new AbortController();
    /** @param {string} name @param {(event: any) => void} listener */
    const on = (name, listener) => canvas.addEventListener(name, listener, { signal: this._ends.signal });
    on("pointerdown", (event) => this._press(event));
    on("pointermove", (event) => this._move(event));
    on("pointerup", (event) => this._release(event));
    on("pointercancel", (event) => this._forget(event));
    for (const name of ["pointerleave", "wheel"]) on(name, () => this._leave()); // a wheel moves the picture away
  }

  /** @param {PointerEvent} event */
  _press(event) {
    this._touches.add(event.pointerId);
    const single = this._touches.size === 1 && event.button === 0;
    this._down = single ? locate(event) : null; // two fingers pan and zoom
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
    this._hover = 0;
  }

  /** @param {PointerEvent} event */
  _move(event) {
    if (this._down && isDrag(this._down, locate(event), event.pointerType)) this._down = null;
    if (event.buttons === 0 && event.pointerType !== "touch") this._hoverLater(event);
  }

  /** Hovering is looked up once a picture, however often the mouse reports. @param {PointerEvent} event */
  _hoverLater(event) {
    this._hover ||= requestAnimationFrame(() => {
      this._hover = 0;
      if (!this._ends.signal.aborted) this.told.onHover(...this._place);
    });
    this._place = locate(event);
  }

  /** @param {PointerEvent} event */
  _release(event) {
    const down = this._down;
    this._forget(event);
    if (!down || event.button !== 0 || isDrag(down, locate(event), event.pointerType)) return;
    const again =
      !this._busy && event.timeStamp - this._last < SOON && !isDrag(this._lastPlace, down, event.pointerType);
    this._last = again || this._busy ? -Infinity : event.timeStamp;
    this._lastPlace = down;
    if (again) this.told.onDouble(...down, event.pointerType);
    else this.told.onClick(...down, event.pointerType, this._busy);
  }

  /** @param {PointerEvent} event */
  _forget(event) {
    this._touches.delete(event.pointerId);
    this._down = null;
  }

  dispose() {
    this._ends.abort();
  }
}

/**
 * Where a pointer is on an element.
 * @param {PointerEvent} event
 * @param {Element} element
 * @returns {[number, number]} pixels
 */
export function locate(event, element = /** @type {Element} */ (event.target)) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/**
 * Whether a pointer that went from one place to the other drags.
 * @param {string} type of the pointer
 * @param {number[]} a
 * @param {number[]} b
 */
export function isDrag(a, b, type) {
  return Math.hypot(a[0] - b[0], a[1] - b[1]) > (STILL[type] ?? STILL.mouse);
}

/** How far beside a mark a pointer still hits it [pixels]. @param {string} type of the pointer */
export function computeReach(type) {
  return REACH[type] ?? REACH.mouse;
}

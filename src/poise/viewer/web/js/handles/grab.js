/**
 * A press that begins on a mark or on the figure drags. That target, or the nearest effector of that limb, in the plane
 * that faces the camera. Whether a press is a drag shows when it moves; one that stays is a click (picking.js).
 */

/**
 * @import { Part } from "poise/handles/part_at.js"
 * @import { Chain } from "poise/protocol/messages.ts"
 * @import { Viewport } from "poise/stage/viewport.js"
 */

import { findChain } from "poise/figure/limbs.js";
import { findPart } from "poise/handles/part_at.js";
import { computeReach, isDrag, locate } from "poise/handles/pointer.js";

/** @type {Record<string, number>} */
const ON_MARK = { mouse: 9, pen: 10, touch: 14 }; // pixels from its middle: closer than that arrows of another give way
/** @type {Record<string, number>} */
const AROUND = { mouse: 0, pen: 2, touch: 8 }; // pixels beside the skin that still take it

/**
 * @typedef {object} Found what a press would drag: a handle, or a part of a whole body
 * @property {string|null} key of the handle
 * @property {number[]} shift how far its target lies elsewhere for this character of a crowd
 * @property {Part|null} part
 *
 * @typedef {Found & {pointer: number, type: string, from: [number, number], turns: boolean, started: boolean}} Taken
 */

export class Grab {
  /** @param {Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    /** @type {Taken|null} pressed, perhaps dragged */
    this.taken = null;
    this._ends = new AbortController();
    const { signal } = this._ends;
    /** @param {EventTarget} target @param {string} name @param {(event: any) => void} listener */
    const on = (target, name, listener) => target.addEventListener(name, listener, { capture: true, signal });
    // Before the canvas: a press on a mark is not for the arrows that lie over it.
    on(viewport.container, "pointerdown", (event) => this._press(event));
    on(window, "pointermove", (event) => this._move(event));
    on(window, "pointerup", (event) => this._release(event));
    on(window, "pointercancel", (event) => this._release(event));
  }

  /**
   * What a press here would drag. A mark, or the target of the limb that is pressed on.
   * @param {number} x pixels on the canvas
   * @param {number} y
   * @param {string} type of the pointer
   * @returns {Found|null}
   */
  findUnder(x, y, type) {
    const { actor, gizmo, pull, told } = this.viewport;
    if (!actor?.figure.ready || !told.onDrag) return null;
    if (pull.ready && !gizmo.isAt(x, y)) {
      const part = findPart(this.viewport, x, y, AROUND[type] ?? AROUND.mouse);
      if (part) return { key: null, shift: [0, 0, 0], part };
    }
    const near = actor.handles.findNearest((point) => this.viewport.view.project(point), x, y, computeReach(type));
    const mark = near && near.what !== "pin" ? { key: near.key, shift: [0, 0, 0], part: null } : null;
    if (near && mark && near.key !== gizmo.active && near.gap < (ON_MARK[type] ?? ON_MARK.mouse)) return mark;
    if (gizmo.isAt(x, y)) return null;
    return mark ?? (near ? null : this.findLimb(findPart(this.viewport, x, y, AROUND[type] ?? AROUND.mouse)));
  }

  /**
   * The target that a drag of the figure's part moves. While bones are turned the figure is left to that.
   * @param {Part|null} part
   * @returns {Found|null}
   */
  findLimb(part) {
    const { actor, bone, state, told } = this.viewport;
    if (!actor || part === null || bone.joint !== null || !told.onDrag) return null;
    const { handles, figure } = actor;
    /** @param {Chain} chain */
    const isUsable = ({ id, kind }) => kind !== "pin" && handles.all.get(`target:${id}`)?.enabled;
    const chains = (state?.chains ?? []).filter(isUsable);
    const chain = findChain(figure, chains, part.row);
    if (chain === null) return null;
    const [here, first] = [figure.places[part.character] ?? [0, 0, 0], figure.places[0]];
    return { key: `target:${chain.id}`, shift: here.map((value, k) => value - first[k]), part: null };
  }

  /** @param {PointerEvent} event */
  _press(event) {
    const { stage, gizmo, view } = this.viewport;
    if (this.taken) {
      if (gizmo.dragging) return;
      this.viewport.pull.end();
      this._let(); // a second finger: both together pan and zoom
      return;
    }
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    if (event.button !== 0 || !event.isPrimary || !plain || event.target !== stage.canvas || gizmo.dragging) return;
    const from = locate(event, this.viewport.stage.canvas);
    view.refresh();
    const found = this.findUnder(...from, event.pointerType);
    if (found === null || (event.shiftKey && !found.part)) return;
    const { pointerId: pointer, pointerType: type, shiftKey: turns } = event;
    this.taken = { ...found, pointer, type, from, turns, started: false };
    view.controls.enableRotate = false; // it hears of the press, so that a second finger finds it ready
    view.controls.enablePan = !event.shiftKey;
    gizmo.controls.enabled = false;
    stage.canvas.style.cursor = "grabbing";
  }

  /** @param {PointerEvent} event */
  _move(event) {
    const { gizmo, pull } = this.viewport;
    const { taken } = this;
    if (!taken || taken.pointer !== event.pointerId) return;
    const at = locate(event, this.viewport.stage.canvas);
    if (taken.part) {
      if (!taken.started && !isDrag(taken.from, at, taken.type)) return;
      if (!taken.started) pull.begin(taken.part, taken.from, taken.turns);
      taken.started = true;
      return pull.move(...at);
    }
    if (!gizmo.dragging) {
      if (taken.started) return this._let(); // what was dragged is gone
      if (!isDrag(taken.from, at, taken.type)) return;
      if (!this._start(taken)) return this._let();
    }
    gizmo.pull(...at);
  }

  /** The press has become a drag. @param {Taken} taken @returns {boolean} whether there is still something to drag */
  _start(taken) {
    const { actor, gizmo } = this.viewport;
    const handle = actor?.handles.all.get(taken.key ?? "");
    if (!handle?.enabled) return false;
    if (gizmo.active !== handle.key) this.viewport.take(handle);
    taken.started = gizmo.grab(...taken.from, taken.shift);
    return taken.started;
  }

  /** @param {PointerEvent} event */
  _release(event) {
    if (!this.taken || this.taken.pointer !== event.pointerId) return;
    if (this.taken.part) this.viewport.pull.end();
    else if (this.taken.started) this.viewport.gizmo.drop();
    this._let();
  }

  /** The press is over, or was none of this. */
  _let() {
    const { gizmo, stage, view } = this.viewport;
    this.taken = null;
    view.controls.enableRotate = view.controls.enablePan = true;
    gizmo.controls.enabled = true;
    stage.canvas.style.cursor = "";
  }

  dispose() {
    this._ends.abort();
  }
}

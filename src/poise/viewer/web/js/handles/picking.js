/** What a click and a hovering pointer do. The mark or joint under them, and its name beside it. */

/** @import { Viewport } from "poise/stage/viewport.js" */

import { findPart } from "poise/handles/part_at.js";
import { computeReach, Pointer } from "poise/handles/pointer.js";

const PINNED = /^(left|right)(Hand|Foot)$/; // roles that a click pins
/** @type {Record<string, number>} */
const AROUND = { mouse: 2, pen: 4, touch: 10 }; // pixels beside the skin where a click still hits it

export class Picking {
  /** @param {Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    const { gizmo, stage } = viewport;
    this.pointer = new Pointer(stage.canvas, {
      isBusy: () => gizmo.hovered || gizmo.dragging,
      onPress: () => this._point(-1, null, 0, 0, stage.canvas.style.cursor),
      onDouble: (x, y, type) => this._doubleClick(x, y, type),
      onClick: (x, y, type, busy) => this._click(x, y, type, busy),
      onHover: (x, y) => this._hover(x, y),
      onLeave: () => this._point(-1, null, 0, 0),
    });
  }

  /**
   * Everything is framed, unless a part is clicked twice in a row.
   * @param {number} x
   * @param {number} y
   * @param {string} type
   */
  _doubleClick(x, y, type) {
    if (this.viewport.pull.ready && findPart(this.viewport, x, y, AROUND[type] ?? AROUND.mouse)) {
      this._click(x, y, type, false);
    } else this.viewport.frameAll();
  }

  /**
   * A part of a whole body is selected. A hand or foot is pinned, or let go.
   * @param {number} x
   * @param {number} y
   * @param {string} type
   * @returns {boolean} whether there is one
   */
  _clickPart(x, y, type) {
    const { actor, pull, told } = this.viewport;
    const part = pull.ready ? findPart(this.viewport, x, y, AROUND[type] ?? AROUND.mouse) : null;
    if (!actor || part === null) return false;
    const { joints } = actor.figure;
    const owner = joints[joints[part.row].part];
    told.onSelect(joints[part.row].name);
    if (PINNED.test(owner.role ?? "")) told.onPin?.(owner.name);
    return true;
  }

  /**
   * A handle under the pointer gets the gizmo. One below the gizmo does, too; a pin, a bone or the skin selects its
   * joint, and empty space unselects.
   * @param {number} x
   * @param {number} y
   * @param {string} type
   * @param {boolean} busy
   */
  _click(x, y, type, busy) {
    const { actor, gizmo, told } = this.viewport;
    if (!actor || (!busy && this._clickPart(x, y, type))) return;
    const handle = this._findHandle(x, y, type, gizmo.active) ?? (busy ? null : this._findHandle(x, y, type));
    if (handle && handle.what !== "pin" && told.onDrag) return this.viewport.take(handle);
    const part = findPart(this.viewport, x, y, AROUND[type] ?? AROUND.mouse);
    const joint = handle?.tip ?? (part && actor.figure.joints[part.row].name);
    if (joint !== null || !busy) told.onSelect(joint);
  }

  /** @param {number} x @param {number} y @param {string} type @param {string|null} [except] */
  _findHandle(x, y, type, except = null) {
    const { actor, view } = this.viewport;
    view.refresh();
    const near = actor?.handles.findNearest((point) => view.project(point), x, y, computeReach(type), except);
    return near ? actor?.handles.all.get(near.key) : undefined;
  }

  /** @param {number} x @param {number} y */
  _hover(x, y) {
    const { actor, gizmo, grab, pull } = this.viewport;
    if (!actor) return;
    const pulled = pull.ready && !gizmo.hovered ? findPart(this.viewport, x, y) : null;
    const handle = pulled ? null : this._findHandle(x, y, "mouse");
    const part = pulled ?? (handle || gizmo.hovered ? null : findPart(this.viewport, x, y));
    const row = part?.row ?? -1;
    const text = handle ? `${handle.id}: ${handle.what}` : (actor.figure.joints[row]?.name ?? null);
    const held = pulled ?? (handle ? grab.findUnder(x, y, "mouse") : grab.findLimb(part));
    this._point(row, text, x, y, text === null ? "" : held ? "grab" : "pointer");
  }

  /**
   * Show what is pointed at.
   * @param {number} row of the joint, -1: none
   * @param {string|null} text
   * @param {number} x pixels on the canvas
   * @param {number} y
   * @param {string} [cursor]
   */
  _point(row, text, x, y, cursor = "") {
    const { actor, label, stage } = this.viewport;
    label.show(text, x, y, stage.measureExtent()[0]);
    stage.canvas.style.cursor = cursor;
    if (!actor || row === actor.hovered) return;
    actor.hovered = row;
    actor.paintBones();
    stage.invalidate();
  }

  dispose() {
    this.pointer.dispose();
  }
}

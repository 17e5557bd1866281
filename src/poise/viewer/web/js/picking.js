/** Which joint or handle is under the pointer, its name beside it, and what a click on it does. */

import { widthOf } from "poise/bones.js";
import { Pointer } from "poise/pointer.js";

const REACH = 7; // pixels beside a bone that still hit it
const IN_FRONT = 40; // pixels that a figure's size nearer to the camera is worth

export class Picking {
  /** @param {import("poise/viewport.js").Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    const { gizmo, stage } = viewport;
    this.pointer = new Pointer(stage.canvas, {
      isBusy: () => gizmo.hovered || gizmo.dragging,
      onDouble: () => viewport.frameAll(),
      onClick: (x, y, busy) => this._click(x, y, busy),
      onHover: (x, y) => this._hover(x, y),
      onLeave: () => this._point(-1, null, 0, 0),
    });
  }

  /**
   * A handle under the pointer gets the gizmo, also one that the gizmo lies over; a pin or a bone selects its joint,
   * and what is nothing unselects.
   */
  _click(x, y, busy) {
    const { actor, gizmo, told } = this.viewport;
    if (!actor) return;
    const handle = this._handleAt(x, y, gizmo.active) ?? (busy ? null : this._handleAt(x, y));
    if (handle && handle.what !== "pin") this.viewport.take(handle);
    else if (!busy) told.onSelect(handle?.tip ?? actor.figure.joints[this._jointAt(x, y)]?.name ?? null);
  }

  _handleAt(x, y, except = null) {
    const { actor, view } = this.viewport;
    view.refresh();
    return actor.handles.all.get(actor.handles.at((point) => view.project(point), x, y, except)) ?? null;
  }

  _jointAt(x, y) {
    const { actor, view, show } = this.viewport;
    if (!actor?.figure.ready || !show.bones) return -1;
    view.refresh();
    return jointAt(actor.figure, (point) => view.project(point), x, y);
  }

  _hover(x, y) {
    const { actor, gizmo } = this.viewport;
    if (!actor) return;
    const handle = this._handleAt(x, y);
    const row = handle || gizmo.hovered ? -1 : this._jointAt(x, y);
    this._point(row, handle ? `${handle.id}: ${handle.what}` : (actor.figure.joints[row]?.name ?? null), x, y);
  }

  /** Show what is pointed at. @param {number} row of the joint, -1: none @param {string|null} text */
  _point(row, text, x, y) {
    const { actor, label, stage } = this.viewport;
    label.show(text, x, y, stage.extent()[0]);
    stage.canvas.style.cursor = text === null ? "" : "pointer";
    if (!actor || row === actor.hovered) return;
    actor.hovered = row;
    actor.paintBones();
    stage.invalidate();
  }

  dispose() {
    this.pointer.dispose();
  }
}

/**
 * The joint whose bone is nearest on the screen, so that thin bones are as easy to hit as thick ones.
 * @param {import("poise/figure.js").Figure} figure
 * @param {(point: number[]) => number[]} screen see Camera.project
 * @param {number} x
 * @param {number} y
 * @returns {number} the row of the joint, -1 where there is none
 */
export function jointAt(figure, screen, x, y) {
  let best = { row: -1, score: Infinity };
  for (let c = 0; c < figure.characters; c++) {
    for (let row = 0; row < figure.count; row++) {
      if (!figure.joints[row].shown) continue;
      const head = screen(figure.position(row, c));
      const tail = screen(figure.tail(row, c));
      if (head[2] <= 0 || tail[2] <= 0) continue; // behind the camera
      const { gap, share } = gapTo(x, y, head, tail);
      const beside = Math.max(gap - widthOf(figure.joints[row], figure.size) * head[3], 0);
      if (beside > REACH) continue;
      const depth = head[2] + share * (tail[2] - head[2]);
      const score = beside + IN_FRONT * depth; // a bone in front wins over one far behind that is a little nearer
      if (score < best.score) best = { row, score };
    }
  }
  return best.row;
}

/** Distance of a point from a line on the screen, and where along it. */
function gapTo(x, y, head, tail) {
  const [across, down] = [tail[0] - head[0], tail[1] - head[1]];
  const squared = across * across + down * down;
  const along = squared > 0 ? ((x - head[0]) * across + (y - head[1]) * down) / squared : 0;
  const share = Math.min(Math.max(along, 0), 1);
  return { gap: Math.hypot(x - head[0] - share * across, y - head[1] - share * down), share };
}

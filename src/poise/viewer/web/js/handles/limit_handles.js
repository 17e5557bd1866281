/** Handles on the drawn limit of the selected joint. The ends of a sector or track, the four sides of a cone. */

/**
 * @import { Joint, Limit, Phase, RangeLimit, SwingLimit } from "poise/protocol/messages.ts"
 * @import { Viewport } from "poise/stage/viewport.js"
 */

import { locate } from "poise/handles/pointer.js";
import { toDegrees } from "poise/texts/figures.js";
import { BufferGeometry, Color, Float32BufferAttribute, Points, PointsMaterial, Quaternion, Vector3 } from "three";

const SIZE = 11; // pixels
/** @type {Record<string, number>} */
const REACH = { mouse: 10, pen: 14, touch: 24 }; // pixels beside a handle that still take it
const STEPS = 160; // places that are tried about the one before
const SPAN = 1.2; // [rad] or parts of the track to both sides
const FULL = Math.PI;

/**
 * @typedef {object} End one number of a limit that can be dragged
 * @property {string} name
 * @property {number} value
 * @property {[number, number]} within
 * @property {"deg"|""} unit
 * @property {number} span to both sides, where places are tried
 * @property {(value: number) => Vector3} at where it is drawn, in the frame of the limit
 * @property {(value: number) => Limit} limit with another value
 */

export class LimitHandles {
  /** @param {Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    /** @type {string|null} */
    this.joint = null;
    /** @type {End[]} */
    this.ends = [];
    /** @type {{end: End, told: boolean, pointer: number}|null} */
    this.taken = null;
    this.geometry = new BufferGeometry();
    this.material = new PointsMaterial({ size: SIZE, sizeAttenuation: false, depthTest: false, transparent: true });
    this.points = new Points(this.geometry, this.material);
    this.points.matrixAutoUpdate = false;
    this.points.frustumCulled = false;
    this.points.renderOrder = 5;
    viewport.stage.front.add(this.points);
    this._ends = new AbortController();
    const { signal } = this._ends;
    /** @param {EventTarget} target @param {string} name @param {(event: any) => void} listener */
    const on = (target, name, listener) => target.addEventListener(name, listener, { capture: true, signal });
    // Before the canvas: neither camera nor gizmo hears of what is taken here.
    on(viewport.container, "pointerdown", (event) => this._press(event));
    on(viewport.container, "pointermove", (event) => this._hover(event));
    on(window, "pointermove", (event) => this._move(event));
    on(window, "pointerup", (event) => this._release(event));
    on(window, "pointercancel", (event) => this._release(event));
  }

  /** @param {string|null} joint */
  select(joint) {
    this.joint = joint;
    this.taken = null;
    this.update();
  }

  /** Draw the limit of the document where the joint is. */
  update() {
    const { actor, state, show } = this.viewport;
    const name = this.joint ?? "";
    const drawn = actor?.limits.shown.get(name);
    const limit = state?.limits[name];
    const able = actor && drawn && limit && show.limits && this.viewport.told.onDrag;
    if (!this.taken) this.ends = able ? readEnds(actor.figure.joints[drawn.row], limit, state.outlines[name]) : [];
    this.points.visible = this.ends.length > 0;
    if (!this.points.visible) return;
    if (drawn) this.points.matrix.copy(drawn.lines.matrix);
    this.points.matrixWorldNeedsUpdate = true;
    const places = this.ends.flatMap((end) => end.at(end.value).toArray());
    this.geometry.setAttribute("position", new Float32BufferAttribute(places, 3));
    this.material.color = new Color(this.viewport.palette.limit).lerp(new Color(0xffffff), 0.35);
  }

  /**
   * Where an end would be drawn on the canvas.
   * @param {End} end
   * @param {number} value
   * @returns {number[]}
   */
  projectEnd(end, value) {
    return this.viewport.view.project(end.at(value).applyMatrix4(this.points.matrix).toArray());
  }

  /** @param {PointerEvent} event */
  _findUnder(event) {
    const [x, y] = locate(event, this.viewport.stage.canvas);
    /** @type {{end: End|null, gap: number}} */
    let best = { end: null, gap: REACH[event.pointerType] ?? REACH.mouse };
    this.viewport.view.refresh();
    for (const end of this.ends) {
      const [sx, sy, ahead] = this.projectEnd(end, end.value);
      const gap = Math.hypot(sx - x, sy - y);
      if (ahead > 0 && gap < best.gap) best = { end, gap };
    }
    /** @param {number[]} point */
    const project = (point) => this.viewport.view.project(point);
    const nearer = best.end && this.viewport.actor?.handles.findNearest(project, x, y, best.gap);
    return nearer ? null : best.end; // a target there is meant
  }

  /** @param {PointerEvent} event */
  _press(event) {
    if (event.button !== 0 || !event.isPrimary || event.target !== this.viewport.stage.canvas) return;
    const end = this._findUnder(event);
    if (!end) return;
    event.stopImmediatePropagation(); // nor does what would drag the figure (grab.js)
    event.preventDefault();
    this.taken = { end, told: false, pointer: event.pointerId };
    this._say(end, event);
  }

  /** @param {PointerEvent} event */
  _hover(event) {
    if (this.taken || event.buttons || event.target !== this.viewport.stage.canvas) return;
    const end = this.ends.length ? this._findUnder(event) : null;
    if (!end) return;
    event.stopPropagation();
    this.viewport.stage.canvas.style.cursor = "grab";
    this._say(end, event);
  }

  /** @param {PointerEvent} event */
  _move(event) {
    if (!this.taken || this.taken.pointer !== event.pointerId) return;
    event.stopPropagation();
    const { end } = this.taken;
    const value = this._findNearest(end, ...locate(event, this.viewport.stage.canvas));
    if (value !== end.value) {
      end.value = value;
      this._tell(end, this.taken.told ? "move" : "start");
      this.taken.told = true;
    }
    this._say(end, event);
    this.update();
    this.viewport.stage.invalidate();
  }

  /**
   * The value whose place on the screen is nearest to the pointer. Of a place behind and one in front the nearer value.
   * @param {End} end
   * @param {number} x
   * @param {number} y
   */
  _findNearest(end, x, y) {
    const [low, high] = end.within;
    let best = { value: end.value, score: Infinity };
    for (let i = -STEPS; i <= STEPS; i++) {
      const value = Math.min(Math.max(end.value + (end.span * i) / STEPS, low), high);
      const [sx, sy] = this.projectEnd(end, value);
      const score = Math.hypot(sx - x, sy - y) + (6 * Math.abs(i)) / STEPS;
      if (score < best.score) best = { value, score };
    }
    return best.value;
  }

  /** @param {PointerEvent} event */
  _release(event) {
    if (!this.taken || this.taken.pointer !== event.pointerId) return;
    event.stopPropagation();
    if (this.taken.told) this._tell(this.taken.end, "end");
    this.taken = null;
    this.viewport.label.show(null);
    this.update();
    this.viewport.stage.invalidate();
  }

  /** @param {End} end @param {Phase} phase */
  _tell(end, phase) {
    this.viewport.told.onDrag?.({ what: "limit", joint: this.joint ?? "", limit: end.limit(end.value), phase });
  }

  /** @param {End} end @param {PointerEvent} event */
  _say(end, event) {
    this.viewport.label.show(
      describeEnd(end),
      ...locate(event, this.viewport.stage.canvas),
      this.viewport.stage.measureExtent()[0],
    );
  }

  dispose() {
    this._ends.abort();
    this.geometry.dispose();
    this.material.dispose();
    this.points.removeFromParent();
  }
}

/** @param {End} end */
function describeEnd({ name, value, unit }) {
  return unit === "deg" ? `${name} ${toDegrees(value).toFixed(1)} deg` : `${name} ${value.toPrecision(4)}`;
}

/**
 * @param {Joint} joint
 * @param {Limit} limit
 * @param {number[][][]} outline
 * @returns {End[]} what of a limit can be dragged
 */
function readEnds(joint, limit, outline) {
  if (!outline?.length) return [];
  if (limit.type === "range") {
    const axis = new Vector3().fromArray(limit.axis ?? joint.axis ?? []).normalize();
    return joint.kind === "slide" ? trackEnds(axis, limit) : placeSectorEnds(axis, limit, outline[0]);
  }
  return limit.type === "swing_twist" ? placeConeEnds(limit, outline[0]) : [];
}

/**
 * Low and high of a range, at the corners of its sector.
 * @param {Vector3} axis
 * @param {RangeLimit} limit
 * @param {number[][]} sector
 */
function placeSectorEnds(axis, limit, sector) {
  const first = new Vector3().fromArray(sector[1]);
  /** @param {number} value */
  const computePlace = (value) => first.clone().applyAxisAngle(axis, value - (limit.low ?? -FULL));
  return makeEnds(limit, computePlace, { unit: "deg", span: SPAN, least: -2 * FULL, most: 2 * FULL });
}

/** Low and high of a slide, at the ends of its track. @param {Vector3} axis @param {RangeLimit} limit */
function trackEnds(axis, limit) {
  /** @param {number} value */
  const computePlace = (value) => axis.clone().multiplyScalar(value);
  const span = Math.max((limit.high ?? 0) - (limit.low ?? 0), 1e-6);
  return makeEnds(limit, computePlace, { unit: "", span, least: -Infinity, most: Infinity });
}

/**
 * @param {RangeLimit} limit
 * @param {(value: number) => Vector3} at
 * @param {{unit: "deg"|"", span: number, least: number, most: number}} of
 * @returns {End[]} an end that is infinite has no place
 */
function makeEnds(limit, at, { unit, span, least, most }) {
  /** @param {"low"|"high"} name @param {[number, number]} within @returns {End[]} */
  const end = (name, within) => {
    const value = limit[name];
    return value === null ? [] : [{ name, value, within, at, unit, span, limit: (v) => ({ ...limit, [name]: v }) }];
  };
  return [...end("low", [least, limit.high ?? most]), ...end("high", [limit.low ?? least, most])];
}

/**
 * The sides of a cone. Its rim crosses the two swing axes there.
 * @param {SwingLimit} limit
 * @param {number[][]} rim
 * @returns {End[]}
 */
function placeConeEnds(limit, rim) {
  const [a, b] = limit.swing_axes.map((axis) => new Vector3().fromArray(axis));
  const bone = new Vector3()
    .fromArray(rim[0])
    .applyQuaternion(new Quaternion().setFromAxisAngle(a, -limit.swing[0][1]));
  /** @param {number} which @param {number} k @returns {End} */
  const makeSide = (which, k) => {
    const axis = [a, b][which];
    const value = limit.swing[which][k];
    /** @param {number} v */
    const changeSwing = (v) =>
      limit.swing.map((ends, i) => (i === which ? ends.map((end, j) => (j === k ? v : end)) : ends));
    return {
      name: `swing ${which + 1} ${k ? "high" : "low"}`,
      value,
      within: k ? [0, FULL] : [-FULL, 0],
      at: (v) => bone.clone().applyAxisAngle(axis, v),
      unit: "deg",
      span: SPAN,
      limit: (v) => ({ ...limit, swing: changeSwing(v) }),
    };
  };
  return [makeSide(0, 1), makeSide(1, 1), makeSide(0, 0), makeSide(1, 0)];
}

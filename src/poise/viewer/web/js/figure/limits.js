/**
 * Limits as arcs, cones and tracks about their joints. Each is a faint face with its edge, amber where the joint is at
 * an end.
 */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Joint } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 */

import { multiplyInto, turnInto } from "poise/figure/figure.js";
import {
  BufferGeometry,
  DoubleSide,
  Float32BufferAttribute,
  Group,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
} from "three";

const SHARE = 0.4; // radius by the bone's length
const MOST = 0.14; // and by the figure's size
const SOME = 1e-6;

export class Limits {
  /** @param {Figure} figure */
  constructor(figure) {
    this.figure = figure;
    this.group = new Group();
    this.lines = new LineBasicMaterial({ transparent: true, opacity: 0.9 });
    this.faces = new MeshBasicMaterial({ transparent: true, opacity: 0.13, side: DoubleSide, depthWrite: false });
    this.hitLines = this.lines.clone();
    this.hitFaces = this.faces.clone();
    this.hitFaces.opacity = 0.34;
    this.shown = new Map(); // joint name -> {text, row, lines, faces}
    this.hit = new Set();
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    for (const material of [this.lines, this.faces]) material.color.setHex(palette.limit);
    for (const material of [this.hitLines, this.hitFaces]) material.color.setHex(palette.hit);
  }

  /**
   * @param {Record<string, number[][][]>} outlines polylines of a bone of length one in the frame before the motion
   * @param {Record<string, {type: string}>} limits
   */
  set(outlines, limits) {
    for (const name of [...this.shown.keys()]) if (!(name in outlines)) this._remove(name);
    for (const [name, polylines] of Object.entries(outlines)) {
      const row = this.figure.rows.get(name);
      const text = JSON.stringify(polylines);
      if (row === undefined || this.shown.get(name)?.text === text) continue; // most messages change no limit
      this._remove(name);
      const closed = limits[name]?.type === "euler" ? [] : polylines.filter(isLoop);
      this.shown.set(name, { text, row, ...drawOutline(this.group, polylines, closed, this) });
    }
    this.setHit([...this.hit]);
  }

  /** Which joints are at an end. @param {string[]} names */
  setHit(names) {
    this.hit = new Set(names);
    for (const [name, { lines, faces }] of this.shown) {
      const hit = this.hit.has(name);
      lines.material = hit ? this.hitLines : this.lines;
      faces.material = hit ? this.hitFaces : this.faces;
    }
  }

  /** Bring the drawings to where the figure's joints are now. */
  update() {
    for (const { row, lines, faces } of this.shown.values()) {
      frameBefore(this.figure, row, lines.matrix);
      lines.matrixWorldNeedsUpdate = true;
      faces.matrix.copy(lines.matrix);
      faces.matrixWorldNeedsUpdate = true;
    }
  }

  /** @param {string} name */
  _remove(name) {
    const gone = this.shown.get(name);
    if (!gone) return;
    for (const drawn of [gone.lines, gone.faces]) {
      drawn.removeFromParent();
      drawn.geometry.dispose();
    }
    this.shown.delete(name);
  }

  dispose() {
    for (const name of [...this.shown.keys()]) this._remove(name);
    for (const material of [this.lines, this.faces, this.hitLines, this.hitFaces]) material.dispose();
    this.group.removeFromParent();
  }
}

/**
 * Draw an outline, with faces in closed ones from the middle on. Their matrices are the caller's.
 * @param {Group} group
 * @param {number[][][]} polylines
 * @param {number[][][]} closed those with a face
 * @param {{lines: LineBasicMaterial, faces: MeshBasicMaterial}} materials
 */
export function drawOutline(group, polylines, closed, materials) {
  const edges = polylines.flatMap((points) => points.slice(1).flatMap((point, k) => [points[k], point]));
  const fans = closed.flatMap((points) => points.slice(1).flatMap((point, k) => [[0, 0, 0], points[k], point]));
  const lines = new LineSegments(makeGeometry(edges), materials.lines);
  const faces = new Mesh(makeGeometry(fans), materials.faces);
  for (const drawn of [lines, faces]) {
    drawn.matrixAutoUpdate = false;
    drawn.frustumCulled = false;
    group.add(drawn);
  }
  faces.renderOrder = 1;
  lines.renderOrder = 2;
  return { lines, faces };
}

const _turn = new Float64Array(9);
const _own = new Float64Array(9);

/**
 * The frame before a joint's own motion. Its size is that of the limit.
 * @param {Matrix4} out
 * @param {Figure} figure
 * @param {number} row
 */
function frameBefore(figure, row, out) {
  const joint = figure.joints[row];
  const [w, x, y, z] = joint.A.slice(3);
  turnInto(_own, 0, w, x, y, z);
  if (joint.parent >= 0) multiplyInto(_turn, 0, figure.turns, 9 * joint.parent, _own);
  else _turn.set(_own);
  const slide = joint.kind === "slide";
  const at = slide ? computeStand(figure, joint) : figure.readPosition(row);
  const t = slide ? _turn : _turn.map((value) => value * computeRadius(figure, joint));
  out.set(t[0], t[1], t[2], at[0], t[3], t[4], t[5], at[1], t[6], t[7], t[8], at[2], 0, 0, 0, 1);
}

/** Where a slide stands at zero. @param {Figure} figure @param {Joint} joint */
function computeStand(figure, joint) {
  const [x, y, z] = joint.A;
  if (joint.parent < 0) return [x, y, z];
  const m = figure.maps.subarray(9 * joint.parent, 9 * joint.parent + 9);
  const start = figure.readPosition(joint.parent);
  return start.map((value, r) => value + m[3 * r] * x + m[3 * r + 1] * y + m[3 * r + 2] * z);
}

/** @param {Figure} figure @param {Joint} joint */
function computeRadius(figure, joint) {
  const length = Math.hypot(...joint.bone);
  return length > SOME * figure.size ? Math.min(SHARE * length, MOST * figure.size) : MOST * figure.size;
}

/** Whether a line ends where it begins. @param {number[][]} points */
export function isLoop(points) {
  const [first, last] = [points[0], points[points.length - 1]];
  return points.length > 3 && Math.hypot(...first.map((value, k) => value - last[k])) < 1e-6;
}

/** @param {number[][]} points */
export function makeGeometry(points) {
  return new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points.flat(), 3));
}

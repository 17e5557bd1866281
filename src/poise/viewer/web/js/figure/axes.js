/** The axes of the joints. X, y and z of every shown joint, and the one axis that a hinge or slide moves about. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Axis } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 */

import { BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, LineBasicMaterial, LineSegments } from "three";

const SHARE = 0.22; // of the bone
const LEAST = 0.018; // of the figure's size
const MOST = 0.07;
/** @type {Axis[]} */
const AXES = ["x", "y", "z"];
const BEYOND = 1.7; // a hinge's own axis is longer, to both sides

/** @typedef {{row: number, name: Axis|"axis", start: number[], end: number[]}} Segment in the frame of a joint */

export class Axes {
  /** @param {Figure} figure */
  constructor(figure) {
    this.figure = figure;
    this.rows = figure.joints.map((_, row) => row).filter((row) => figure.joints[row].shown);
    this.segments = this.rows.flatMap((row) => makeSegments(figure, row));
    const makeAttribute = () =>
      new BufferAttribute(new Float32Array(6 * this.segments.length), 3).setUsage(DynamicDrawUsage);
    const geometry = new BufferGeometry()
      .setAttribute("position", makeAttribute())
      .setAttribute("color", makeAttribute());
    this.lines = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true }));
    this.lines.frustumCulled = false;
    this.lines.visible = false;
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    const colours = this.lines.geometry.attributes.color;
    this.segments.forEach(({ name }, k) => {
      const { r, g, b } = new Color(palette[name]);
      colours.array.set([r, g, b, r, g, b], 6 * k);
    });
    colours.needsUpdate = true;
  }

  /** Bring the lines to where the figure's joints are now. */
  update() {
    if (!this.lines.visible) return;
    const points = this.lines.geometry.attributes.position;
    this.segments.forEach(({ row, start, end }, k) => {
      points.array.set(this.figure.computePoint(row, start), 6 * k);
      points.array.set(this.figure.computePoint(row, end), 6 * k + 3);
    });
    points.needsUpdate = true;
  }

  dispose() {
    this.lines.removeFromParent();
    this.lines.geometry.dispose();
    this.lines.material.dispose();
  }
}

/** @param {Figure} figure @param {number} row */
function makeSegments(figure, row) {
  const { bone, kind, axis } = figure.joints[row];
  const [least, most] = [LEAST * figure.size, MOST * figure.size];
  const length = Math.min(Math.max(SHARE * Math.hypot(...bone), least), most);
  /** @type {Segment[]} */
  const found = AXES.map((name, k) => {
    return { row, name, start: [0, 0, 0], end: [0, 1, 2].map((i) => (i === k ? length : 0)) };
  });
  if (axis && (kind === "hinge" || kind === "slide")) {
    const end = axis.map((value) => value * length * BEYOND);
    found.push({ row, name: "axis", start: end.map((value) => -value), end });
  }
  return found;
}

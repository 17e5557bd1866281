/** Closed loops. What ties two joints beside the tree, a small link between their points; amber where it is open. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Loop } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 * @import { PerspectiveCamera } from "three"
 */

import {
  BufferGeometry,
  DynamicDrawUsage,
  Float32BufferAttribute,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  SphereGeometry,
  TorusGeometry,
} from "three";

const RING = 7; // pixels
const POINT = 3.2; // pixels
const LARGEST = 1 / 300; // of the figure's size for a pixel: from afar they get smaller

export class Loops {
  /**
   * @param {Figure} figure
   * @param {{name: string, rows: number[], points: number[][]}[]} loops points in the frames of the joints, with scale
   */
  constructor(figure, loops) {
    this.figure = figure;
    this.group = new Group();
    this.closed = new MeshBasicMaterial();
    this.open = new MeshBasicMaterial();
    this.openLine = new LineBasicMaterial();
    this.closedLine = new LineBasicMaterial();
    this.point = new SphereGeometry(POINT, 12, 8);
    this.ring = new TorusGeometry(RING, 1.3, 8, 32);
    this.barLine = new LineBasicMaterial({ transparent: true, opacity: 0.7 });
    this.shown = loops.map((loop) => this._draw(loop));
    this.bars = this._makeLines(4 * loops.length, this.barLine); // from the joints to their points
  }

  /** @param {Loop} loop */
  _draw(loop) {
    const line = this._makeLines(2, this.closedLine);
    const ends = [new Mesh(this.point, this.closed), new Mesh(this.point, this.closed)];
    const ring = new Mesh(this.ring, this.closed);
    this.group.add(ring, ...ends);
    return { ...loop, line, ends, ring, isOpen: false };
  }

  /** @param {number} count points @param {LineBasicMaterial} material */
  _makeLines(count, material) {
    const points = new Float32BufferAttribute(new Float32Array(3 * count), 3).setUsage(DynamicDrawUsage);
    const lines = new LineSegments(new BufferGeometry().setAttribute("position", points), material);
    lines.frustumCulled = false;
    this.group.add(lines);
    return lines;
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    for (const each of [this.closed, this.closedLine]) each.color.setHex(palette.axis);
    for (const each of [this.open, this.openLine]) each.color.setHex(palette.hit);
    this.barLine.color.setHex(palette.link);
  }

  /** Which loops a pose leaves open. @param {string[]} names */
  setOpen(names) {
    for (const loop of this.shown) {
      loop.isOpen = names.includes(loop.name);
      const [solid, line] = loop.isOpen ? [this.open, this.openLine] : [this.closed, this.closedLine];
      for (const mesh of [...loop.ends, loop.ring]) mesh.material = solid;
      loop.line.material = line;
    }
  }

  /** Bring the links to where the joints are now. */
  update() {
    /** @type {number[][]} */
    const bars = [];
    for (const { rows, points, ends, ring, line } of this.shown) {
      const places = rows.map((row, k) => this._computePoint(row, points[k]));
      places.forEach((place, k) => ends[k].position.fromArray(place));
      ring.position.copy(ends[0].position).lerp(ends[1].position, 0.5);
      fill(line, places);
      rows.forEach((row, k) => bars.push(this.figure.readPosition(row), places[k]));
    }
    fill(this.bars, bars);
  }

  /** A point in the frame of a joint, with its scale. @param {number} row @param {number[]} point */
  _computePoint(row, point) {
    const map = this.figure.maps.subarray(9 * row, 9 * row + 9);
    const start = this.figure.readPosition(row);
    return start.map((value, r) => value + point.reduce((sum, x, k) => sum + map[3 * r + k] * x, 0));
  }

  /**
   * Keep the size on the screen; the ring faces the camera.
   * @param {(point: number[]) => number[]} project
   * @param {PerspectiveCamera} camera
   */
  fitToScreen(project, camera) {
    for (const { ends, ring } of this.shown) {
      for (const mesh of [...ends, ring]) {
        mesh.scale.setScalar(Math.min(1 / project(mesh.position.toArray())[3], LARGEST * this.figure.size));
      }
      ring.quaternion.copy(camera.quaternion);
    }
  }

  dispose() {
    for (const { geometry } of [this.bars, ...this.shown.map(({ line }) => line)]) geometry.dispose();
    for (const each of [this.barLine, this.point, this.ring, this.closed, this.open, this.openLine, this.closedLine])
      each.dispose();
    this.group.removeFromParent();
  }
}

/** @param {LineSegments} lines @param {number[][]} places */
function fill(lines, places) {
  const points = lines.geometry.attributes.position;
  points.array.set(places.flat());
  points.needsUpdate = true;
}

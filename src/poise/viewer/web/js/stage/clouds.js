/** Points that a program marks in the scene, over everything else. */

/** @import { Stage } from "poise/stage/stage.js" */

import { BufferGeometry, Float32BufferAttribute, Points, PointsMaterial } from "three";

export class Clouds {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    /** @type {Map<string, Points<BufferGeometry, PointsMaterial>>} */
    this.all = new Map();
  }

  /** @param {{name: string, points: number[][], colour: string, size: number}[]} marks rig coordinates, pixels */
  set(marks) {
    const names = new Set(marks.map(({ name }) => name));
    for (const name of [...this.all.keys()]) if (!names.has(name)) this._remove(name);
    for (const { name, points, colour, size } of marks) {
      const drawn = this.all.get(name) ?? this._add(name);
      drawn.material.color.set(colour);
      drawn.material.size = size * Math.min(window.devicePixelRatio || 1, 2);
      drawn.geometry.dispose();
      drawn.geometry = new BufferGeometry();
      drawn.geometry.setAttribute("position", new Float32BufferAttribute(points.flat(), 3));
    }
    this.stage.invalidate();
  }

  /** @param {string} name */
  _add(name) {
    const material = new PointsMaterial({ sizeAttenuation: false, depthTest: false, transparent: true });
    const drawn = new Points(new BufferGeometry(), material);
    drawn.frustumCulled = false;
    drawn.renderOrder = 4;
    this.stage.front.add(drawn);
    this.all.set(name, drawn);
    return drawn;
  }

  /** @param {string} name */
  _remove(name) {
    const gone = this.all.get(name);
    if (!gone) return;
    gone.removeFromParent();
    gone.geometry.dispose();
    gone.material.dispose();
    this.all.delete(name);
  }

  dispose() {
    for (const name of [...this.all.keys()]) this._remove(name);
  }
}

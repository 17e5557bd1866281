/**
 * The drawn meshes as something that a ray can hit. Which joint they follow there, and how far away that is.
 *
 * The corners of a skinned mesh are worked out once for each pose, when a ray first asks for them; rigid meshes are hit
 * in their own frame and need none.
 */

/**
 * @import { Skin } from "poise/figure/skin.js"
 * @import { BufferAttribute, InterleavedBufferAttribute } from "three"
 */

import { Box3, Matrix3, Matrix4, Mesh, Ray, SkinnedMesh, Vector3 } from "three";

const FLAT = 1e-12; // of the determinant: a triangle that is seen from its edge cannot be hit

/** Flat arrays of each geometry, shared by all characters. @type {WeakMap<object, Shape>} */
const shapes = new WeakMap();

/**
 * @typedef {object} Shape
 * @property {Float32Array} corners at rest, x y z each
 * @property {ArrayLike<number>|null} index three corners a triangle; null: they stand one after the other
 * @property {Uint16Array} bones four a corner, of a skinned mesh
 * @property {Float32Array} weights four a corner
 * @property {Box3} box of the corners at rest
 *
 * @typedef {object} Hit
 * @property {number} row of the joint that the surface follows there; -1: none
 * @property {number} character
 * @property {Vector3} point where, in the coordinates of the scene
 *
 * @typedef {{along: number, corners: number[], shares: number[]}} Crossing of a ray with a triangle
 *
 * @typedef {Crossing & {mesh: Mesh, character: number}} Found
 */

export class Surface {
  /** @param {Skin} skin */
  constructor(skin) {
    this.skin = skin;
    this._posed = new Map(); // skinned mesh -> its corners in the scene and their box
    this._pose = -1; // number of the pose that they belong to
  }

  /**
   * The nearest place where a ray meets the meshes.
   * @param {Ray} ray in the coordinates of the scene
   * @returns {Hit|null}
   */
  findHit(ray) {
    if (this._pose !== this.skin.posed) this._posed.clear();
    this._pose = this.skin.posed;
    /** @type {Found|null} */
    let best = null;
    this.skin.copies.forEach(({ root, objects }, character) => {
      if (!root.visible) return;
      for (const mesh of objects) {
        if (!(mesh instanceof Mesh) || !mesh.visible) continue;
        const found = mesh instanceof SkinnedMesh ? this._findSkinnedHit(mesh, ray) : findRigidHit(mesh, ray);
        if (found && (best === null || found.along < best.along)) best = { ...found, mesh, character };
      }
    });
    if (best === null) return null;
    const { character, along } = best;
    return { row: this._findRow(best), character, point: ray.at(along, new Vector3()) };
  }

  /** @param {SkinnedMesh} mesh @param {Ray} ray */
  _findSkinnedHit(mesh, ray) {
    const shape = readShape(mesh);
    let posed = this._posed.get(mesh);
    if (!posed) {
      posed = listCorners(mesh, shape);
      this._posed.set(mesh, posed);
    }
    return ray.intersectsBox(posed.box) ? findNearest(posed.corners, shape.index, ray) : null;
  }

  /**
   * The joint with most of the weight where a mesh is hit. A rigid mesh has the one it hangs from.
   * @param {Found} found
   */
  _findRow({ mesh, character, corners, shares }) {
    const { bones, weights } = readShape(mesh);
    if (!(mesh instanceof SkinnedMesh)) return this.skin.findOwner(mesh, character);
    const sums = new Map();
    corners.forEach((corner, i) => {
      for (let j = 4 * corner; j < 4 * corner + 4; j++) {
        const bone = mesh.skeleton.bones[bones[j]];
        sums.set(bone, (sums.get(bone) ?? 0) + shares[i] * weights[j]);
      }
    });
    const [main] = [...sums].reduce((most, each) => (each[1] > most[1] ? each : most));
    return this.skin.findOwner(main, character);
  }
}

/** In the mesh's own frame. How far along the ray it is stays the same there. @param {Mesh} mesh @param {Ray} ray */
function findRigidHit(mesh, ray) {
  const shape = readShape(mesh);
  if (mesh.matrixWorld.determinant() === 0) return null; // shrunk to nothing
  const inverse = new Matrix4().copy(mesh.matrixWorld).invert();
  const own = new Ray().copy(ray).applyMatrix4(inverse);
  if (!own.intersectsBox(shape.box)) return null;
  own.direction.copy(ray.direction).applyMatrix3(new Matrix3().setFromMatrix4(inverse)); // not of length one again
  return findNearest(shape.corners, shape.index, own);
}

/** @param {Mesh} mesh @returns {Shape} */
function readShape(mesh) {
  let shape = shapes.get(mesh.geometry);
  if (shape) return shape;
  const { position, skinIndex, skinWeight } = mesh.geometry.attributes;
  const corners = new Float32Array(3 * position.count);
  const point = new Vector3();
  for (let i = 0; i < position.count; i++) {
    Mesh.prototype.getVertexPosition.call(mesh, i, point).toArray(corners, 3 * i); // morph targets, but no bones
  }
  const skinned = mesh instanceof SkinnedMesh;
  shape = {
    corners,
    index: mesh.geometry.index?.array ?? null,
    bones: Uint16Array.from(skinned ? readFour(skinIndex) : []),
    weights: Float32Array.from(skinned ? readFour(skinWeight) : []),
    box: new Box3().setFromArray(corners),
  };
  shapes.set(mesh.geometry, shape);
  return shape;
}

/**
 * The numbers of an attribute of four, whatever way they are stored.
 * @param {BufferAttribute|InterleavedBufferAttribute} attribute
 */
function readFour(attribute) {
  const found = new Array(4 * attribute.count);
  for (let i = 0; i < attribute.count; i++) {
    found[4 * i] = attribute.getX(i);
    found[4 * i + 1] = attribute.getY(i);
    found[4 * i + 2] = attribute.getZ(i);
    found[4 * i + 3] = attribute.getW(i);
  }
  return found;
}

/**
 * Corners of a skinned mesh in the scene, and their box.
 * @param {SkinnedMesh} mesh
 * @param {Shape} shape
 */
function listCorners(mesh, { corners: rest, bones, weights }) {
  const { skeleton, bindMatrix } = mesh;
  const bind = new Matrix4();
  const maps = skeleton.bones.map((bone, k) => {
    bind.multiplyMatrices(bone.matrixWorld, skeleton.boneInverses[k]).multiply(bindMatrix);
    return Float64Array.from(bind.elements);
  });
  const corners = new Float32Array(rest.length);
  for (let i = 0, at = 0; at < rest.length; i += 4, at += 3) {
    let [x, y, z] = [0, 0, 0];
    const [a, b, c] = [rest[at], rest[at + 1], rest[at + 2]];
    for (let j = i; j < i + 4; j++) {
      const weight = weights[j];
      if (weight === 0) continue;
      const m = maps[bones[j]];
      x += weight * (m[0] * a + m[4] * b + m[8] * c + m[12]);
      y += weight * (m[1] * a + m[5] * b + m[9] * c + m[13]);
      z += weight * (m[2] * a + m[6] * b + m[10] * c + m[14]);
    }
    corners[at] = x;
    corners[at + 1] = y;
    corners[at + 2] = z;
  }
  return { corners, box: new Box3().setFromArray(corners) };
}

/**
 * The first triangle along a ray, by Moeller and Trumbore. Both sides count.
 * @param {ArrayLike<number>} p corners @param {ArrayLike<number>|null} index
 * @param {{origin: Vector3, direction: Vector3}} ray
 * @returns {Crossing|null} along in lengths of the direction
 */
function findNearest(p, index, { origin, direction }) {
  const [ox, oy, oz] = origin.toArray();
  const [dx, dy, dz] = direction.toArray();
  const count = index ? index.length : p.length / 3;
  /** @type {Crossing|null} */
  let best = null;
  for (let i = 0; i + 2 < count; i += 3) {
    const a = 3 * (index ? index[i] : i);
    const b = 3 * (index ? index[i + 1] : i + 1);
    const c = 3 * (index ? index[i + 2] : i + 2);
    const [ex, ey, ez] = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
    const [fx, fy, fz] = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
    const [hx, hy, hz] = [dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx];
    const volume = ex * hx + ey * hy + ez * hz;
    if (!(Math.abs(volume) > FLAT * Math.abs(ex * ex + ey * ey + ez * ez))) continue;
    const [sx, sy, sz] = [ox - p[a], oy - p[a + 1], oz - p[a + 2]];
    const u = (sx * hx + sy * hy + sz * hz) / volume;
    if (u < 0 || u > 1) continue;
    const [qx, qy, qz] = [sy * ez - sz * ey, sz * ex - sx * ez, sx * ey - sy * ex];
    const v = (dx * qx + dy * qy + dz * qz) / volume;
    if (v < 0 || u + v > 1) continue;
    const along = (fx * qx + fy * qy + fz * qz) / volume;
    if (along <= 0 || (best !== null && along >= best.along)) continue;
    best = { along, corners: [a / 3, b / 3, c / 3], shares: [1 - u - v, u, v] };
  }
  return best;
}

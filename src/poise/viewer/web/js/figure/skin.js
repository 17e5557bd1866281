/**
 * The file's own meshes. A GLB drawn with its materials, once for each character. Nodes get their world matrices
 * straight from a frame, whatever tree they hang in; three.js computes none of them.
 */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { BufferGeometry, MeshStandardMaterial, Object3D, Skeleton } from "three"
 */

import { release, take } from "poise/figure/shared_meshes.js";
import { Group, Matrix4, Mesh, Vector3 } from "three";
import { clone } from "three/addons/utils/SkeletonUtils.js";

const METAL = 0.2; // there is no room to mirror here, and metal without one is black
const SAMPLES = 3000; // corners of a mesh that stand for all
const _point = new Vector3();

/**
 * @typedef {MeshStandardMaterial & Record<string, unknown>} MeshMaterial
 *
 * @typedef {object} Copy the meshes of one character
 * @property {Object3D} root
 * @property {Node3D[]} objects all of them, in the order of the plan
 * @property {Map<number, Object3D>} joints by row
 *
 * @typedef {Object3D & {geometry?: BufferGeometry, skeleton?: Skeleton, bindMatrixInverse?: Matrix4,
 *   isMesh?: boolean, isSkinnedMesh?: boolean}} Node3D
 *
 * @typedef {{row: number, parent: number, local: Matrix4}} Step where the matrix of an object comes from
 */

export class Skin {
  /**
   * @param {Figure} figure
   * @param {(number|null)[]|null} nodes glTF node of each joint
   */
  constructor(figure, nodes) {
    this.figure = figure;
    this.findRow = new Map((nodes ?? []).flatMap((node, row) => (node === null ? [] : [[node, row]])));
    this.group = new Group();
    this.group.matrixAutoUpdate = false;
    /** @type {Copy[]} */
    this.copies = [];
    /** @type {Object3D|null} */
    this.source = null;
    /** @type {Step[]} */
    this.plan = [];
    /** @type {Map<MeshMaterial, {opacity: number, transparent: boolean, depthWrite: boolean}>} */
    this.materials = new Map();
    this.hasMeshes = false;
    /** @type {ArrayBuffer|null} */
    this.glb = null;
    this.posed = 0; // how often the nodes were brought to the joints
  }

  /** Read the file. @param {ArrayBuffer} glb */
  async load(glb) {
    this.glb = glb;
    const gltf = await take(glb);
    const scene = gltf.scene ?? gltf.scenes[0];
    this.plan = makePlan(scene, gltf.parser.associations, this.findRow);
    this.source = clone(scene);
    /** @type {Map<MeshMaterial, MeshMaterial>} */
    const own = new Map();
    this.source.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      this.hasMeshes = true;
      const materials = [object.material].flat().map((material) => own.get(material) ?? material.clone());
      [object.material].flat().forEach((material, i) => own.set(material, materials[i]));
      object.material = Array.isArray(object.material) ? materials : materials[0];
      materials.forEach((material) => this._adopt(material));
    });
  }

  /** Remember the state of a material. Its opacity can be taken back. @param {MeshMaterial} material */
  _adopt(material) {
    if (this.materials.has(material)) return;
    const { opacity, transparent, depthWrite } = material;
    this.materials.set(material, { opacity, transparent, depthWrite });
    if (material.metalness > METAL && !material.envMap) material.metalness = METAL;
  }

  /** @param {number} opacity 0 to 1 */
  setOpacity(opacity) {
    for (const [material, was] of this.materials) {
      const through = opacity < 1;
      if (material.transparent !== (was.transparent || through)) material.needsUpdate = true;
      material.opacity = was.opacity * opacity;
      material.transparent = was.transparent || through;
      material.depthWrite = through || was.depthWrite; // so that only the nearest side shows through
    }
    this.group.visible = opacity > 0;
  }

  /** Bring all nodes to where the figure's joints are now. */
  update() {
    if (this.source === null) return;
    while (this.copies.length < this.figure.characters)
      this._add(this.copies.length ? clone(this.source) : this.source);
    this.posed++;
    const scale = 1 / this.figure.size;
    this.copies.forEach((copy, c) => {
      copy.root.visible = c < this.figure.characters;
      if (copy.root.visible) this._updateCopy(copy, c, scale);
    });
  }

  /** @param {Object3D} root */
  _add(root) {
    const objects = readList(root);
    for (const object of objects) {
      object.matrixAutoUpdate = false;
      object.matrixWorldAutoUpdate = false; // its world matrix is ours
      object.frustumCulled = object.frustumCulled && !object.isSkinnedMesh; // its bounds are those of the bind pose
      object.castShadow = object.isMesh === true;
      object.receiveShadow = object.isMesh === true;
    }
    const joints = new Map(this.plan.flatMap(({ row }, k) => (row >= 0 ? [[row, objects[k]]] : [])));
    this.copies.push({ root, objects, joints });
    this.group.add(root);
  }

  /** @param {Copy} copy @param {number} character @param {number} scale */
  _updateCopy({ objects }, character, scale) {
    this.plan.forEach(({ row, parent, local }, k) => {
      const { matrixWorld } = objects[k];
      if (row >= 0) computeWorld(this.figure, character * this.figure.count + row, scale, matrixWorld);
      else if (parent >= 0) matrixWorld.multiplyMatrices(objects[parent].matrixWorld, local);
      else this._computeRootMatrix(character, scale, matrixWorld);
      objects[k].bindMatrixInverse?.copy(matrixWorld).invert(); // three.js does it when it draws: corners ask before
    });
  }

  /**
   * The scene itself stands at the character's place.
   * @param {number} character
   * @param {number} scale
   * @param {Matrix4} matrix
   */
  _computeRootMatrix(character, scale, matrix) {
    const place = this.figure.places[character] ?? [0, 0, 0];
    matrix.makeScale(scale, scale, scale).setPosition(_point.fromArray(place).multiplyScalar(scale));
  }

  /** The node drawn for a joint, if there is one. @param {number} row @param {number} [character] */
  findNode(row, character = 0) {
    return this.copies[character]?.joints.get(row) ?? null;
  }

  /**
   * The joint that an object of a character hangs from; -1: none.
   * @param {Object3D} object
   * @param {number} character
   * @returns {number} row
   */
  findOwner(object, character) {
    let k = this.copies[character].objects.indexOf(object);
    while (k >= 0 && this.plan[k].row < 0) k = this.plan[k].parent;
    return k < 0 ? -1 : this.plan[k].row;
  }

  /** Some places on the meshes as they are drawn now. @returns {number[][]} rig coordinates */
  listPoints() {
    /** @type {number[][]} */
    const found = [];
    for (const { root, objects } of this.copies) {
      if (!root.visible || !this.group.visible) continue;
      for (const object of objects) {
        if (object instanceof Mesh && object.visible) sample(object, this.figure.size, found);
      }
    }
    return found;
  }

  dispose() {
    this.group.removeFromParent();
    for (const { root } of this.copies) root.traverse((/** @type {Node3D} */ object) => object.skeleton?.dispose());
    for (const material of this.materials.keys()) material.dispose();
    if (this.glb) release(this.glb);
    this.glb = null;
  }
}

/** All objects below, parents first: the same order in every clone. @param {Object3D} root */
function readList(root) {
  /** @type {Node3D[]} */
  const found = [];
  root.traverse((object) => found.push(object));
  return found;
}

/**
 * For each object. The joint whose matrix it takes, or its parent and its matrix in it.
 * @param {Object3D} root
 * @param {Map<any, any>} associations
 * @param {Map<number, number>} findRow
 */
function makePlan(root, associations, findRow) {
  const objects = readList(root);
  const places = new Map(objects.map((object, k) => [object, k]));
  const taken = new Set(); // a mesh of one node and its first part may both name the node
  return objects.map((object) => {
    object.updateMatrix();
    const node = associations.get(object)?.nodes;
    const row = node === undefined || taken.has(node) ? -1 : (findRow.get(node) ?? -1);
    if (row >= 0) taken.add(node);
    return { row, parent: places.get(object.parent ?? root) ?? -1, local: new Matrix4().copy(object.matrix) };
  });
}

/**
 * Add the places of some of a mesh's corners. All of them would take long where there are many.
 * @param {Mesh} mesh
 * @param {number} size
 * @param {number[][]} found
 */
function sample(mesh, size, found) {
  const { count } = mesh.geometry.attributes.position;
  const point = new Vector3();
  for (let i = 0; i < count; i += Math.ceil(count / SAMPLES)) {
    mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld);
    found.push(point.multiplyScalar(size).toArray());
  }
}

/**
 * A joint's matrix in the scene.
 * @param {Figure} figure
 * @param {number} i
 * @param {number} scale
 * @param {Matrix4} out
 */
function computeWorld({ maps, positions }, i, scale, out) {
  const e = out.elements;
  for (let r = 0; r < 3; r++) {
    for (let k = 0; k < 3; k++) e[4 * k + r] = maps[9 * i + 3 * r + k] * scale;
    e[12 + r] = positions[3 * i + r] * scale;
  }
  e[3] = e[7] = e[11] = 0;
  e[15] = 1;
}

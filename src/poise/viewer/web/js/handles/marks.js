/** The shapes of what can be dragged: a target is a cube. Sizes in pixels, pointing to +y. */

/** @import { BufferGeometry } from "three" */

import {
  BoxGeometry,
  ConeGeometry,
  CylinderGeometry,
  EdgesGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshLambertMaterial,
  SphereGeometry,
  TetrahedronGeometry,
} from "three";

/** @typedef {"position"|"place"|"direction"|"look"|"pole"|"pin"|"bone"|"handle"} MarkKind */

/** @type {Record<MarkKind, () => BufferGeometry[]>} */
const PARTS = {
  position: () => [makeCube()],
  place: () => [makeCube(), makeRod(2, 15, "x"), makeRod(2, 15, "y"), makeRod(2, 15, "z")],
  direction: () => [makeCube(), makeRod(2.2, 46, "y"), new ConeGeometry(6, 15, 16).translate(0, 52, 0)],
  look: () => [new SphereGeometry(8, 16, 12), new SphereGeometry(4, 12, 8).translate(0, 0, 6)],
  pole: () => [new TetrahedronGeometry(8)],
  pin: () => [new ConeGeometry(4.6, 15, 16).rotateX(Math.PI).translate(0, 7.5, 0), makeHead()],
  bone: () => [],
  handle: () => [new BoxGeometry(12, 12, 12)],
};

function makeCube() {
  return new BoxGeometry(13, 13, 13);
}

function makeHead() {
  return new SphereGeometry(6, 16, 12).translate(0, 17, 0);
}

/** Of cubes, so that their sides are told apart on any ground. */
const EDGES = new LineBasicMaterial({ color: 0x10151c, transparent: true, opacity: 0.75 });

/**
 * A thin rod from the middle along an axis.
 * @param {number} radius
 * @param {number} length
 * @param {"x"|"y"|"z"} axis
 */
function makeRod(radius, length, axis) {
  const along = new CylinderGeometry(radius, radius, length, 8).translate(0, length / 2, 0);
  if (axis === "x") return along.rotateZ(-Math.PI / 2);
  return axis === "z" ? along.rotateX(Math.PI / 2) : along;
}

/**
 * One mark; scale it by what a pixel is.
 * @param {MarkKind} kind
 * @returns {Group & {material: MeshLambertMaterial}}
 */
export function makeMark(kind) {
  const material = new MeshLambertMaterial({ emissive: 0x000000, flatShading: kind !== "pin" });
  const group = Object.assign(new Group(), { material });
  for (const geometry of (PARTS[kind] ?? PARTS.position)()) {
    group.add(new Mesh(geometry, material));
    if (geometry instanceof BoxGeometry) group.add(new LineSegments(new EdgesGeometry(geometry), EDGES));
  }
  return group;
}

/** @param {ReturnType<typeof makeMark>} mark */
export function disposeMark(mark) {
  mark.removeFromParent();
  mark.material.dispose();
  for (const mesh of mark.children) if (mesh instanceof Mesh || mesh instanceof LineSegments) mesh.geometry.dispose();
}

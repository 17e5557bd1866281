/**
 * Bones as octahedra, robot links as capsules, joints as small balls. Thin lines, or more capsules, go to the other
 * children. Each is one instanced mesh for all characters of a view.
 */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Joint } from "poise/protocol/messages.ts"
 */

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  CylinderGeometry,
  DynamicDrawUsage,
  Float32BufferAttribute,
  Group,
  InstancedMesh,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  MeshLambertMaterial,
  SphereGeometry,
} from "three";

const SLIM = 0.1; // width of a bone by its length
const WIDEST = 0.028; // of the figure's size
const LINK = 0.11; // radius of a capsule by its length
const THICKEST = 0.026;
const BALL = 0.3; // radius of a joint by the bone's width
const SMALLEST = 0.0022; // radius of a joint, of the figure's size

/** @typedef {[parent: number, child: number, whole: boolean]} Link whole: from the head of the parent's bone */

/** How one instance is made from a joint. Its shape in the joint's frame, row by row 3 x 3, and where it starts. */
class Instances {
  /**
   * @param {BufferGeometry} geometry
   * @param {number[]} rows
   * @param {number[][]} frames
   * @param {MeshLambertMaterial} material
   */
  constructor(geometry, rows, frames, material) {
    this.geometry = geometry;
    this.material = material;
    this.rows = rows;
    this.frames = frames;
    this.mesh = this._makeMesh(0);
  }

  /** @param {number} count */
  _makeMesh(count) {
    const mesh = new InstancedMesh(this.geometry, this.material, Math.max(count, 1));
    mesh.count = count;
    mesh.frustumCulled = false;
    mesh.castShadow = true;
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    return mesh;
  }

  /** @param {Group} group @param {number} characters */
  reserve(group, characters) {
    this.mesh.removeFromParent();
    this.mesh.dispose();
    this.mesh = this._makeMesh(this.rows.length * characters);
    group.add(this.mesh);
  }

  /** @param {Figure} figure */
  update(figure) {
    const out = this.mesh.instanceMatrix.array;
    const { turns, positions } = figure;
    let to = 0;
    for (let c = 0; c < figure.characters; c++) {
      for (let k = 0; k < this.rows.length; k++, to += 16) {
        const i = c * figure.count + this.rows[k];
        const shape = this.frames[k];
        for (let r = 0; r < 3; r++) {
          const at = 9 * i + 3 * r;
          const [x, y, z] = [turns[at], turns[at + 1], turns[at + 2]];
          out[to + r] = x * shape[0] + y * shape[3] + z * shape[6];
          out[to + 4 + r] = x * shape[1] + y * shape[4] + z * shape[7];
          out[to + 8 + r] = x * shape[2] + y * shape[5] + z * shape[8];
          out[to + 12 + r] = positions[3 * i + r] + x * shape[9] + y * shape[10] + z * shape[11];
        }
        out[to + 15] = 1;
      }
    }
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  /** @param {(row: number, character: number) => Color} colour @param {number} characters */
  paint(colour, characters) {
    for (let c = 0, to = 0; c < characters; c++) {
      for (const row of this.rows) this.mesh.setColorAt(to++, colour(row, c));
    }
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }
}

export class Bones {
  /**
   * @param {Figure} figure
   * @param {{ghost?: boolean}} [options]
   */
  constructor(figure, { ghost = false } = {}) {
    this.figure = figure;
    this.group = new Group();
    this.material = new MeshLambertMaterial({ flatShading: true });
    this.material.onBeforeCompile = drawEdges;
    this.smooth = new MeshLambertMaterial();
    if (ghost) {
      for (const material of [this.material, this.smooth]) {
        Object.assign(material, { transparent: true, opacity: 0.28, depthWrite: false });
      }
    }
    const links = listLinks(figure);
    /** @param {Link} of */
    const isSolid = ([parent, child]) => figure.joints[parent].thick && figure.joints[child].parent === parent;
    this.instances = this._makeInstances(figure, links.filter(isSolid));
    this.struts = listStruts(figure, links);
    this.links = links.filter((link) => !isSolid(link));
    this.lines = this._makeLines(ghost);
    this.characters = 0;
    /** @type {(row: number, character: number) => Color} */
    this.colour = () => new Color(0x888888);
  }

  /** @param {Figure} figure @param {Link[]} struts to other children */
  _makeInstances(figure, struts) {
    const rows = figure.joints.map((_, row) => row).filter((row) => figure.joints[row].shown);
    const long = rows.filter((row) => computeLength(figure.joints[row]) > 1e-6 * figure.size);
    const slim = long.filter((row) => !figure.joints[row].thick);
    const thick = long.filter((row) => figure.joints[row].thick);
    /** @param {number} row */
    const computeBone = (row) => computeAlong(figure.joints[row].bone, computeWidth(figure.joints[row], figure.size));
    const rods = struts.map(([parent, child, whole]) => makeStrut(figure, parent, child, whole));
    const tails = thick.map((row) => makeBall(computeWidth(figure.joints[row], figure.size), figure.joints[row].bone));
    const heads = rows.map((row) => makeBall(computeBallRadius(figure, row)));
    const sphere = new SphereGeometry(1, 14, 10);
    return [
      new Instances(makeOctahedron(), slim, slim.map(computeBone), this.material),
      new Instances(
        new CylinderGeometry(1, 1, 1, 18, 1, true).translate(0, 0.5, 0),
        [...thick, ...struts.map(([parent]) => parent)],
        [...thick.map(computeBone), ...rods.map(({ rod }) => rod)],
        this.smooth,
      ),
      new Instances(
        sphere,
        [...thick, ...struts.map(([parent]) => parent)],
        [...tails, ...rods.map(({ end }) => end)],
        this.smooth,
      ),
      new Instances(sphere, rows, heads, this.smooth),
    ];
  }

  /** @param {boolean} ghost */
  _makeLines(ghost) {
    const material = new LineBasicMaterial({ transparent: true, opacity: ghost ? 0.2 : 0.7 });
    const lines = new LineSegments(new BufferGeometry(), material);
    lines.frustumCulled = false;
    this.group.add(lines);
    return lines;
  }

  /** Bring everything to where the figure's joints are now. */
  update() {
    const { characters } = this.figure;
    if (characters !== this.characters) {
      this.characters = characters;
      for (const one of this.instances) one.reserve(this.group, characters);
      const points = new BufferAttribute(new Float32Array(6 * this.links.length * characters), 3);
      this.lines.geometry.dispose();
      this.lines.geometry = new BufferGeometry().setAttribute("position", points.setUsage(DynamicDrawUsage));
      this.repaint();
    }
    for (const one of this.instances) one.update(this.figure);
    this._updateLines();
  }

  _updateLines() {
    const points = this.lines.geometry.attributes.position;
    let to = 0;
    for (let c = 0; c < this.characters; c++) {
      for (const [parent, child, whole] of this.links) {
        const start = whole ? this.figure.readPosition(parent, c) : this.figure.computeTail(parent, c);
        points.array.set(start, to);
        points.array.set(this.figure.readPosition(child, c), to + 3);
        to += 6;
      }
    }
    points.needsUpdate = true;
  }

  /**
   * Colours of the joints' bones; `colour` is kept for later characters.
   * @param {(row: number, character: number) => Color} colour
   * @param {number} link colour of the thin lines
   */
  paint(colour, link) {
    this.colour = colour;
    this.lines.material.color.setHex(link);
    this.repaint();
  }

  /** The matrix of the ball drawn at a joint. Null where none is. @param {number} row @param {number} character */
  computeBallMatrix(row, character) {
    const { mesh, rows } = this.instances[this.instances.length - 1];
    const place = rows.indexOf(row);
    if (place < 0 || character >= this.characters) return null;
    return new Matrix4().fromArray(mesh.instanceMatrix.array, 16 * (character * rows.length + place));
  }

  repaint() {
    if (this.characters) for (const one of this.instances) one.paint(this.colour, this.characters);
  }

  dispose() {
    this.group.removeFromParent();
    for (const one of this.instances) {
      one.geometry.dispose();
      one.mesh.dispose();
    }
    this.lines.geometry.dispose();
    for (const material of [this.material, this.smooth, this.lines.material]) material.dispose();
  }
}

/**
 * How wide a bone is drawn: radius of its octahedron or capsule.
 * @param {Joint} joint
 * @param {number} size
 * @returns {number} file units
 */
export function computeWidth(joint, size) {
  const length = computeLength(joint);
  return joint.thick ? Math.min(LINK * length, THICKEST * size) : Math.min(SLIM * length, WIDEST * size);
}

/** @param {Joint} joint */
function computeLength(joint) {
  return Math.hypot(...joint.bone);
}

/**
 * Radius of the ball at a joint. Of a link as thick as the thickest that meets there.
 * @param {Figure} figure
 * @param {number} row
 */
function computeBallRadius(figure, row) {
  const joint = figure.joints[row];
  const parent = joint.parent >= 0 ? figure.joints[joint.parent] : null;
  const width = computeWidth(joint, figure.size);
  if (joint.thick) return Math.max(width, 2 * SMALLEST * figure.size);
  const own = width > 0 || !parent ? width : computeWidth(parent, figure.size);
  return Math.max(BALL * own, SMALLEST * figure.size);
}

/**
 * Parent and child without a bone between. The line starts at the parent's head, or at its tail.
 * @param {Figure} figure
 */
function listLinks(figure) {
  /** @type {Link[]} */
  const found = [];
  figure.joints.forEach((joint, row) => {
    let parent = joint.parent;
    while (parent >= 0 && !figure.joints[parent].shown) parent = figure.joints[parent].parent;
    if (!joint.shown || parent < 0) return;
    const bone = figure.joints[parent].bone;
    const offset = parent === joint.parent ? computeOffset(joint, figure.linear[parent]) : [0, 0, 0];
    const fromTail = Math.hypot(...offset.map((value, k) => value - bone[k]));
    const direct = parent === joint.parent && joint.kind !== "slide";
    if (direct && Math.min(fromTail, Math.hypot(...offset)) < 1e-3 * figure.size) return;
    found.push([parent, row, computeLength(figure.joints[parent]) === 0 || Math.hypot(...offset) <= fromTail]);
  });
  return found;
}

/**
 * Shapes between joints without a bone, to be hit. They are thin lines, and capsules of robots.
 * @param {Figure} figure
 * @param {Link[]} links
 */
function listStruts(figure, links) {
  return links.map(([parent, child, whole]) => {
    const solid = figure.joints[parent].thick && figure.joints[child].parent === parent;
    const start = whole ? [0, 0, 0] : figure.joints[parent].bone;
    const way = computeOffset(figure.joints[child], figure.linear[parent]).map((value, k) => value - start[k]);
    const width = solid ? Math.min(LINK * Math.hypot(...way), THICKEST * figure.size) : 0;
    return { parent, child, whole, width };
  });
}

/**
 * A further capsule of a robot's link, and its end. It leads to another child than the bone.
 * @param {Figure} figure
 * @param {number} parent
 * @param {number} child
 * @param {boolean} whole
 */
function makeStrut(figure, parent, child, whole) {
  const { bone } = figure.joints[parent];
  const offset = computeOffset(figure.joints[child], figure.linear[parent]);
  const start = whole ? [0, 0, 0] : bone;
  const way = offset.map((value, k) => value - start[k]);
  const width = Math.min(LINK * Math.hypot(...way), THICKEST * figure.size);
  return { rod: computeAlong(way, width).slice(0, 9).concat(start), end: makeBall(width, offset) };
}

/** Where a joint is at rest in the parent's unscaled frame. @param {Joint} joint @param {number[]|null} linear */
function computeOffset(joint, linear) {
  const [x, y, z] = joint.A;
  return linear ? [0, 3, 6].map((r) => linear[r] * x + linear[r + 1] * y + linear[r + 2] * z) : [x, y, z];
}

/**
 * A shape that turns +y into the bone's direction, `width` across. 3 x 3 row by row, then its start.
 * @param {number[]} bone
 * @param {number} width
 */
function computeAlong(bone, width) {
  const length = Math.hypot(...bone);
  const y = bone.map((value) => value / length);
  const least = y.map(Math.abs).indexOf(Math.min(...y.map(Math.abs)));
  const side = [0, 1, 2].map((k) => (k === least ? 1 : 0) - y[least] * y[k]);
  const norm = Math.hypot(...side);
  const x = side.map((value) => value / norm);
  const z = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]];
  return [0, 1, 2].flatMap((r) => [x[r] * width, y[r] * length, z[r] * width]).concat([0, 0, 0]);
}

/** A ball about a point of the joint's frame. @param {number} radius @param {number[]} [at] */
function makeBall(radius, at = [0, 0, 0]) {
  return [radius, 0, 0, 0, radius, 0, 0, 0, radius, ...at];
}

/**
 * Dark edges, so that pale bones stand out from pale skin. Drawn from each corner's share of its triangle.
 * @param {{vertexShader: string, fragmentShader: string}} shader
 */
function drawEdges(shader) {
  shader.vertexShader = shader.vertexShader
    .replace("#include <common>", "#include <common>\nattribute vec3 corner;\nvarying vec3 share;")
    .replace("#include <begin_vertex>", "#include <begin_vertex>\nshare = corner;");
  shader.fragmentShader = shader.fragmentShader
    .replace("#include <common>", "#include <common>\nvarying vec3 share;")
    .replace("#include <opaque_fragment>", EDGE);
}

const EDGE = `
#include <opaque_fragment>
vec3 pixels = share / max(fwidth(share), vec3(1e-6));
float inside = smoothstep(0.3, 1.4, min(pixels.x, min(pixels.y, pixels.z)));
gl_FragColor.rgb *= mix(0.4, 1.0, inside);`;

/** The bone of animation tools. Four sides, widest at a tenth of its length; unit length along +y. */
function makeOctahedron() {
  const ring = [
    [1, 0.12, 0],
    [0, 0.12, 1],
    [-1, 0.12, 0],
    [0, 0.12, -1],
  ];
  const corners = ring.flatMap((point, k) => {
    const next = ring[(k + 1) % 4];
    return [...next, ...point, 0, 0, 0, ...point, ...next, 0, 1, 0];
  });
  const geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(corners, 3));
  const shares = corners.flatMap((_, k) => (k % 9 === 0 ? [1, 0, 0, 0, 1, 0, 0, 0, 1] : []));
  geometry.setAttribute("corner", new Float32BufferAttribute(shares, 3));
  geometry.computeVertexNormals();
  return geometry;
}

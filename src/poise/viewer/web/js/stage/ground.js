/** What is underfoot. A grid that fades into the distance, the shadow on it, and the terrain of a scene. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Axis } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 * @import { Stage } from "poise/stage/stage.js"
 * @import { BufferGeometry, Object3D } from "three"
 */

import { SoftShadow } from "poise/stage/soft_shadow.js";
import { findEdges, isEdge, isHiding, isUneven, TerrainMaterial } from "poise/stage/terrain.js";
import {
  Color,
  DoubleSide,
  Group,
  Mesh,
  PlaneGeometry,
  Quaternion,
  ShaderMaterial,
  ShadowMaterial,
  Vector2,
  Vector3,
} from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

const UP = { x: new Vector3(1, 0, 0), y: new Vector3(0, 1, 0), z: new Vector3(0, 0, 1) };
const WIDE = 60; // figure sizes
const SQUARES = 0.35; // strength of the grid on a level terrain
const LEVEL = 0.15; // figure sizes: a figure whose lowest joint is nearer to zero stands on zero

const VERTEX = `
varying vec2 place;
void main() {
  place = position.xy;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const FRAGMENT = `
varying vec2 place;
uniform float cell;
uniform float reach;
uniform vec2 centre;
uniform vec3 minor;
uniform vec3 major;
float line(vec2 p) {
  vec2 width = max(fwidth(p), vec2(1e-6));
  vec2 near = abs(fract(p - 0.5) - 0.5) / width;
  float seen = 1.0 - min(max(width.x, width.y) * 2.0, 1.0); // closer than pixels: nothing, not noise
  return (1.0 - min(min(near.x, near.y), 1.0)) * seen;
}
void main() {
  float thin = line(place / cell);
  float thick = line(place / (5.0 * cell));
  float fade = 1.0 - smoothstep(0.1 * reach, reach, distance(place, centre));
  float ink = max(thin * 0.75, thick) * fade;
  if (ink < 0.004) discard;
  gl_FragColor = vec4(mix(minor, major, thick), ink);
  #include <colorspace_fragment>
}`;

export class Ground {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.group = new Group();
    this.plane = new Group();
    this.grid = new Mesh(new PlaneGeometry(WIDE, WIDE), makeGridMaterial());
    this.shade = new Mesh(new PlaneGeometry(12, 12), new ShadowMaterial({ depthWrite: false }));
    this.shade.receiveShadow = true;
    this.shade.renderOrder = -1;
    this.grid.renderOrder = -2;
    this.plane.add(this.grid, this.shade);
    this.soft = new SoftShadow(this.plane);
    this.stage.scene.add(this.plane);
    this.stage.world.add(this.group);
    /** @type {Axis} */
    this.up = "y";
    this.level = 0; // rig coordinates
    /** @type {Object3D|null} */
    this.terrain = null;
    this._ask = Symbol("terrain");
    this.material = new TerrainMaterial();
    this.edgeColour = 0;
    this.uneven = false; // whether the terrain has contour lines
    this._show = { grid: true, shadows: false };
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.grid.material.uniforms.minor.value = new Color(palette.gridMinor);
    this.grid.material.uniforms.major.value = new Color(palette.gridMajor);
    this.material.setPalette(palette);
    this.edgeColour = palette.edge;
    this.terrain?.traverse((object) => isEdge(object) && object.material.color.setHex(palette.edge));
    this.shade.material.opacity = palette.shadow;
    this.soft.setPalette(palette);
  }

  /** A new figure: its size, and which way is up. @param {Axis} up */
  setUp(up) {
    this.up = UP[up] ? up : "y";
    this.plane.quaternion.copy(new Quaternion().setFromUnitVectors(UP.z, UP[this.up]));
    const cell = chooseCellSize(this.stage.size);
    this.grid.material.uniforms.cell.value = cell / this.stage.size;
    this.material.setScale(UP[this.up], cell);
  }

  /** Lay the floor below a figure that has just appeared. A rest pose may hang below zero. @param {Figure} figure */
  standUnder(figure) {
    const axis = "xyz".indexOf(this.up);
    let low = Infinity;
    figure.joints.forEach((joint, row) => {
      if (joint.shown) low = Math.min(low, figure.positions[3 * row + axis]);
    });
    if (!Number.isFinite(low)) return;
    this.level = low < -LEVEL * figure.size ? low : 0;
    this.plane.position.copy(UP[this.up]).multiplyScalar((this.level - 2e-4 * figure.size) / figure.size);
  }

  /** Fade about where the camera looks. @param {Vector3} target @param {number} away */
  follow(target, away) {
    const inPlane = this.plane.worldToLocal(target.clone());
    this.grid.material.uniforms.centre.value.set(inPlane.x, inPlane.y);
    this.grid.material.uniforms.reach.value = Math.min(Math.max(4, 3 * away), WIDE / 2);
  }

  /** @param {{grid: boolean, shadows: boolean}} show */
  setShow(show) {
    this._show = show;
    this._apply();
  }

  _apply() {
    this.grid.visible = this._show.grid && this.terrain === null; // a terrain has lines of its own
    this.material.lines.lines.value = this._show.grid ? 1 : 0;
    this.terrain?.traverse((object) => {
      if (isEdge(object)) object.visible = this._show.grid;
    });
    this.shade.visible = this._show.shadows && this.terrain === null;
    this.soft.mesh.visible = this.terrain === null;
  }

  /** @param {ArrayBuffer|null} glb in world coordinates */
  async setTerrain(glb) {
    const ask = Symbol("terrain");
    this._ask = ask;
    const gltf = glb ? await new GLTFLoader().parseAsync(glb, "") : null;
    if (ask !== this._ask) return; // another one was asked for meanwhile
    this._clear();
    this.terrain = gltf ? (gltf.scene ?? gltf.scenes[0]) : null;
    /** @type {ReturnType<typeof findEdges>[]} */
    const edges = [];
    this.terrain?.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      const flat = !object.geometry.attributes.normal;
      if (flat) object.geometry = makeFaceted(object.geometry);
      object.material = this.material;
      object.receiveShadow = true;
      if (flat) edges.push(findEdges(object, this.edgeColour));
    });
    if (this.terrain) this.group.add(this.terrain);
    for (const lines of edges) if (lines) this.terrain?.add(lines);
    this.uneven = this.terrain !== null && isUneven(this.terrain, UP[this.up]);
    this.material.lines.squares.value = edges.length || !this.uneven ? SQUARES : 0; // on treads and on flat ground
    this._apply();
    this.stage.invalidate();
  }

  /** The heights between contour lines, or null without any. @returns {[number, number]|null} file units */
  get contours() {
    return this.uneven && this._show.grid ? this.material.heights : null;
  }

  /** Whether the terrain is before a point. @param {Vector3} eye @param {Vector3} point of the scene */
  isHiding(eye, point) {
    return this.terrain !== null && isHiding(this.terrain, eye, point);
  }

  _clear() {
    this.uneven = false;
    this.terrain?.traverse((object) => {
      if (object instanceof Mesh || isEdge(object)) object.geometry.dispose();
      if (isEdge(object)) object.material.dispose();
    });
    this.terrain?.removeFromParent();
    this.terrain = null;
  }

  dispose() {
    this._clear();
    for (const mesh of [this.grid, this.shade]) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    this.material.dispose();
    this.soft.dispose();
  }
}

/**
 * A mesh without normals has flat faces, as glTF wants it. The edges of stairs are edges.
 * @param {BufferGeometry} geometry
 */
function makeFaceted(geometry) {
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  geometry.dispose();
  return flat;
}

/** Width of a cell. 1, 2 or 5 times a power of ten, about a fifth of a figure. @param {number} size file units */
function chooseCellSize(size) {
  const wanted = size / 5;
  const ten = 10 ** Math.floor(Math.log10(wanted));
  return ten * ([5, 2, 1].find((step) => step * ten <= wanted * 1.0001) ?? 1);
}

function makeGridMaterial() {
  const uniforms = {
    cell: { value: 0.2 },
    reach: { value: 8 },
    centre: { value: new Vector2() },
    minor: { value: new Color() },
    major: { value: new Color() },
  };
  return new ShaderMaterial({
    uniforms,
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
  });
}

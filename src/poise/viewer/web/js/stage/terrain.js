/** The look of a terrain. Contour lines at heights that are said, level places with a grid, edges of steps. */

/**
 * @import { Palette } from "poise/stage/palette.js"
 * @import { Object3D } from "three"
 */

import {
  Color,
  DoubleSide,
  EdgesGeometry,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshLambertMaterial,
  Raycaster,
  Vector3,
} from "three";

const EDGE_DEGREES = 25; // two faces that meet at more have an edge between them
const MOST_EDGED = 60_000; // corners of a mesh whose edges are looked for
const THICK = 5; // lines of one kind for each thick one

const FADE = "diffuseColor.a *= 1.0 - smoothstep(2.0, 8.0, ahead);"; // far edges would run together [figure sizes]

const VERTEX_HEAD = `#include <common>
varying vec3 place;
varying float steep;
uniform vec3 up;`;
const VERTEX_BODY = `#include <begin_vertex>
place = position;
steep = 1.0 - abs(dot(normalize(normal), up));`;
const FRAGMENT_HEAD = `#include <common>
varying vec3 place;
varying float steep;
uniform vec3 up;
uniform vec3 across;
uniform float between;
uniform float cell;
uniform float lines;
uniform float squares;
uniform vec3 ink;
float lineAt(float x) {
  float width = fwidth(x);
  float seen = 1.0 - min(width * 2.0, 1.0); // closer than pixels: nothing, not noise
  return (1.0 - min(abs(fract(x - 0.5) - 0.5) / max(width, 1e-6), 1.0)) * seen * smoothstep(1e-5, 1e-4, width);
}`;
const FRAGMENT_BODY = `#include <color_fragment>
float height = dot(place, up);
float slope = smoothstep(1e-4, 1e-3, steep); // contour lines have no place on level ground
float thin = lineAt(height / between);
float thick = lineAt(height / (between * ${THICK}.0));
float contour = max(0.5 * thin, 0.95 * thick) * slope;
vec2 level = vec2(dot(place, across), dot(place, cross(up, across)));
float grid = squares * max(lineAt(level.x / cell), lineAt(level.y / cell)) * (1.0 - slope);
float band = 0.06 * mod(floor(height / (between * ${THICK}.0)), 2.0) * slope;
diffuseColor.rgb *= 1.0 - 0.3 * min(steep * 2.0, 1.0) - band;
diffuseColor.rgb = mix(diffuseColor.rgb, ink, max(contour, grid) * lines);`;

/** A material that draws lines at whole heights. */
export class TerrainMaterial extends MeshLambertMaterial {
  constructor() {
    super({ side: DoubleSide });
    this.lines = {
      up: { value: new Vector3(0, 1, 0) },
      across: { value: new Vector3(1, 0, 0) },
      between: { value: 0.05 },
      cell: { value: 0.2 },
      lines: { value: 1 },
      squares: { value: 0 },
      ink: { value: new Color() },
    };
  }

  /** @param {any} shader */
  onBeforeCompile(shader) {
    Object.assign(shader.uniforms, this.lines);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", VERTEX_HEAD)
      .replace("#include <begin_vertex>", VERTEX_BODY);
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", FRAGMENT_HEAD)
      .replace("#include <color_fragment>", FRAGMENT_BODY);
  }

  /** @param {Vector3} up @param {number} cell of the grid [file units] */
  setScale(up, cell) {
    this.lines.up.value.copy(up);
    this.lines.across.value.set(up.x ? 0 : 1, 0, up.x ? 1 : 0);
    this.lines.cell.value = cell;
    this.lines.between.value = cell / 4;
  }

  /** Heights between two contour lines, thin and thick. @returns {[number, number]} file units */
  get heights() {
    const between = this.lines.between.value;
    return [between, THICK * between];
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.color.setHex(palette.terrain);
    this.lines.ink.value.set(palette.contour);
  }
}

/**
 * The edges of a terrain with flat faces, as of steps. Null where there are too many.
 * @param {Mesh} mesh
 * @param {number} colour
 */
export function findEdges(mesh, colour) {
  if (mesh.geometry.attributes.position.count > MOST_EDGED) return null;
  const material = new LineBasicMaterial({ color: colour, transparent: true });
  material.onBeforeCompile = (shader) => {
    const ahead = "#include <common>\nvarying float ahead;";
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", ahead)
      .replace("#include <project_vertex>", "#include <project_vertex>\nahead = -mvPosition.z;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", ahead)
      .replace("#include <color_fragment>", `#include <color_fragment>\n${FADE}`);
  };
  return new LineSegments(new EdgesGeometry(mesh.geometry, EDGE_DEGREES), material);
}

/** @param {Object3D} object @returns {object is LineSegments<EdgesGeometry, LineBasicMaterial>} */
export function isEdge(object) {
  return object instanceof LineSegments;
}

/**
 * Whether a terrain goes up and down. A level one has no contour lines.
 * @param {Object3D} terrain
 * @param {Vector3} up
 */
export function isUneven(terrain, up) {
  let [low, high, wide] = [Infinity, -Infinity, 0];
  const point = new Vector3();
  terrain.traverse((object) => {
    if (!(object instanceof Mesh)) return;
    const positions = object.geometry.attributes.position;
    for (let i = 0; i < positions.count; i++) {
      point.fromBufferAttribute(positions, i);
      [low, high] = [Math.min(low, point.dot(up)), Math.max(high, point.dot(up))];
      wide = Math.max(wide, Math.abs(point.x), Math.abs(point.y), Math.abs(point.z));
    }
  });
  return high - low > 1e-6 * wide;
}

/**
 * Whether a terrain is between two points of the scene.
 * @param {Object3D} terrain
 * @param {Vector3} eye
 * @param {Vector3} point
 */
export function isHiding(terrain, eye, point) {
  const way = point.clone().sub(eye);
  const ray = new Raycaster(eye, way.clone().normalize(), 0, way.length());
  return ray.intersectObject(terrain, true).some(({ object }) => object instanceof Mesh);
}

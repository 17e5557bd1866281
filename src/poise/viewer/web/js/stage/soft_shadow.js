/**
 * Soft shadows on level ground. A wide one under the hips, and a darker one under each foot. They cost next to nothing,
 * so that a figure stands on its ground even where the lamp's own shadow takes too long.
 */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Palette } from "poise/stage/palette.js"
 * @import { Object3D } from "three"
 */

import { InstancedMesh, Matrix4, PlaneGeometry, Quaternion, ShaderMaterial, Vector3 } from "three";

/** Width, fading height [figure sizes] and share of the ink, by role. Above the fading height there is no shadow. */
/** @type {Record<string, {wide: number, fade: number, share: number}>} */
const BLOTS = {
  hips: { wide: 0.75, fade: 1.2, share: 0.8 },
  leftFoot: { wide: 0.26, fade: 0.2, share: 1 },
  rightFoot: { wide: 0.26, fade: 0.2, share: 1 },
};
const MOST = 96; // blots: of 32 figures
const ABOVE = 2e-4; // [figure sizes] the ground
const FORWARD = 0.4; // of the way from the ankle to the ball: the middle of the sole

const VERTEX = `
varying vec2 place;
varying float strength;
void main() {
  place = 2.0 * position.xy;
  strength = length(instanceMatrix[2].xyz);
  gl_Position = projectionMatrix * modelViewMatrix * instanceMatrix * vec4(position, 1.0);
}`;

const FRAGMENT = `
varying vec2 place;
varying float strength;
uniform float ink;
void main() {
  float near = max(1.0 - dot(place, place), 0.0);
  float dark = ink * strength * near * near;
  if (dark < 0.004) discard;
  gl_FragColor = vec4(0.0, 0.0, 0.0, dark);
}`;

export class SoftShadow {
  /** @param {Object3D} plane the ground: x and y in it, z upwards [figure sizes] */
  constructor(plane) {
    const material = new ShaderMaterial({
      uniforms: { ink: { value: 0.5 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
    });
    this.plane = plane;
    this.mesh = new InstancedMesh(new PlaneGeometry(1, 1), material, MOST);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -1;
    this.mesh.count = 0;
    plane.add(this.mesh);
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.mesh.material.uniforms.ink.value = palette.shadow;
  }

  /** Lie under the figures; called before each drawing. @param {Figure|undefined} figure */
  follow(figure) {
    this.mesh.count = 0;
    if (!this.mesh.visible || !figure?.ready) return;
    const [turn, place, size, matrix] = [new Quaternion(), new Vector3(), new Vector3(), new Matrix4()];
    figure.joints.forEach(({ role }, row) => {
      const blot = BLOTS[role ?? ""];
      if (!blot) return;
      for (let c = 0; c < figure.characters && this.mesh.count < MOST; c++) {
        const at =
          role === "hips"
            ? figure.readPosition(row, c)
            : findSole(figure.readPosition(row, c), figure.computeTail(row, c));
        this.plane.worldToLocal(place.set(at[0], at[1], at[2]).divideScalar(figure.size));
        const share = blot.share * Math.min(Math.max(1 - place.z / blot.fade, 0), 1);
        if (share <= 0) continue;
        place.z = ABOVE;
        matrix.compose(place, turn, size.set(blot.wide, blot.wide, share));
        this.mesh.setMatrixAt(this.mesh.count++, matrix);
      }
    });
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  dispose() {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.mesh.dispose();
  }
}

/** A place under the sole: towards the toes from the ankle. @param {number[]} from @param {number[]} to */
function findSole(from, to) {
  return from.map((value, k) => value + FORWARD * (to[k] - value));
}

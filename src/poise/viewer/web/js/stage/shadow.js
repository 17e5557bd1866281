/** The lamp and its shadow. They follow the figure, so that a walk of any length keeps its shadow. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Actor } from "poise/stage/actor.js"
 * @import { Camera } from "poise/stage/camera.js"
 * @import { Stage } from "poise/stage/stage.js"
 * @import { Mesh } from "three"
 */

import { PCFShadowMap, Vector3 } from "three";

const AWAY = 4; // of the lamp above the figure [figure sizes]
const FRONT = 0.55; // its way to the front and to the side, in shares of that
const SIDE = 0.35;
const DISTANCE = AWAY * Math.hypot(1, FRONT, SIDE);
const TEXELS = 2048;
const _side = new Vector3();
const _front = new Vector3();

/** @param {Stage} stage @param {boolean} on */
export function useShadows(stage, on) {
  const { lamp } = stage.lights[0];
  if (stage.renderer === null || lamp.castShadow === on) return;
  stage.renderer.shadowMap.enabled = on;
  stage.renderer.shadowMap.type = PCFShadowMap;
  lamp.castShadow = on;
  lamp.shadow.mapSize.set(TEXELS, TEXELS);
  lamp.shadow.bias = -2e-4; // of the depth seen: more, and soles seem to float above the ground
  lamp.shadow.normalBias = 0.002;
  stage.scene.traverse((object) => {
    const materials = /** @type {Partial<Mesh>} */ (object).material;
    if (materials) for (const material of [materials].flat()) material.needsUpdate = true;
  });
}

/**
 * Put the lamps above the figures, to the side. Called before each drawing.
 * @param {Stage} stage
 * @param {Camera} view
 * @param {Actor|null} actor
 */
export function shine(stage, view, actor) {
  const { centre, radius } = actor?.figure.ready ? measureCrowd(actor.figure) : { centre: new Vector3(), radius: 1 };
  const { up } = view.camera;
  _side.set(up.y, up.z, up.x); // any two directions across
  _front.set(up.z, up.x, up.y);
  for (const { sky, lamp, aim } of stage.lights) {
    sky.position.copy(up);
    aim.position.copy(centre);
    lamp.position
      .copy(centre)
      .addScaledVector(up, AWAY)
      .addScaledVector(_front, FRONT * AWAY);
    lamp.position.addScaledVector(_side, SIDE * AWAY);
    const { camera } = lamp.shadow;
    if (camera.right === radius) continue;
    Object.assign(camera, {
      left: -radius,
      right: radius,
      bottom: -radius,
      top: radius,
      near: Math.max(DISTANCE - 1.5 * radius, 0.1),
      far: DISTANCE + 3 * radius, // where the ground falls away the shadow lies deeper
    });
    camera.updateProjectionMatrix();
  }
}

/**
 * Where the characters stand and how far they spread. It goes in steps: the shadow's edge does not swim.
 * @param {Figure} figure
 */
function measureCrowd(figure) {
  const centre = new Vector3();
  const heads = Array.from({ length: figure.characters }, (_, c) => new Vector3(...figure.readPosition(0, c)));
  for (const head of heads) centre.add(head);
  centre.divideScalar(heads.length);
  const spread = Math.max(...heads.map((head) => head.distanceTo(centre)));
  return { centre: centre.divideScalar(figure.size), radius: Math.ceil(2 * (spread / figure.size + 0.9)) / 2 };
}

/** The meshes of a file, read once for all views. Each clones the objects, and shares geometries and textures. */

/** @import { GLTF } from "three/addons/loaders/GLTFLoader.js" */

import { Mesh, Texture } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

/** @typedef {{gltf: Promise<GLTF>, users: number}} Shared */

/** @type {Map<ArrayBuffer, Shared>} as long as somebody uses them */
const shared = new Map();

/** The file's meshes; whoever takes them calls `release` once. @param {ArrayBuffer} glb @returns {Promise<GLTF>} */
export function take(glb) {
  const found = shared.get(glb) ?? { gltf: new GLTFLoader().parseAsync(glb, ""), users: 0 };
  found.users += 1;
  shared.set(glb, found);
  return found.gltf;
}

/** @param {ArrayBuffer} glb */
export function release(glb) {
  const found = shared.get(glb);
  if (!found) return;
  found.users -= 1;
  if (found.users > 0) return;
  shared.delete(glb);
  found.gltf.then(dispose, () => {}); // what could not be read has nothing to free
}

/** @param {GLTF} gltf */
function dispose(gltf) {
  /** @type {Set<Texture>} */
  const textures = new Set();
  gltf.scenes.forEach((scene) =>
    scene.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      object.geometry.dispose();
      for (const material of [object.material].flat())
        for (const value of Object.values(material)) if (value instanceof Texture) textures.add(value);
    }),
  );
  for (const texture of textures) {
    /** @type {any} */ (texture.image)?.close?.(); // bitmaps are not collected by themselves
    texture.dispose();
  }
}

// Plays a VRM animation on a VRM model as a web page does, with three.js and three-vrm, and prints where bones are.
//
//     node three_vrm.mjs FOLDER MODEL.vrm ANIMATION.vrma TIMES
//
// FOLDER has node_modules with three, @pixiv/three-vrm and @pixiv/three-vrm-animation. TIMES is a JSON list [s].
// Prints {"rest": {bone: [x, y, z]}, "frames": [{bone: [x, y, z, qx, qy, qz, qw]}]}: world places, and turns since rest.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, model, animation, times] = process.argv.slice(2);
const load = (...parts) => import(pathToFileURL(join(folder, "node_modules", ...parts)).href);
const THREE = await load("three", "build", "three.module.js");
const { GLTFLoader } = await load("three", "examples", "jsm", "loaders", "GLTFLoader.js");
const { VRMLoaderPlugin, VRMUtils } = await load("@pixiv", "three-vrm", "lib", "three-vrm.module.js");
const { VRMAnimationLoaderPlugin, createVRMAnimationClip } = await load(
  "@pixiv",
  "three-vrm-animation",
  "lib",
  "three-vrm-animation.module.js",
);
console.warn = console.error; // standard output is for the answer

// A GLB without pictures, which only a browser decodes, and without meshes: bones are what is asked for.
function bonesOnly(bytes) {
  const length = bytes.readUInt32LE(12);
  const json = JSON.parse(bytes.subarray(20, 20 + length).toString());
  for (const part of ["images", "textures", "samplers", "materials", "meshes", "skins"]) delete json[part];
  for (const node of json.nodes) {
    delete node.mesh;
    delete node.skin;
  }
  const vrm = json.extensions?.VRM;
  if (vrm) {
    vrm.materialProperties = [];
    delete vrm.meta?.texture;
    delete vrm.blendShapeMaster;
    delete vrm.firstPerson;
    delete vrm.secondaryAnimation;
  }
  let text = Buffer.from(JSON.stringify(json));
  text = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, " ")]);
  const rest = bytes.subarray(20 + length);
  const head = Buffer.alloc(20);
  head.write("glTF", 0);
  for (const [at, value] of [2, 20 + text.length + rest.length, text.length, 0x4e4f534a].entries()) {
    head.writeUInt32LE(value, 4 + 4 * at);
  }
  return Buffer.concat([head, text, rest]);
}

function parse(bytes) {
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMLoaderPlugin(parser));
  loader.register((parser) => new VRMAnimationLoaderPlugin(parser));
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return new Promise((resolve, reject) => loader.parse(buffer, "", resolve, reject));
}

const vrm = (await parse(bonesOnly(readFileSync(model)))).userData.vrm;
const [motion] = (await parse(readFileSync(animation))).userData.vrmAnimations;
VRMUtils.rotateVRM0(vrm);

function bones() {
  vrm.scene.updateMatrixWorld(true);
  return Object.fromEntries(
    Object.keys(vrm.humanoid.humanBones).map((name) => {
      const node = vrm.humanoid.getRawBoneNode(name);
      return [name, [node.getWorldPosition(new THREE.Vector3()), node.getWorldQuaternion(new THREE.Quaternion())]];
    }),
  );
}

const rest = bones();
const mixer = new THREE.AnimationMixer(vrm.scene);
mixer.clipAction(createVRMAnimationClip(motion, vrm)).play();
const frames = JSON.parse(times).map((time) => {
  mixer.setTime(time);
  vrm.humanoid.update();
  return Object.fromEntries(
    Object.entries(bones()).map(([name, [place, turn]]) => {
      const since = turn.multiply(rest[name][1].clone().invert());
      return [name, [...place.toArray(), ...since.toArray()]];
    }),
  );
});
const places = Object.fromEntries(Object.entries(rest).map(([name, [place]]) => [name, place.toArray()]));
console.log(JSON.stringify({ rest: places, frames }));

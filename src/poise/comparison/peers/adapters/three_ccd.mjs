// three.js CCDIKSolver as a service: a line of JSON in, a line of JSON out, until the input ends.
// Argument: a folder with node_modules/three.
// First line: {bones: [{offset, turn, hinge, low, high}], tip, tolerance, sweeps}; `turn` is a quaternion x y z w.
//   A ball (hinge: false) stands at its offset, and its quaternion holds `turn` too. A hinge turns about x of a fixed node
//   at `offset` and `turn`; an end of null is none. The answer, when it is warm: {ready}.
// Further lines: {target: [x, y, z], quaternions: [x, y, z, w of each bone ...]}. The answer:
//   {quaternions, microseconds, sweeps, left}: what it found, how long it took, how far from the target it says it is.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const WARM = 300; // sweeps before the first question, for the just-in-time compiler
const folder = `${process.argv[2]}/node_modules/three`;
const load = (path) => import(pathToFileURL(`${folder}/${path}`).href);
const { Bone, Object3D, Skeleton, SkinnedMesh, Vector3 } = await load("build/three.module.js");
const { CCDIKSolver } = await load("examples/jsm/animation/CCDIKSolver.js");
console.warn = () => {}; // it warns of fixed nodes between bones, which it takes all the same

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const asked = async () => {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
};
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

// Bones 0 .. n-1 turn, bone n is the tip, bone n+1 is the target: a child of the mesh, not of the chain.
function makeChain({ bones, tip }) {
  const made = Array.from({ length: bones.length + 2 }, () => new Bone());
  const mesh = new SkinnedMesh();
  let parent = mesh;
  bones.forEach(({ offset, turn, hinge }, i) => {
    const node = hinge ? new Object3D() : made[i];
    node.position.set(...offset);
    if (hinge) node.quaternion.set(...turn).normalize();
    parent.add(node);
    if (hinge) node.add(made[i]);
    parent = made[i];
  });
  made[bones.length].position.set(...tip);
  parent.add(made[bones.length]);
  mesh.add(made[bones.length + 1]);
  mesh.bind(new Skeleton(made));
  const links = bones.map((bone, i) => limited(bone, i)).reverse();
  const ik = { target: bones.length + 1, effector: bones.length, links, iteration: 1 };
  return { mesh, bones: made.slice(0, -2), tip: made.at(-2), target: made.at(-1), solver: new CCDIKSolver(mesh, [ik]) };
}

function limited({ hinge, low, high }, index) {
  const link = { index };
  if (hinge) link.limitation = new Vector3(1, 0, 0);
  if (hinge && low !== null) link.rotationMin = new Vector3(low, 0, 0);
  if (hinge && high !== null) link.rotationMax = new Vector3(high, 0, 0);
  return link;
}

const at = new Vector3();
const goal = new Vector3();
const left = (chain) => at.setFromMatrixPosition(chain.tip.matrixWorld).distanceTo(goal);

// Sweeps until the tip is there, does not move any more, or the cap.
function solve(chain, tolerance, cap) {
  goal.setFromMatrixPosition(chain.target.matrixWorld);
  let distance = left(chain);
  for (let sweep = 0; sweep < cap; sweep++) {
    if (distance <= tolerance) return sweep;
    chain.solver.update();
    const before = distance;
    distance = left(chain);
    if (distance === before) return sweep + 1;
  }
  return cap;
}

function pose(chain, quaternions, target) {
  chain.bones.forEach((bone, i) => {
    bone.quaternion.fromArray(quaternions, 4 * i);
  });
  chain.target.position.set(...target);
  chain.mesh.updateMatrixWorld(true);
}

const task = await asked();
const chain = makeChain(task);
const still = task.bones.flatMap(({ hinge, turn }) => (hinge ? [0, 0, 0, 1] : turn));
for (let i = 0; i < WARM; i += 10) {
  pose(chain, still, [Math.sin(i), Math.cos(2 * i), Math.sin(3 * i)]);
  solve(chain, 0, 10);
}
say({ ready: true });
for (let question = await asked(); question !== null; question = await asked()) {
  pose(chain, question.quaternions, question.target);
  const began = process.hrtime.bigint();
  const sweeps = solve(chain, task.tolerance, task.sweeps);
  const microseconds = Number(process.hrtime.bigint() - began) / 1000;
  say({
    quaternions: chain.bones.flatMap((bone) => bone.quaternion.toArray()),
    microseconds,
    sweeps,
    left: left(chain),
  });
}

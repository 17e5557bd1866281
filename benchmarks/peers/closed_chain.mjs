// Solve chain targets with closed-chain-ik: damped least squares, three angles a bone.
// Input (stdin): {bones, length, tolerance, targets: [[x, y, z], ...], seconds}
// Output (stdout): {quaternions: [[[x, y, z, w] of each bone in the world], ...], microseconds: [...]}. It stops when `seconds` are over.
// Its defaults are for small changes from frame to frame: here it may take longer steps, and more of them.
import { readFileSync } from 'node:fs';
import { Goal } from 'closed-chain-ik/src/core/Goal.js';
import { DOF, Joint } from 'closed-chain-ik/src/core/Joint.js';
import { Link } from 'closed-chain-ik/src/core/Link.js';
import { Solver } from 'closed-chain-ik/src/core/Solver.js';

const task = JSON.parse(readFileSync(0, 'utf8'));
const NEARLY = 0.02; // [rad] that every angle is bent by at the start: straight is a stationary point

const base = new Link();
const joints = [];
let link = base;
for (let i = 0; i <= task.bones; i++) {
  const joint = new Joint();
  if (i < task.bones) joint.setDoF(DOF.EX, DOF.EY, DOF.EZ);
  joint.setPosition(0, i ? task.length : 0, 0);
  link.addChild(joint);
  link = new Link();
  joint.addChild(link);
  joints.push(joint);
}
const goal = new Goal();
goal.setGoalDoF(DOF.X, DOF.Y, DOF.Z);
goal.makeClosure(link);
const solver = new Solver(base);
Object.assign(solver, {
  maxIterations: 200,
  translationConvergeThreshold: 0.99 * task.tolerance, // its own arithmetic is not that of the judge
  translationErrorClamp: (task.bones * task.length) / 2,
  divergeThreshold: Infinity,
  stallThreshold: 1e-9,
});

const turns = joints.slice(0, task.bones);
function world() {
  base.updateMatrixWorld(true);
  const found = turns.map(() => new Float64Array(4));
  turns.forEach((joint, i) => joint.child.getWorldQuaternion(found[i]));
  return found.map((quaternion) => [...quaternion]);
}

function solve(target) {
  for (const joint of turns) joint.setDoFValues(NEARLY, NEARLY, NEARLY);
  goal.setPosition(...target);
  const began = process.hrtime.bigint();
  solver.solve();
  return Number(process.hrtime.bigint() - began) / 1000;
}

for (const target of task.targets.slice(0, 20)) solve(target); // warm the just-in-time compiler
const quaternions = [];
const microseconds = [];
const end = performance.now() + 1000 * task.seconds;
for (const target of task.targets) {
  microseconds.push(solve(target));
  quaternions.push(world());
  if (performance.now() > end) break;
}
process.stdout.write(JSON.stringify({ quaternions, microseconds }));

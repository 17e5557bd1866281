// Solve chain targets with three.js CCDIKSolver.
// Input (stdin): {bones, length, cap, tolerance, sets: {name: {targets: [[x, y, z], ...], warm}}}
// Output (stdout): {name: {quaternions: [[x, y, z, w per bone ...], ...], microseconds: [...]}}
// Imports are found from where this file lies: classic_ccd.py copies it beside a node_modules with `three`.
import { readFileSync } from 'node:fs';
import { Bone, Skeleton, SkinnedMesh, Vector3 } from 'three';
import { CCDIKSolver } from 'three/examples/jsm/animation/CCDIKSolver.js';

const task = JSON.parse(readFileSync(0, 'utf8'));

// Bones 0 .. n-1 turn, bone n is the tip, bone n+1 is the target: a child of the mesh, not of the chain.
function makeChain() {
  const bones = Array.from({ length: task.bones + 2 }, () => new Bone());
  for (let i = 1; i <= task.bones; i++) {
    bones[i].position.y = task.length;
    bones[i - 1].add(bones[i]);
  }
  const mesh = new SkinnedMesh();
  mesh.add(bones[0], bones[task.bones + 1]);
  mesh.bind(new Skeleton(bones));
  const links = Array.from({ length: task.bones }, (_, k) => ({ index: task.bones - 1 - k }));
  const ik = { target: task.bones + 1, effector: task.bones, links, iteration: 1 };
  return { bones, mesh, solver: new CCDIKSolver(mesh, [ik]) };
}

const tip = new Vector3();
const goal = new Vector3();

function solve(chain) {
  const effector = chain.bones[task.bones];
  const target = chain.bones[task.bones + 1];
  goal.setFromMatrixPosition(target.matrixWorld);
  for (let i = 0; i < task.cap; i++) {
    if (tip.setFromMatrixPosition(effector.matrixWorld).distanceTo(goal) <= task.tolerance) return;
    chain.solver.update();
  }
}

function runSet({ targets, warm }) {
  const chain = makeChain();
  const quaternions = [];
  const microseconds = [];
  for (const target of targets) {
    if (!warm) for (const bone of chain.bones) bone.quaternion.identity();
    chain.bones[task.bones + 1].position.set(...target);
    chain.mesh.updateMatrixWorld(true);
    const began = process.hrtime.bigint();
    solve(chain);
    microseconds.push(Number(process.hrtime.bigint() - began) / 1000);
    quaternions.push(chain.bones.slice(0, task.bones).flatMap((bone) => bone.quaternion.toArray()));
  }
  return { quaternions, microseconds };
}

runSet(Object.values(task.sets)[0]); // warm the just-in-time compiler
const answers = Object.fromEntries(Object.entries(task.sets).map(([name, set]) => [name, runSet(set)]));
process.stdout.write(JSON.stringify(answers));

/**
 * Problems of a whole body, put together from its parts. The engine of trees solves them.
 *
 * What Python does in problem/plan.py and problem/frame_packing.py for given goals is done here for the nodes on the
 * ways
 * to some parts, from arrays of viewer/offline/body.py. The kernels are the same, and so are all bits of the answers.
 */

/** @import { PackedBodyMode } from "poise/engine/packed.ts" */

const [HINGE, SLIDE, BALL, MOVE] = [1, 2, 3, 4]; // kinds of nodes, see kernels/layout.py
const POSITION = 0; // kinds of terms
const ROTATION = 1;
const EFFECTOR_ROW = 29;
const U_SIZES = [0, 1, 1, 4, 3]; // of each kind of node
const TARGET_SIZES = [3, 4]; // of each kind of term
const [NODE_ROW, DOF_ROW, LIMIT_ROW, HINGED_BALL_ROW, PART_ROW] = [6, 4, 14, 7, 18];

/**
 * @typedef {object} Goal
 * @property {number} part its number
 * @property {boolean} turns whether its rotation counts, too
 * @property {number[]} offset the point at the target, in the frame of the joint
 * @property {number} weight
 */
/**
 * @typedef {object} Node
 * @property {number} i its number among all nodes
 * @property {number} row of its joint
 * @property {number} kind
 * @property {number} parent number of a node, or -1
 * @property {number} qStart first column of q
 * @property {number} jointKind
 * @property {number} dofCount
 * @property {number} dofStart
 *
 * @typedef {object} Term a position or rotation of a goal
 * @property {number} kind
 * @property {Goal} goal
 * @property {number} column first one of its target in the world
 * @property {number} number of its node among those of the problem
 * @property {number[]} point in the moved frame of its node [file units]
 * @property {ArrayLike<number>} rotation
 *
 * @typedef {object} Layout
 * @property {number[]} parents of the nodes of a problem, by their numbers in it
 * @property {number[]} uStarts
 * @property {number[]} dofStarts
 * @property {number[]} dofCounts
 * @property {number} nu
 * @property {number} nd
 * @property {number} count of nodes
 *
 * @typedef {ReturnType<Tree["pack"]>} Problem
 */

/**
 * Read the arrays of a body by name. They are copies of the page's numbers.
 * @param {PackedBodyMode} packed
 * @param {Uint8Array} numbers
 */
function readArrays(packed, numbers) {
  /** @type {Record<string, Float64Array>} */
  const arrays = {};
  for (const [name, [offset, count]] of Object.entries(packed.arrays))
    arrays[name] = new Float64Array(
      numbers.buffer.slice(numbers.byteOffset + offset, numbers.byteOffset + offset + 8 * count),
    );
  return arrays;
}

/** The power of two at or above a length. Exact. @param {number} length */
function findPower(length) {
  let power = 2 ** Math.ceil(Math.log2(length));
  while (power / 2 >= length) power /= 2;
  while (power < length) power *= 2;
  return power;
}

export class Tree {
  /** @param {PackedBodyMode} packed @param {Uint8Array} numbers */
  constructor(packed, numbers) {
    this.packed = packed;
    this.arrays = readArrays(packed, numbers);
    this.names = packed.names;
    const { nodes } = this.arrays;
    this.count = nodes.length / NODE_ROW;
    let dof = 0;
    /** @type {Node[]} */
    this.nodes = Array.from({ length: this.count }, (_, i) => {
      const [row, kind, parent, qStart, jointKind, dofCount] = nodes.subarray(NODE_ROW * i, NODE_ROW * (i + 1));
      dof += dofCount;
      return { i, row, kind, parent, qStart, jointKind, dofCount, dofStart: dof - dofCount };
    });
  }

  get start() {
    return this.arrays.start;
  }

  /** The row of a part among all joints. @param {string} joint */
  findRow(joint) {
    return this.packed.rows[this.names.indexOf(joint)];
  }

  /** The frame of a part. Its node, and its points and rotation in the moved frame of that. @param {number} number */
  readPart(number) {
    const row = this.arrays.parts.subarray(PART_ROW * number, PART_ROW * (number + 1));
    return { node: row[0], map: row.subarray(1, 13), scale: row[13], rotation: row.subarray(14, 18) };
  }

  /**
   * Pack a problem.
   * @param {Goal[]} goals
   */
  pack(goals) {
    const nodes = this.#select(goals.map((goal) => this.readPart(goal.part).node));
    const numbers = new Map(nodes.map(({ i }, number) => [i, number]));
    const layout = this.#layOut(nodes, numbers);
    let width = 0; // columns of targets in the world
    const terms = goals.flatMap((goal) => {
      const number = numbers.get(this.readPart(goal.part).node) ?? -1;
      const measured = this.#measure(goal);
      return (goal.turns ? [POSITION, ROTATION] : [POSITION]).map((kind) => {
        width += TARGET_SIZES[kind];
        return { kind, goal, number, column: width - TARGET_SIZES[kind], ...measured };
      });
    });
    const ranks = rankDepthFirst(layout.parents);
    terms.sort((a, b) => ranks[a.number] - ranks[b.number]);
    const unit = this.#findUnit(nodes, layout, terms);
    return {
      goals,
      width,
      unit,
      ...layout,
      ...this.#packTerms(terms, layout),
      ...this.#packNodes(nodes, layout, unit),
      effectors: this.#packEffectors(terms, unit),
    };
  }

  /** The nodes that move any of some nodes. @param {number[]} tips */
  #select(tips) {
    const used = new Set();
    for (const tip of tips) for (let i = tip; i >= 0 && !used.has(i); i = this.nodes[i].parent) used.add(i);
    return this.nodes.filter(({ i }) => used.has(i));
  }

  /** @param {Node[]} nodes @param {Map<number, number>} numbers @returns {Layout} */
  #layOut(nodes, numbers) {
    const parents = nodes.map(({ parent }) => numbers.get(parent) ?? -1);
    /** First coordinate and degree of freedom, by the column of q. @type {Map<number, [number, number]>} */
    const shared = new Map();
    /** @type {[number[], number[]]} */
    const [uStarts, dofStarts] = [[], []];
    let [nu, nd] = [0, 0];
    for (const { kind, jointKind, qStart, dofCount } of nodes) {
      const shares = (kind === HINGE || kind === SLIDE) && (jointKind === HINGE || jointKind === SLIDE);
      const [u, dof] = (shares && shared.get(qStart)) || [nu, nd];
      if (shares) shared.set(qStart, [u, dof]);
      uStarts.push(u);
      dofStarts.push(dof);
      nu = Math.max(nu, u + U_SIZES[kind]);
      nd = Math.max(nd, dof + dofCount);
    }
    const dofCounts = nodes.map(({ dofCount }) => dofCount);
    return { parents, uStarts, dofStarts, dofCounts, nu, nd, count: nodes.length };
  }

  /** Measure a goal in the moved frame of its node. The point is in file units. @param {Goal} goal */
  #measure(goal) {
    const { map, scale, rotation } = this.readPart(goal.part);
    const point = [0, 4, 8].map((row) => {
      const sum = map[row] * goal.offset[0] + map[row + 1] * goal.offset[1] + map[row + 2] * goal.offset[2];
      return (sum + map[row + 3]) * scale;
    });
    return { point, rotation };
  }

  /**
   * Length of a kernel unit [file units]. The power of two above the longest bone or point.
   * @param {Node[]} nodes
   * @param {Layout} layout
   * @param {Term[]} terms
   */
  #findUnit(nodes, { parents }, terms) {
    let longest = 0;
    nodes.forEach(({ i }, number) => {
      if (parents[number] < 0) return; // the distance of the first nodes from the base is no measure of a limb
      for (let k = 0; k < 3; k++) longest = Math.max(longest, Math.abs(this.arrays.offsets[3 * i + k]));
    });
    for (const { point } of terms) longest = Math.max(longest, ...point.map(Math.abs));
    return longest > 0 ? findPower(longest) : 1;
  }

  /** @param {Term[]} terms @param {Layout} layout */
  #packTerms(terms, { parents, dofStarts, dofCounts, nd }) {
    const paths = terms.map(({ number }) => {
      /** @type {number[]} */
      const path = [];
      for (let i = number; i >= 0; i = parents[i]) path.unshift(i);
      return path;
    });
    const pathSize = paths.reduce((sum, path) => sum + path.length, 0);
    const targetWidth = terms.reduce((sum, { kind }) => sum + TARGET_SIZES[kind], 0);
    /** @type {[number[], number[]]} */
    const [table, targetColumns] = [[], []];
    const [first, last] = [new Array(nd).fill(3 * terms.length), new Array(nd).fill(0)];
    let [target, begin] = [0, 0];
    terms.forEach(({ kind, number, column }, t) => {
      const end = begin + paths[t].length;
      table.push(kind, number, 3 * t, target, begin, end, 0, 0, 0, 0, -1, pathSize, pathSize, 0, targetWidth);
      targetColumns.push(kind, column, target);
      for (const node of paths[t]) {
        const dofEnd = dofStarts[node] + dofCounts[node];
        for (let dof = dofStarts[node]; dof < dofEnd; dof++) {
          first[dof] = Math.min(first[dof], 3 * t);
          last[dof] = Math.max(last[dof], 3 * t + 3);
        }
      }
      [target, begin] = [target + TARGET_SIZES[kind], end];
    });
    const ranges = first.flatMap((row, dof) => [Math.min(row, last[dof]), last[dof]]);
    return { terms: table, termCount: terms.length, targetWidth, targetColumns, paths: paths.flat(), ranges };
  }

  /** @param {Node[]} nodes @param {Layout} layout @param {number} unit */
  #packNodes(nodes, { parents, uStarts, dofStarts, nd }, unit) {
    const { offsets, rotations, scales, couplings, dofs, limits, hinged_balls: hinged, turning } = this.arrays;
    /** @type {Record<"nodes"|"frames"|"limits"|"dofs", number[]>} */
    const packed = { nodes: [], frames: [], limits: [], dofs: new Array(DOF_ROW * nd).fill(0) };
    /** @type {Record<"shared"|"hingedBalls"|"hingedLimits"|"moves"|"moveScales"|"turning", number[]>} */
    const map = { shared: [], hingedBalls: [], hingedLimits: [], moves: [], moveScales: [], turning: [] };
    const sharedColumns = new Set();
    nodes.forEach((node, number) => {
      const { i, kind, qStart, jointKind } = node;
      const [u, dof] = [uStarts[number], dofStarts[number]];
      const scale = kind === SLIDE || kind === MOVE ? scales[i] / unit : 1;
      packed.nodes.push(parents[number], kind, u, dof);
      packed.frames.push(...offsets.subarray(3 * i, 3 * i + 3).map((x) => x / unit));
      packed.frames.push(
        ...rotations.subarray(4 * i, 4 * i + 4),
        couplings[2 * i] * scale,
        couplings[2 * i + 1] * scale,
      );
      packed.limits.push(...limits.subarray(LIMIT_ROW * i, LIMIT_ROW * (i + 1)));
      for (let k = 0; k < node.dofCount; k++) {
        const [low, high, isNumber, weight] = dofs.subarray(
          DOF_ROW * (node.dofStart + k),
          DOF_ROW * (node.dofStart + k + 1),
        );
        const row = [low, high, isNumber >= 0 ? u : -1, kind === SLIDE ? weight * unit * unit : weight];
        packed.dofs.splice(DOF_ROW * (dof + k), DOF_ROW, ...row);
      }
      const isShared = kind === BALL || ((kind === HINGE || kind === SLIDE) && jointKind < BALL);
      for (let k = 0; isShared && k < U_SIZES[kind]; k++) {
        if (!sharedColumns.has(qStart + k)) map.shared.push(qStart + k, u + k);
        sharedColumns.add(qStart + k);
      }
      if (kind === HINGE && jointKind >= BALL) {
        map.hingedBalls.push(qStart, u);
        map.hingedLimits.push(...hinged.subarray(HINGED_BALL_ROW * i, HINGED_BALL_ROW * (i + 1)));
      }
      if (kind === MOVE) {
        map.moves.push(qStart, u);
        map.moveScales.push(couplings[2 * i] * scale);
      }
      if (turning[3 * i] > 0) map.turning.push(qStart, turning[3 * i + 1], turning[3 * i + 2]);
    });
    return { nodeTable: packed.nodes, frames: packed.frames, dofs: packed.dofs, limits: packed.limits, map };
  }

  /** @param {Term[]} terms @param {number} unit */
  #packEffectors(terms, unit) {
    const { tolerance2 } = this.packed;
    return terms.flatMap(({ kind, goal, point, rotation }) => {
      /** @type {number[]} */
      const row = new Array(EFFECTOR_ROW).fill(0);
      row.splice(0, 3, ...point.map((x) => x / unit));
      row.splice(3, 4, ...(kind === ROTATION ? Array.from(rotation) : [1, 0, 0, 0]));
      row[7] = goal.weight;
      row[8] = kind === ROTATION ? tolerance2[1] : tolerance2[0] / (unit * unit);
      return row;
    });
  }
}

/** Depth-first ranks of nodes. @param {number[]} parents */
function rankDepthFirst(parents) {
  /** @type {number[][]} */
  const children = parents.map(() => []);
  /** @type {number[]} */
  const stack = [];
  parents.forEach((parent, i) => (parent >= 0 ? children[parent] : stack).push(i));
  stack.reverse();
  const ranks = new Array(parents.length).fill(0);
  let rank = 0;
  for (let i = stack.pop(); i !== undefined; i = stack.pop()) {
    ranks[i] = rank;
    rank += 1;
    stack.push(...children[i].reverse());
  }
  return ranks;
}

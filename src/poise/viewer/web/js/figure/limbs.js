/** Which chain a part of the figure belongs to. A press on that part drags the chain's target. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Chain } from "poise/protocol/messages.ts"
 */

/**
 * The chain with the nearest effector of the limb of a joint.
 *
 * A joint belongs to a chain from its root to its tip, below its tip (fingers), beside it as a single bone (a twist
 * bone), or above its root where nothing branches off in between (the shoulder of an arm). A chain that only looks
 * counts where no other does.
 *
 * @param {Figure} figure
 * @param {Chain[]} chains those of the state that can be dragged
 * @param {number} row
 * @returns {Chain|null}
 */
export function findChain(figure, chains, row) {
  /** @type {{chain: Chain|null, looks: boolean, steps: number}} */
  let best = { chain: null, looks: true, steps: Infinity };
  for (const chain of chains) {
    const rows = chain.joints.map((name) => figure.rows.get(name) ?? -1);
    const steps = countSteps(figure, rows, row);
    if (steps === null) continue;
    const looks = chain.kind === "look";
    const nearer = looks === best.looks ? steps < best.steps : best.looks;
    if (best.chain === null || nearer) best = { chain, looks, steps };
  }
  return best.chain;
}

/**
 * Number of joints from a joint to the tip of a chain. Rows go from root to tip; null: it is not of this limb.
 * @param {Figure} figure
 * @param {number[]} rows
 * @param {number} row
 */
function countSteps(figure, rows, row) {
  const last = rows.length - 1;
  const inside = rows.indexOf(row);
  if (inside >= 0) return last - inside;
  const up = listAncestors(figure, row);
  const below = up.indexOf(rows[last]);
  if (below >= 0) return below;
  const beside = rows.indexOf(up[1]);
  if (beside >= 0 && listChildren(figure, row).length === 0) return 1 + last - beside;
  const above = listAncestors(figure, rows[0]);
  const down = above.indexOf(row);
  return down > 0 && !above.slice(1, down + 1).some((each) => hasBranches(figure, each)) ? down + last : null;
}

/** A joint, its parent, and so on up to the root. @param {Figure} figure @param {number} row */
function listAncestors(figure, row) {
  const way = [];
  for (let up = row; up >= 0; up = figure.joints[up].parent) way.push(up);
  return way;
}

/** Whether several limbs hang from a joint; single bones are none. @param {Figure} figure @param {number} row */
function hasBranches(figure, row) {
  return listChildren(figure, row).filter((child) => listChildren(figure, child).length > 0).length > 1;
}

/** The bones that hang from a joint. @param {Figure} figure @param {number} row */
function listChildren({ joints }, row) {
  return joints.flatMap(({ parent, shown }, child) => (parent === row && shown ? [child] : []));
}

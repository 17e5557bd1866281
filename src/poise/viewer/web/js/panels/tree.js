/** The joint tree as an outliner walks it. Which rows there are, how deep, and which of them are to be seen. */

/** @typedef {{name: string, parent: number, shown: boolean}} Joint */

export class Tree {
  /** @param {Joint[]} joints parents first, but not depth first */
  constructor(joints) {
    this.joints = joints;
    /** @type {number[][]} */
    this.children = joints.map(() => []);
    /** @type {number[]} */
    const roots = [];
    joints.forEach(({ parent }, i) => (parent < 0 ? roots : this.children[parent]).push(i));
    /** @type {number[]} depth first, as rows go down the page */
    this.order = [];
    const open = roots.reverse();
    while (open.length) {
      const joint = /** @type {number} */ (open.pop());
      this.order.push(joint);
      for (let c = this.children[joint].length - 1; c >= 0; c -= 1) open.push(this.children[joint][c]);
    }
  }

  /**
   * Depth of each joint's row, or -1 where it is hidden.
   *
   * What a search finds is seen with all above it, whatever is folded. A joint that is no bone is left out unless
   * `helpers`, and what hangs on it moves up by one.
   *
   * @param {{query: string, folded: Set<string>, helpers: boolean}} choice
   * @returns {{depths: Int32Array, parents: Int32Array, leaf: boolean[]}} parents and leaf among what may be seen
   */
  listRows({ query, folded, helpers }) {
    const { joints, order } = this;
    const count = joints.length;
    const kept = this.findRows(query, helpers);
    const parents = new Int32Array(count).fill(-1);
    const depths = new Int32Array(count).fill(-1);
    const closed = new Uint8Array(count); // itself or something above is folded
    const level = new Int32Array(count);
    const leaf = new Array(count).fill(true);
    for (const i of order) {
      const above = joints[i].parent;
      const row = helpers || joints[i].shown;
      parents[i] = above < 0 ? -1 : helpers || joints[above].shown ? above : parents[above];
      level[i] = parents[i] < 0 ? 0 : level[parents[i]] + 1;
      const hidden = above >= 0 && closed[above];
      closed[i] = hidden || (!query && folded.has(joints[i].name)) ? 1 : 0;
      if (!row || !kept[i]) continue;
      if (parents[i] >= 0) leaf[parents[i]] = false;
      if (!hidden) depths[i] = level[i];
    }
    return { depths, parents, leaf };
  }

  /**
   * Which joints a search keeps. Those whose name has every word of it, and all above them.
   * @param {string} query
   * @param {boolean} helpers
   */
  findRows(query, helpers) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = new Uint8Array(this.joints.length);
    for (let r = this.order.length - 1; r >= 0; r -= 1) {
      const i = this.order[r];
      const { name, shown, parent } = this.joints[i];
      const lower = name.toLowerCase();
      if ((shown || helpers) && words.every((word) => lower.includes(word))) kept[i] = 1;
      if (kept[i] && parent >= 0) kept[parent] = 1;
    }
    return kept;
  }
}

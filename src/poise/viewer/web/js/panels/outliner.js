/** The joint tree with search. Selecting here selects in the viewport, and the other way round. */

/**
 * @import { Joint, Model } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { Tree } from "poise/panels/tree.js";
import { makeShortener } from "poise/texts/names.js";
import { chooseChainColour } from "poise/widgets/colours.js";
import { find, makeElement } from "poise/widgets/element.js";
import { makeIcon } from "poise/widgets/icons.js";

const INDENT = 11; // [px] a level
const KINDS = { ball: "ball joint", hinge: "hinge", slide: "slide", free: "free joint", fixed: "fixed" };

export class Outliner {
  /**
   * @param {Store} store
   * @param {{select: (joint: string|null) => void}} commands
   */
  constructor(store, commands) {
    this.store = store;
    this.commands = commands;
    /** @type {Tree|null} */
    this.tree = null;
    /** @type {HTMLElement[]} one per joint */
    this.rows = [];
    /** @type {Set<string>} names of joints */
    this.folded = new Set();
    /** @type {Int32Array} one per joint; -1: not seen */
    this.depths = new Int32Array();
    /** @type {Int32Array} */
    this.parents = new Int32Array();
    this.marked = ""; // what the marks were drawn from
    this.height = 0; // [px] of the list, as it was laid out last
    this.search = makeElement("input", {
      type: "search",
      class: "search",
      placeholder: "Search joints ( / )",
      "aria-label": "Search joints",
      "data-testid": "outliner-search",
      oninput: () => this.refresh(),
    });
    this.helpers = makeElement("input", {
      type: "checkbox",
      "data-testid": "outliner-helpers",
      onchange: () => this.refresh(),
    });
    const title = "Also nodes that are no bones: meshes, armatures, helpers";
    this.all = makeElement("label", { class: "check", title }, this.helpers, "all");
    this.list = makeElement("div", {
      class: "tree",
      role: "tree",
      tabindex: 0,
      "aria-label": "Joints",
      "data-testid": "outliner",
      onclick: (event) => this.click(event),
      onkeydown: (event) => this.walk(event),
    });
    this.none = makeElement("p", { class: "hint", hidden: true }, "No joint has this in its name.");
    this.whole = makeElement(
      "div",
      { class: "outliner" },
      makeElement("div", { class: "outliner-top" }, this.search, this.all),
      this.none,
      this.list,
    );
    new ResizeObserver(() => this.resize()).observe(this.list);
    store.on("model", ({ message }) => this.build(message));
    store.on("selected", (name) => this.choose(name));
    store.on(["state", "answer"], () => this.mark());
  }

  /** @param {Model} model */
  build(model) {
    this.tree = new Tree(model.joints);
    this.folded.clear();
    this.search.value = "";
    this.all.hidden = model.joints.every((joint) => joint.shown);
    const short = makeShortener(model.joints);
    this.rows = model.joints.map((joint, i) => makeRow(joint, i, short(joint.name)));
    this.list.replaceChildren(...this.tree.order.map((i) => this.rows[i]));
    this.marked = "";
    this.refresh();
    this.mark();
    this.choose(this.store.get("selected"));
  }

  /** Show and indent the rows that search and folding leave. */
  refresh() {
    if (!this.tree) return;
    const query = this.search.value.trim();
    const { depths, parents, leaf } = this.tree.listRows({ query, folded: this.folded, helpers: this.helpers.checked });
    this.depths = depths;
    this.parents = parents;
    this.rows.forEach((line, i) => {
      line.hidden = depths[i] < 0;
      if (line.hidden) return;
      line.style.paddingLeft = `${depths[i] * INDENT}px`;
      line.setAttribute("aria-level", String(depths[i] + 1));
      line.classList.toggle("leaf", leaf[i]);
      if (leaf[i]) line.removeAttribute("aria-expanded");
      else line.setAttribute("aria-expanded", String(query !== "" || !this.folded.has(line.dataset.joint ?? "")));
    });
    this.none.hidden = depths.some((depth) => depth >= 0);
  }

  /** @param {string|null} name */
  choose(name) {
    const before = this.list.querySelector(".selected");
    before?.classList.remove("selected");
    before?.setAttribute("aria-selected", "false");
    const i = this.findIndex(name);
    if (i < 0) {
      this.list.removeAttribute("aria-activedescendant");
      return;
    }
    this.reveal(i);
    this.rows[i].classList.add("selected");
    this.rows[i].setAttribute("aria-selected", "true");
    this.rows[i].scrollIntoView({ block: "nearest" });
    this.list.setAttribute("aria-activedescendant", this.rows[i].id);
  }

  /** Keep the chosen row in sight. A panel below that grows with it takes its place. */
  resize() {
    const { list, height } = this;
    this.height = list.clientHeight;
    const chosen = find(".selected", list);
    const top = chosen ? chosen.offsetTop - list.scrollTop : -1;
    if (top >= 0 && top < height) chosen?.scrollIntoView({ block: "nearest" });
  }

  /** @param {string|null} name */
  findIndex(name) {
    return name === null ? -1 : (this.tree?.joints.findIndex((joint) => joint.name === name) ?? -1);
  }

  /** Unfold the rows above. A bone that was clicked in the view is seen here. @param {number} i */
  reveal(i) {
    let changed = false;
    const { joints } = /** @type {Tree} */ (this.tree);
    for (let above = joints[i].parent; above >= 0; above = joints[above].parent) {
      changed = this.folded.delete(joints[above].name) || changed;
    }
    if (changed) this.refresh();
  }

  /** @param {MouseEvent} event */
  click({ target }) {
    const line = target instanceof Element ? target.closest(".joint") : null;
    if (!(line instanceof HTMLElement)) return;
    const { joint = "" } = line.dataset;
    if (target instanceof Element && target.closest(".fold") && !line.classList.contains("leaf")) this.fold(joint);
    else this.commands.select(joint);
  }

  /** @param {string} name @param {boolean} [closed] */
  fold(name, closed = !this.folded.has(name)) {
    if (closed) this.folded.add(name);
    else this.folded.delete(name);
    this.refresh();
  }

  /** Arrow keys as every tree has them. @param {KeyboardEvent} event */
  walk(event) {
    const seen = this.tree?.order.filter((i) => this.depths[i] >= 0) ?? [];
    if (!seen.length) return;
    const { joints } = /** @type {Tree} */ (this.tree);
    const now = this.findIndex(this.store.get("selected"));
    const at = seen.indexOf(now);
    /** @param {number} i */
    const go = (i) => this.commands.select(joints[i].name);
    const open = at >= 0 && this.rows[now].getAttribute("aria-expanded");
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => go(seen[Math.min(at + 1, seen.length - 1)]),
      ArrowUp: () => go(seen[Math.max(at - 1, 0)]),
      Home: () => go(seen[0]),
      End: () => go(seen[seen.length - 1]),
      ArrowLeft: () => {
        if (open === "true") this.fold(joints[now].name, true);
        else if (this.parents[now] >= 0) go(this.parents[now]);
      },
      ArrowRight: () => {
        if (open === "false") this.fold(joints[now].name, false);
        else if (open === "true") go(seen[at + 1]);
      },
    };
    if (!keys[event.key] || (at < 0 && ["ArrowLeft", "ArrowRight"].includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** Chain and limit of a joint, and whether it is at that. Of several views the first counts. */
  mark() {
    const state = this.store.get("state");
    if (!state || !this.rows.length) return;
    const { at_limit = [], resting = [] } = this.store.get("answer")?.views[0] ?? {};
    const atLimit = at_limit.filter((joint) => !resting.includes(joint));
    const chains = state.chains.map((chain) => [chain.joints, chain.enabled, chain.kind]);
    const drawn = JSON.stringify([chains, Object.keys(state.limits), atLimit, state.views]);
    if (drawn === this.marked) return; // answers come many times a second, changes of marks hardly ever
    this.marked = drawn;
    const colours = new Map();
    const pins = new Set();
    state.chains.forEach((chain, c) => {
      if (chain.kind === "pin") pins.add(chain.tip);
      else if (chain.enabled)
        chain.joints.forEach((name) => colours.has(name) || colours.set(name, chooseChainColour(c)));
    });
    const at = new Set(atLimit);
    const marks = state.views > 1 ? "has a limit; amber: at the limit in view A" : "has a limit; amber: at the limit";
    this.rows.forEach((line) => {
      const name = line.dataset.joint ?? "";
      line.querySelector(".limit-mark")?.setAttribute("title", marks);
      const dot = /** @type {HTMLElement} */ (line.querySelector(".chain-dot"));
      dot.style.backgroundColor = colours.get(name) ?? "";
      dot.hidden = !colours.has(name);
      line.classList.toggle("limited", name in state.limits);
      line.classList.toggle("at-limit", at.has(name));
      line.classList.toggle("pinned", pins.has(name));
    });
  }
}

/** @param {Joint} joint @param {number} i @param {string} short */
function makeRow(joint, i, short) {
  return makeElement(
    "div",
    {
      class: `joint${joint.shown ? "" : " helper"}`,
      role: "treeitem",
      "aria-selected": "false",
      id: `joint-${i}`,
      "data-joint": joint.name,
      "data-testid": `joint-${joint.name}`,
    },
    makeElement("span", { class: "fold" }, makeIcon("down")),
    makeElement("span", { class: "kind", title: KINDS[joint.kind] }, makeIcon(joint.kind)),
    makeElement("span", { class: "joint-name", title: joint.name }, short),
    makeElement("span", { class: "chain-dot", hidden: true, title: "in a chain" }),
    makeElement("span", { class: "limit-mark" }),
    makeElement("span", { class: "pin-mark", title: "pinned" }, makeIcon("pin")),
    joint.role ? makeElement("span", { class: "role", title: "humanoid role" }, joint.role) : null,
  );
}

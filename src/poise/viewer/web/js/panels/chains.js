/** The chains. What each wants, how much, and from which joint; new ones by picking root and tip. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { Chain } from "poise/protocol/messages.ts"
 */

import { KINDS, makeNewChain } from "poise/panels/new_chain.js";
import { makeShortener } from "poise/texts/names.js";
import { chooseChainColour } from "poise/widgets/colours.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine, makeNumberField, makeSegments, showNumber, tick } from "poise/widgets/fields.js";
import { makeIcon } from "poise/widgets/icons.js";

const SCOPES = [
  { value: "body", text: "Whole body", testid: "scope-body", title: "Any part: the whole body follows, feet stay" },
  { value: "limbs", text: "Limbs", testid: "scope-limbs", title: "Hands and feet: arms and legs alone follow" },
  { value: "chains", text: "Chains", testid: "scope-chains", title: "The chains below, as you choose them" },
];
const PULLS = new Set(["position", "place"]); // kinds of chains whose pull is shown
const POLE_AWAY = 0.35; // of the figure's size: far enough to be seen beside the knee

/**
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function makeChainsPanel(page) {
  const { store } = page;
  const list = makeElement("ul", { class: "chains" });
  const none = makeElement("p", { class: "hint" }, "No chain yet. Pick a tip, the joint that shall reach, and add it.");
  /** @type {Map<string, {whole: HTMLElement, show: (chain: any, index: number) => void}>} */
  const items = new Map();
  /** @type {Set<string>|null} ids of the chains before */
  let known = null;
  store.on("state", ({ chains, scope }) => {
    const before = known ?? new Set(chains.map(({ id }) => id));
    const [added, ...more] = chains.filter(({ id }) => !before.has(id));
    const alone = added !== undefined && !more.length && chains.length === before.size + 1;
    const one = alone && added.kind !== "pin" ? added.id : null;
    const there = new Set(chains.map((chain) => chain.id));
    for (const [id, item] of items) {
      if (there.has(id)) continue;
      item.whole.remove();
      items.delete(id);
    }
    chains.forEach((chain, i) => {
      if (!items.has(chain.id)) items.set(chain.id, makeChainItem(page, chain.id));
      const item = items.get(chain.id);
      if (item && list.children[i] !== item.whole) list.insertBefore(item.whole, list.children[i] ?? null);
      item?.show(chain, i);
    });
    none.hidden = chains.length > 0;
    known = there;
    const first = scope === "body" ? null : (findFirstDragged(chains)?.id ?? null);
    const active = one ?? (there.has(store.get("active") ?? "") ? store.get("active") : first);
    if (active !== store.get("active")) store.set("active", active);
  });
  store.on("model", () => {
    known = null;
    store.set("active", null); // another rig may have a chain of the same name
  });
  store.on("active", (active) => items.forEach((item, id) => item.whole.classList.toggle("active", id === active)));
  return makeElement("div", {}, makeScopeChoice(page), makeNewChain(page), none, list);
}

/** What a drag on the figure moves. @param {Page} page */
function makeScopeChoice({ store, send }) {
  const { whole, show } = makeSegments("What a drag on the figure moves", SCOPES, (value) =>
    send({ do: "scope", value }),
  );
  store.on("state", ({ scope }) => show(scope));
  return whole;
}

/** @param {Chain[]} chains */
function findFirstDragged(chains) {
  return chains.find((chain) => chain.enabled && chain.kind !== "pin") ?? chains[0];
}

/** @param {Page} page @param {string} id */
function makeChainItem(page, id) {
  const { store, send } = page;
  /** @param {Record<string, unknown>} what */
  const change = (what) => send({ do: "chain_change", chain: id, ...what });
  /** @param {string} what */
  const makeTestId = (what) => `chain-${id}-${what}`;
  const on = tick(
    { "data-testid": makeTestId("enabled"), title: "Is solved for", "aria-label": `Solve for ${id}` },
    (enabled) => change({ enabled }),
  );
  const dot = makeElement("span", { class: "chain-dot" });
  const name = makeElement("button", { type: "button", class: "chain-name", onclick: () => choose(page, id) });
  const remove = makeElement(
    "button",
    {
      type: "button",
      class: "small",
      title: "Remove this chain",
      "aria-label": `Remove ${id}`,
      "data-testid": makeTestId("remove"),
      onclick: () => send({ do: "chain_remove", chain: id }),
    },
    makeIcon("close"),
  );
  const kind = makeElement("select", {
    "data-testid": makeTestId("kind"),
    title: "What is wanted",
    "aria-label": "Kind",
    onchange: () => change({ kind: kind.value }),
  });
  setOptions(kind, KINDS);
  const weight = makeNumberField(
    {
      min: 0,
      required: true,
      "data-testid": makeTestId("weight"),
      "aria-label": "Weight",
      title: "Weight: how much this counts beside the others",
    },
    (value) => change({ weight: value }),
  );
  const pole = tick({ "data-testid": makeTestId("pole") }, (wanted) => setPole(page, id, wanted));
  const ground = tick({ "data-testid": makeTestId("ground") }, (wanted) => change({ ground: wanted }));
  const pull = makeElement("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    "data-testid": makeTestId("pull"),
    onchange: () => change({ pull: Number(pull.value) }),
  });
  const share = makeLine(
    "Pull",
    pull,
    "How far it takes hips and other limbs along: its own limb alone, or everything",
  );
  const whole = makeElement(
    "li",
    { class: "chain", "data-testid": `chain-${id}` },
    makeElement("div", { class: "chain-line" }, on, dot, name, weight, remove),
    makeElement(
      "div",
      { class: "chain-line second" },
      kind,
      check("pole", pole, "A point that the knee or elbow stays on the side of"),
      check("ground", ground, "The target stays on the ground"),
    ),
    share,
  );
  /** @param {Chain} chain @param {number} index */
  const show = (chain, index) => {
    on.checked = chain.enabled;
    dot.style.backgroundColor = chooseChainColour(index);
    const short = makeShortener(store.get("model")?.message.joints ?? []);
    const tip = short(chain.tip);
    const note = chain.kind === "pin" ? " pinned" : ` from ${short(chain.root ?? chain.joints[0])}`;
    const named = chain.id === chain.tip ? [tip] : [short(chain.id), makeElement("span", { class: "unit" }, ` ${tip}`)];
    name.replaceChildren(...named, makeElement("span", { class: "unit" }, note));
    name.title = `${chain.id}: ${chain.joints.join(" → ")}`;
    kind.value = chain.kind;
    showNumber(weight, chain.weight, 3);
    pull.value = String(chain.pull);
    share.hidden = store.get("state")?.scope !== "body" || !PULLS.has(chain.kind);
    pole.checked = chain.pole !== null;
    pole.disabled = chain.joints.length < 3 && chain.pole === null;
    ground.checked = chain.ground && !chain.relative_to;
    ground.disabled = Boolean(chain.relative_to); // its target goes along with a joint
    whole.classList.toggle("off", !chain.enabled);
    whole.classList.toggle("active", store.get("active") === id);
  };
  return { whole, show };
}

/** @param {string} text @param {HTMLElement} box @param {string} title */
function check(text, box, title) {
  return makeElement("label", { class: "check", title }, box, text);
}

/**
 * The chain whose target the numbers and the gizmo are of. Its tip is selected.
 * @param {Page} page
 * @param {string} id
 */
function choose({ store, commands }, id) {
  const chain = store.need("state").chains.find((each) => each.id === id);
  if (chain) commands.select(chain.tip);
  store.set("active", id); // last: another chain may have the same tip
}

/**
 * A new pole stands beside the middle joint. It is on the side to which the chain bends now.
 * @param {Page} page
 * @param {string} id
 * @param {boolean} wanted
 */
function setPole(page, id, wanted) {
  const { store, drags } = page;
  const chain = store.need("state").chains.find((each) => each.id === id);
  if (chain) drags.place({ do: "pole", chain: id, position: wanted ? placePole(page, chain) : null });
}

/** @param {Page} page @param {Chain} chain */
function placePole(page, chain) {
  const { message } = page.store.need("model");
  /** @param {string} name */
  const readPosition = (name) =>
    page.views.viewports[0].readPosition(message.joints.findIndex((joint) => joint.name === name));
  const [first, middle, last] = [0, chain.joints.length >> 1, chain.joints.length - 1].map((i) =>
    readPosition(chain.joints[i]),
  );
  const along = last.map((x, i) => x - first[i]);
  const out = middle.map((x, i) => x - first[i]);
  const share = dot(out, along) / (dot(along, along) || 1);
  let side = out.map((x, i) => x - share * along[i]);
  if (Math.hypot(...side) < 1e-3 * message.size) side = findAcross(along, message.up); // straight: any side will do
  const length = Math.hypot(...side) || 1;
  return middle.map((x, i) => x + (POLE_AWAY * message.size * side[i]) / length);
}

/** @param {number[]} along @param {string} up */
function findAcross(along, up) {
  const [x, y, z] = along;
  const [ux, uy, uz] = ["x", "y", "z"].map((axis) => (axis === up ? 1 : 0));
  const side = [uy * z - uz * y, uz * x - ux * z, ux * y - uy * x];
  return Math.hypot(...side) > 1e-9 ? side : [uz, ux, uy];
}

/** @param {number[]} a @param {number[]} b */
function dot(a, b) {
  return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

/** Making a chain. Root and tip, from lists or by clicking bones, and what it wants. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { Store } from "poise/state/store.js"
 */

import { makeShortener } from "poise/texts/names.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine } from "poise/widgets/fields.js";
import { makeIcon } from "poise/widgets/icons.js";

/** What a chain can want. */
export const KINDS = [
  { value: "position", text: "position", title: "The tip at the target" },
  { value: "place", text: "place", title: "The tip at the target, turned as it is" },
  { value: "direction", text: "direction", title: "The tip at the target, one axis along a direction" },
  { value: "look", text: "look at", title: "An axis of the tip points at the target" },
  { value: "pin", text: "pin", title: "The tip stays where the start pose has it" },
];

const AUTOMATIC = ""; // the value of the root that is found by itself

/**
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function makeNewChain(page) {
  const { store, send } = page;
  const root = makeJointSelect("chain-root", "Root");
  const tip = makeJointSelect("chain-tip", "Tip");
  const kind = makeElement("select", { "data-testid": "chain-kind", "aria-label": "Kind" });
  setOptions(kind, KINDS);
  const add = makeElement(
    "button",
    {
      type: "button",
      "data-testid": "chain-add",
      title: "Add a chain from root to tip",
      onclick: () => send({ do: "chain_add", root: root.value || null, tip: tip.value, kind: kind.value }),
    },
    makeIcon("add"),
    "Add",
  );
  const enable = () => (add.disabled = !tip.value);
  tip.addEventListener("change", enable);
  store.on("model", ({ message }) => {
    const short = makeShortener(message.joints);
    const shown = message.joints.filter((joint) => joint.shown);
    const joints = shown.map(({ name }) => ({ value: name, text: short(name), title: name }));
    setOptions(root, [{ value: AUTOMATIC, text: "automatic" }, ...joints]);
    setOptions(tip, [{ value: "", text: "choose ..." }, ...joints]);
    enable();
  });
  const hint = makeElement("p", { class: "hint picking", hidden: true, role: "status" });
  store.on("picking", (picking) => {
    hint.hidden = !picking;
    if (picking) hint.textContent = `Click the ${picking.what} of the new chain. Esc stops.`;
  });
  return makeElement(
    "details",
    { class: "new-chain" },
    makeElement("summary", { "data-testid": "new-chain" }, "New chain"),
    makeLine("Root", addPick(store, root, "root"), "The first joint that may move"),
    makeLine("Tip", addPick(store, tip, "tip"), "The joint that shall reach"),
    hint,
    makeElement(
      "div",
      { class: "line" },
      makeElement("span", { class: "line-name" }, "Wants"),
      makeElement("span", { class: "pair" }, kind, add),
    ),
  );
}

/** @param {string} testid @param {string} label */
function makeJointSelect(testid, label) {
  return makeElement("select", { "data-testid": testid, "aria-label": label });
}

/**
 * A list of joints, with a button for the next clicked bone.
 * @param {Store} store
 * @param {HTMLSelectElement} select
 * @param {string} what
 */
function addPick(store, select, what) {
  /** @param {string} joint */
  const take = (joint) => {
    select.value = joint;
    select.dispatchEvent(new Event("change"));
  };
  /** @param {Event} event */
  const toggle = (event) => {
    event.preventDefault(); // the label around it would open the list
    store.set("picking", store.get("picking")?.what === what ? null : { what, take });
  };
  const pick = makeElement(
    "button",
    {
      type: "button",
      class: "small",
      title: `Pick the ${what}: then click a bone`,
      "aria-label": `Pick the ${what}`,
      "data-testid": `chain-${what}-pick`,
      onclick: toggle,
    },
    makeIcon("pick"),
  );
  store.on("picking", (picking) => pick.setAttribute("aria-pressed", String(picking?.what === what)));
  return makeElement("span", { class: "pair" }, select, pick);
}

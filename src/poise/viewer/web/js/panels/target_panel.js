/** The active chain. Its target in numbers, the joint it starts at, and which axis of its tip is meant. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { Chain, Dragged } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { countDigits, findLengthUnit, toDegrees, toRadians } from "poise/texts/figures.js";
import { makeShortener } from "poise/texts/names.js";
import { chooseChainColour } from "poise/widgets/colours.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine, makeNumberField, showNumber, tick } from "poise/widgets/fields.js";
import { Euler, Quaternion } from "three";

const AXES = ["x", "y", "z"];
const AUTOMATIC = ""; // the value of the root that is found by itself
const WORLD = ""; // and of a target that is relative to no joint
const RELATIVE = new Set(["position", "place", "direction"]); // kinds of chains that can be

/**
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function makeTargetPanel(page) {
  const { store, drags } = page;
  const findActive = () => store.get("state")?.chains.find((chain) => chain.id === store.get("active")) ?? null;
  /** @param {Record<string, unknown>} what */
  const change = (what) => findActive() && page.send({ do: "chain_change", chain: findActive()?.id, ...what });
  /** @param {Record<string, unknown>} what */
  const placeTarget = (what) => findActive() && drags.place({ do: "target", chain: findActive()?.id, ...what });
  const name = makeElement("p", { class: "target-name" });
  const position = makeVector("Position", "position", (value) => placeTarget({ position: value }));
  const direction = makeVector("Direction", "direction", (value) => placeTarget({ direction: value }));
  const rotation = makeVector("Rotation", "rotation", (value) => placeTarget({ rotation: computeQuaternion(value) }));
  /** @param {number[]} position */
  const putPole = (position) => findActive() && drags.place({ do: "pole", chain: findActive()?.id, position });
  const pole = makeVector("Pole", "pole", putPole);
  const axis = makeVector("Tip axis", "axis", (value) => change({ axis: value }), "Which axis of the tip is meant");
  const root = makeRootChoice(store, (value) => change({ root: value }));
  const frame = frameChoice(store, (value) => change({ relative_to: value }));
  const follow = followBox((value) => change({ follow: value }));
  const rows = [position, direction, rotation, pole, axis, frame, follow, root];
  const whole = makeElement("div", { class: "target" }, name, ...rows.map((row) => row.whole));
  const show = () => {
    const chain = findActive();
    rows.forEach((row) => (row.whole.hidden = !chain));
    name.replaceChildren(...makeTitle(store, chain));
    if (chain) for (const row of [root, frame, follow]) row.show(chain);
    showNumbers(chain);
  };
  /** @param {Chain|null} chain */
  const showNumbers = (chain) => {
    if (!chain) return;
    const model = store.get("model")?.message;
    position.show(chain.position, findLengthUnit(model), countDigits(model));
    direction.whole.hidden = chain.kind !== "direction";
    direction.show(chain.direction, "");
    rotation.whole.hidden = chain.kind !== "place";
    rotation.show(computeAngles(chain.rotation), "deg", 2);
    pole.whole.hidden = !chain.pole;
    if (chain.pole) pole.show(chain.pole, findLengthUnit(model), countDigits(model));
    axis.whole.hidden = chain.kind !== "direction" && chain.kind !== "look";
    axis.show(chain.axis, "");
  };
  store.on(["state", "active", "model"], show);
  store.on("dragged", (drag) => {
    const chain = findActive();
    if (chain && drag.chain === chain.id) showNumbers(applyDrag(chain, drag));
  });
  return whole;
}

/** A chain with what is dragged of it where it is now. @param {Chain} chain @param {Dragged} drag @returns {Chain} */
function applyDrag(chain, { what, position, rotation = chain.rotation, direction = chain.direction }) {
  if (!position) return chain;
  return what === "pole" ? { ...chain, pole: position } : { ...chain, position, rotation, direction };
}

/**
 * The first joint that may move: one of those above the tip.
 * @param {Store} store
 * @param {(value: string|null) => void} change
 */
function makeRootChoice(store, change) {
  const select = makeElement("select", {
    "data-testid": "target-root",
    "aria-label": "Root",
    onchange: () => change(select.value || null),
  });
  /** @param {Chain} chain */
  const show = (chain) => {
    const joints = store.get("model")?.message.joints ?? [];
    const short = makeShortener(joints);
    const above = [];
    for (let i = joints.findIndex(({ name }) => name === chain.tip); i >= 0; i = joints[i].parent) {
      if (joints[i].shown || joints[i].name === chain.root) above.unshift(joints[i].name);
    }
    setOptions(select, [
      { value: AUTOMATIC, text: "automatic" },
      ...above.map((name) => ({ value: name, text: short(name), title: name })),
    ]);
    select.value = chain.root ?? AUTOMATIC;
  };
  return { whole: makeLine("Root", select, "The first joint of the chain that may move"), show };
}

/**
 * The joint in whose moving frame the target is.
 * @param {Store} store
 * @param {(value: string|null) => void} change
 */
function frameChoice(store, change) {
  const select = makeElement("select", {
    "data-testid": "target-relative",
    "aria-label": "Relative to",
    onchange: () => change(select.value || null),
  });
  /** @param {Chain} chain */
  const show = (chain) => {
    whole.hidden = !RELATIVE.has(chain.kind);
    const joints = store.get("model")?.message.joints ?? [];
    const short = makeShortener(joints);
    const others = joints.filter(
      (joint) => joint.name !== chain.tip && (joint.shown || joint.name === chain.relative_to),
    );
    setOptions(select, [
      { value: WORLD, text: "world" },
      ...others.map(({ name }) => ({ value: name, text: short(name), title: name })),
    ]);
    select.value = chain.relative_to ?? WORLD;
  };
  const whole = makeLine(
    "Relative to",
    select,
    "The target is in the moving frame of this joint, and so are its numbers",
  );
  return { whole, show };
}

/** Whether the other side of a relative target stays still. @param {(value: boolean) => void} change */
function followBox(change) {
  const box = tick({ "data-testid": "target-follow" }, change);
  const whole = makeLine("Follow", box, "Only this side moves; the joint that the target is relative to stays still");
  /** @param {Chain} chain */
  const show = (chain) => {
    whole.hidden = !chain.relative_to;
    box.checked = chain.follow;
  };
  return { whole, show };
}

/** @param {Store} store @param {Chain|null} chain */
function makeTitle(store, chain) {
  if (!chain) return [store.get("state")?.scope === "body" ? "Nothing is pulled." : "No chain: add one on the left."];
  const index = store.need("state").chains.indexOf(chain);
  const dot = makeElement("span", { class: "chain-dot" });
  dot.style.backgroundColor = chooseChainColour(index);
  const short = makeShortener(store.get("model")?.message.joints ?? []);
  const tip = makeElement("span", { class: "unit", title: chain.tip }, chain.id === chain.tip ? "" : short(chain.tip));
  return [dot, short(chain.id), tip];
}

/**
 * Three numbers in a row; any of them changed sends all three.
 * @param {string} text
 * @param {string} testid
 * @param {(value: number[]) => void} change
 * @param {string} [title]
 */
function makeVector(text, testid, change, title = "") {
  const unit = makeElement("span", { class: "unit" });
  let shown = [0, 0, 0];
  const fields = AXES.map((axis, i) =>
    makeNumberField(
      { required: true, "data-testid": `target-${testid}-${axis}`, "aria-label": `${text} ${axis}`, title: axis },
      (value) => change(shown.map((old, j) => (i === j ? (value ?? old) : old))),
    ),
  );
  const name = makeElement("span", { class: "line-name", title }, text, " ", unit);
  const whole = makeElement("div", { class: "vector" }, name, ...fields);
  /** @param {number[]} values @param {string} unitText @param {number} [digits] */
  const show = (values, unitText, digits = 4) => {
    shown = values;
    unit.textContent = unitText;
    fields.forEach((field, i) => {
      showNumber(field, values[i], digits);
      field.title = `${AXES[i]}: ${values[i]} ${unitText}`; // with all digits
    });
  };
  return { whole, show };
}

/** w x y z to degrees about turned axes, and back. @param {number[]} numbers */
function computeAngles([w, x, y, z]) {
  const euler = new Euler().setFromQuaternion(new Quaternion(x, y, z, w), "XYZ");
  return [euler.x, euler.y, euler.z].map(toDegrees);
}

/** @param {number[]} degrees */
function computeQuaternion(degrees) {
  const [x, y, z] = degrees.map(toRadians);
  const turn = new Quaternion().setFromEuler(new Euler(x, y, z, "XYZ"));
  return [turn.w, turn.x, turn.y, turn.z];
}

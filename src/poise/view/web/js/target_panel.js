/** The target of the active chain in numbers. */

import { chainColour } from "poise/colours.js";
import { element } from "poise/element.js";
import { numberField, showNumber } from "poise/fields.js";
import { lengthUnit, toDegrees, toRadians } from "poise/figures.js";
import { dragged } from "poise/views.js";
import { Euler, Quaternion } from "three";

const AXES = ["x", "y", "z"];

/**
 * @param {import("poise/commands.js").Page} page
 * @returns {HTMLElement}
 */
export function targetPanel(page) {
  const { store, drags } = page;
  const chainOf = (state) => state?.chains.find((chain) => chain.id === store.get("active")) ?? null;
  const active = () => chainOf(store.get("state"));
  const place = (what) => active() && drags.place({ do: "target", chain: active().id, ...what });
  const name = element("p", { class: "target-name" });
  const position = vector("Position", "position", (value) => place({ position: value }));
  const direction = vector("Direction", "direction", (value) => place({ direction: value }));
  const rotation = vector("Rotation", "rotation", (value) => place({ rotation: quaternion(value) }));
  const putPole = (position) => active() && drags.place({ do: "pole", chain: active().id, position });
  const pole = vector("Pole", "pole", putPole);
  const rows = [position, direction, rotation, pole];
  const whole = element("div", { class: "target" }, name, ...rows.map((row) => row.whole));
  const show = () => {
    const chain = active();
    rows.forEach((row) => (row.whole.hidden = !chain));
    name.replaceChildren(...title(store, chain));
    showNumbers(chain);
  };
  const showNumbers = (chain) => {
    if (!chain) return;
    position.show(chain.position, lengthUnit(store.get("model")?.message));
    direction.whole.hidden = chain.kind !== "direction";
    direction.show(chain.direction, "");
    rotation.whole.hidden = chain.kind !== "place";
    rotation.show(angles(chain.rotation), "deg", 2);
    pole.whole.hidden = !chain.pole;
    if (chain.pole) pole.show(chain.pole, lengthUnit(store.get("model")?.message));
  };
  store.on(["state", "active", "model"], show);
  store.on("dragged", (drag) => showNumbers(chainOf(dragged(store.get("state"), drag))));
  return whole;
}

function title(store, chain) {
  if (!chain) return ["No chain: add one on the left."];
  const index = store.get("state").chains.indexOf(chain);
  const dot = element("span", { class: "chain-dot" });
  dot.style.backgroundColor = chainColour(index);
  return [dot, `Effector ${chain.tip}`];
}

/** Three numbers in a row; any of them changed sends all three. */
function vector(text, testid, change) {
  const unit = element("span", { class: "unit" });
  let shown = [0, 0, 0];
  const fields = AXES.map((axis, i) =>
    numberField(
      { "data-testid": `target-${testid}-${axis}`, "aria-label": `${text} ${axis}`, title: axis },
      (value) => value !== null && change(shown.map((old, j) => (i === j ? value : old))),
    ),
  );
  const name = element("span", { class: "line-name" }, text, " ", unit);
  const whole = element("div", { class: "vector" }, name, ...fields);
  const show = (values, unitText, places = 4) => {
    shown = values;
    unit.textContent = unitText;
    fields.forEach((field, i) => showNumber(field, values[i], places));
  };
  return { whole, show };
}

/** w x y z to degrees about x, y, z (turned axes), and back. */
function angles([w, x, y, z]) {
  const euler = new Euler().setFromQuaternion(new Quaternion(x, y, z, w), "XYZ");
  return [euler.x, euler.y, euler.z].map(toDegrees);
}

function quaternion(degrees) {
  const [x, y, z] = degrees.map(toRadians);
  const turn = new Quaternion().setFromEuler(new Euler(x, y, z, "XYZ"));
  return [turn.w, turn.x, turn.y, turn.z];
}

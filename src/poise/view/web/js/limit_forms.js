/** The fields of each kind of limit, and the way between what is typed (degrees, file units) and what is sent. */

import { element, setOptions } from "poise/element.js";
import { line, numberField, showNumber } from "poise/fields.js";
import { toDegrees, toRadians } from "poise/figures.js";

const ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"];
const FULL = 180; // [deg] a swing of half a turn forbids nothing

/**
 * @typedef {object} Form
 * @property {HTMLElement} whole
 * @property {(limit: any) => void} show
 * @property {() => any} read the limit as it is sent
 */

/** Which limits a joint can have. */
export const TYPES = {
  hinge: [{ value: "range", text: "range" }],
  slide: [{ value: "range", text: "range" }],
  ball: [
    { value: "hinge", text: "hinge with a range" },
    { value: "swing_twist", text: "swing and twist" },
    { value: "euler", text: "Euler ranges" },
  ],
  free: [],
  fixed: [],
};

/** The type of the form that shows a limit: a range with an axis makes a hinge of a ball. */
export function typeOf(limit) {
  return limit?.type === "range" && limit.axis ? "hinge" : limit?.type;
}

/**
 * @param {string} type one of TYPES
 * @param {{kind: string, bone: number[]}} joint
 * @returns {Form}
 */
export function limitForm(type, joint) {
  const forms = { range: rangeForm, hinge: hingeForm, swing_twist: swingTwistForm, euler: eulerForm };
  return forms[type](joint);
}

function rangeForm(joint) {
  const scale = joint.kind === "slide" ? asItIs : degrees;
  const ends = endsLine("Range", "limit", scale);
  const show = (limit) => ends.show([limit?.low ?? null, limit?.high ?? null]);
  const read = () => ({ type: "range", low: ends.read()[0], high: ends.read()[1], axis: null });
  return { whole: element("div", {}, ends.whole), show, read };
}

function hingeForm() {
  const ends = endsLine("Range", "limit", degrees);
  const axis = vectorLine("Axis", "limit-axis");
  const show = (limit) => {
    ends.show([limit?.low ?? null, limit?.high ?? null]);
    axis.show(limit?.axis ?? [1, 0, 0]);
  };
  const read = () => ({ type: "range", low: ends.read()[0], high: ends.read()[1], axis: axis.read() });
  return { whole: element("div", {}, axis.whole, ends.whole), show, read };
}

function swingTwistForm(joint) {
  const axis = vectorLine("Twist axis", "limit-axis");
  const first = endsLine("Swing 1", "limit-swing-1", degrees);
  const second = endsLine("Swing 2", "limit-swing-2", degrees);
  const twist = endsLine("Twist", "limit-twist", degrees);
  let across = null; // not edited here, and not lost either
  const show = (limit) => {
    across = limit?.across ?? null;
    const [a, b] = swingSides(limit?.swing ?? toRadians(45));
    axis.show(limit?.axis ?? alongBone(joint.bone));
    first.show(a);
    second.show(b);
    twist.show(limit?.twist ?? [null, null]);
  };
  const half = ([low, high]) => [low ?? toRadians(-FULL), high ?? toRadians(FULL)];
  const read = () => ({
    type: "swing_twist",
    axis: axis.read(),
    across,
    swing: [half(first.read()), half(second.read())],
    twist: twist.read(),
  });
  return { whole: element("div", {}, axis.whole, first.whole, second.whole, twist.whole), show, read };
}

function eulerForm() {
  const order = element("select", { "data-testid": "limit-order", "aria-label": "Order", onchange: () => rename() });
  setOptions(
    order,
    ORDERS.map((each) => ({ value: each, text: each })),
  );
  const ends = [1, 2, 3].map((i) => endsLine("", `limit-${i}`, degrees));
  const rename = () => ends.forEach((each, i) => (each.name.textContent = `About ${order.value[i].toLowerCase()}`));
  const show = (limit) => {
    order.value = limit?.order ?? "XYZ";
    rename();
    ends.forEach((each, i) => each.show(limit?.ranges[i] ?? [null, null]));
  };
  const read = () => ({ type: "euler", order: order.value, ranges: ends.map((each) => each.read()) });
  return { whole: element("div", {}, line("Order", order), ...ends.map((each) => each.whole)), show, read };
}

// --- lines ---------------------------------------------------------------------------------------------------------

const degrees = { shown: toDegrees, read: toRadians, unit: "deg" };
const asItIs = { shown: (value) => value, read: (value) => value, unit: "" };

/** Low and high; an empty one is no limit on that side. */
function endsLine(text, testid, scale) {
  const name = element("span", { class: "line-name" }, text);
  const field = (end) =>
    numberField(
      {
        placeholder: "none",
        "data-testid": `${testid}-${end}`,
        "aria-label": `${text || "Angle"} ${end}`,
        title: scale.unit,
      },
      () => {},
    );
  const fields = [field("low"), field("high")];
  const whole = element(
    "div",
    { class: "line" },
    name,
    element("span", { class: "pair" }, fields[0], "to", fields[1], element("span", { class: "unit" }, scale.unit)),
  );
  const show = (ends) => ends.forEach((end, i) => showNumber(fields[i], end === null ? null : scale.shown(end), 3));
  const read = () => fields.map((each) => (each.value === "" ? null : scale.read(Number(each.value))));
  return { whole, name, show, read };
}

function vectorLine(text, testid) {
  const fields = ["x", "y", "z"].map((axis) =>
    numberField({ "data-testid": `${testid}-${axis}`, "aria-label": `${text} ${axis}`, title: axis }, () => {}),
  );
  const whole = element("div", { class: "vector" }, element("span", { class: "line-name" }, text), ...fields);
  const show = (values) => values.forEach((value, i) => showNumber(fields[i], value, 4));
  const read = () => fields.map((each) => Number(each.value));
  return { whole, show, read };
}

/** One half-angle, two, or two pairs: all as two pairs. */
function swingSides(swing) {
  const both = Array.isArray(swing) ? swing : [swing, swing];
  return both.map((side) => (Array.isArray(side) ? side : [-side, side]));
}

/** The coordinate axis that a bone is most along. */
function alongBone(bone) {
  const sizes = bone.map(Math.abs);
  const most = sizes.indexOf(Math.max(...sizes));
  return [0, 1, 2].map((i) => (i === most ? 1 : 0));
}

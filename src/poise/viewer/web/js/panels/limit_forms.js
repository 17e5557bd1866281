/** The fields of each kind of limit. Typed numbers are degrees and file units. */

/** @import { Ends, Limit } from "poise/protocol/messages.ts" */

import { toDegrees, toRadians } from "poise/texts/figures.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine, makeNumberField, showNumber } from "poise/widgets/fields.js";
import { Quaternion, Vector3 } from "three";

const ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"];
const BENT = 0.05; // sine of the angle from which a limb is bent
const STRAIGHT = 0.99; // this near a coordinate axis it is meant
const FULL = 180; // [deg] a swing of half a turn forbids nothing

/**
 * @typedef {{whole: HTMLElement, findProblem: () => string|null}} Line
 *
 * @typedef {{lines: Line[], show: (limit: any) => void, read: () => any}} Lines of a form
 *
 * @typedef {object} Form
 * @property {HTMLElement} whole
 * @property {(limit: any) => void} show
 * @property {() => any} read the limit as it is sent
 * @property {() => string|null} findProblem what is typed that is no limit
 *
 * @typedef {{kind: string, bone: number[], A: number[]}} Joint
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

/**
 * The type of the form that shows a limit. A range with an axis makes a hinge of a ball.
 * @param {Limit|null} limit
 */
export function readType(limit) {
  return limit?.type === "range" && limit.axis ? "hinge" : limit?.type;
}

/**
 * @param {string} type one of TYPES
 * @param {Joint} joint
 * @param {Joint|null} parent
 * @returns {Form}
 */
export function makeLimitForm(type, joint, parent) {
  const { lines, show, read } = FORMS[type](joint, parent);
  const whole = makeElement("div", {}, ...lines.map((each) => each.whole));
  const findProblem = () => lines.map((each) => each.findProblem()).find((text) => text !== null) ?? null;
  return { whole, show, read, findProblem };
}

/** @param {Joint} joint */
function makeRangeForm(joint) {
  const scale = joint.kind === "slide" ? asItIs : degrees;
  const ends = makeEndsLine("Range", "limit", scale);
  /** @param {any} limit */
  const show = (limit) => ends.show([limit?.low ?? null, limit?.high ?? null]);
  const read = () => ({ type: "range", low: ends.read()[0], high: ends.read()[1], axis: null });
  return { lines: [ends], show, read };
}

/** @param {Joint} joint @param {Joint|null} parent */
function makeHingeForm(joint, parent) {
  const ends = makeEndsLine("Range", "limit", degrees);
  const axis = makeVectorLine("Axis", "limit-axis");
  /** @param {any} limit */
  const show = (limit) => {
    ends.show([limit?.low ?? null, limit?.high ?? null]);
    axis.show(limit?.axis ?? findHingeAxis(joint, parent));
  };
  const read = () => ({ type: "range", low: ends.read()[0], high: ends.read()[1], axis: axis.read() });
  return { lines: [axis, ends], show, read };
}

/** @param {Joint} joint */
function makeSwingTwistForm(joint) {
  const axis = makeVectorLine("Twist axis", "limit-axis");
  const first = makeEndsLine("Swing 1", "limit-swing-1", degrees);
  const second = makeEndsLine("Swing 2", "limit-swing-2", degrees);
  const twist = makeEndsLine("Twist", "limit-twist", degrees);
  /** @type {number[]|null} */
  let across = null; // not edited here, and not lost either
  /** @param {any} limit */
  const show = (limit) => {
    across = limit?.across ?? null;
    const [a, b] = readSwingSides(limit?.swing ?? toRadians(45));
    axis.show(limit?.axis ?? pointAlongBone(joint.bone));
    first.show(a);
    second.show(b);
    twist.show(limit?.twist ?? [null, null]);
  };
  /** @param {Ends} of */
  const fillEnds = ([low, high]) => [low ?? toRadians(-FULL), high ?? toRadians(FULL)];
  const read = () => ({
    type: "swing_twist",
    axis: axis.read(),
    across,
    swing: [fillEnds(first.read()), fillEnds(second.read())],
    twist: twist.read(),
  });
  return { lines: [axis, first, second, twist], show, read };
}

function makeEulerForm() {
  const order = makeElement("select", {
    "data-testid": "limit-order",
    "aria-label": "Order",
    onchange: () => rename(),
  });
  setOptions(
    order,
    ORDERS.map((each) => ({ value: each, text: each })),
  );
  const ends = [1, 2, 3].map((i) => makeEndsLine("", `limit-${i}`, degrees));
  const rename = () => ends.forEach((each, i) => (each.name.textContent = `About ${order.value[i].toLowerCase()}`));
  /** @param {any} limit */
  const show = (limit) => {
    order.value = limit?.order ?? "XYZ";
    rename();
    ends.forEach((each, i) => each.show(limit?.ranges[i] ?? [null, null]));
  };
  const read = () => ({ type: "euler", order: order.value, ranges: ends.map((each) => each.read()) });
  const orderLine = { whole: makeLine("Order", order), findProblem: () => null };
  return { lines: [orderLine, ...ends], show, read };
}

/** @type {Record<string, (joint: Joint, parent: Joint|null) => Lines>} */
const FORMS = { range: makeRangeForm, hinge: makeHingeForm, swing_twist: makeSwingTwistForm, euler: makeEulerForm };

// --- lines ---------------------------------------------------------------------------------------------------------

/** @typedef {{shown: (value: number) => number, read: (value: number) => number, unit: string}} Scale of a field */

/** @type {Scale} */
const degrees = { shown: toDegrees, read: toRadians, unit: "deg" };
/** @type {Scale} */
const asItIs = { shown: (value) => value, read: (value) => value, unit: "" };

/**
 * Low and high; an empty one is no limit on that side.
 * @param {string} text
 * @param {string} testid
 * @param {Scale} scale
 */
function makeEndsLine(text, testid, scale) {
  const name = makeElement("span", { class: "line-name" }, text);
  /** @param {"low"|"high"} end */
  const makeField = (end) =>
    makeNumberField(
      {
        placeholder: "none",
        "data-testid": `${testid}-${end}`,
        "aria-label": `${text || "Angle"} ${end}`,
        title: scale.unit,
      },
      () => {},
    );
  const fields = [makeField("low"), makeField("high")];
  const whole = makeElement(
    "div",
    { class: "line" },
    name,
    makeElement(
      "span",
      { class: "pair" },
      fields[0],
      "to",
      fields[1],
      makeElement("span", { class: "unit" }, scale.unit),
    ),
  );
  /** @param {Ends} ends */
  const show = (ends) => ends.forEach((end, i) => showNumber(fields[i], end === null ? null : scale.shown(end), 3));
  const read = () => fields.map((each) => (each.value === "" ? null : scale.read(Number(each.value))));
  const findProblem = () => {
    if (fields.some((each) => each.validity.badInput)) return `${name.textContent}: both ends are numbers, or empty`;
    const [low, high] = fields.map((each) => each.value);
    if (low === "" || high === "" || Number(low) <= Number(high)) return null;
    return `${name.textContent}: the low end, ${low} ${scale.unit}, is above the high end, ${high} ${scale.unit}`;
  };
  return { whole, name, show, read, findProblem };
}

/** @param {string} text @param {string} testid */
function makeVectorLine(text, testid) {
  const fields = ["x", "y", "z"].map((axis) =>
    makeNumberField(
      { required: true, "data-testid": `${testid}-${axis}`, "aria-label": `${text} ${axis}`, title: axis },
      () => {},
    ),
  );
  const whole = makeElement("div", { class: "vector" }, makeElement("span", { class: "line-name" }, text), ...fields);
  /** @param {number[]} values */
  const show = (values) => values.forEach((value, i) => showNumber(fields[i], value, 4));
  const read = () => fields.map((each) => Number(each.value));
  const findProblem = () => {
    if (fields.some((each) => !each.validity.valid)) return `${text}: three numbers, x, y and z`;
    return fields.every((each) => Number(each.value) === 0) ? `${text}: three zeros are no direction` : null;
  };
  return { whole, show, read, findProblem };
}

/** One half-angle, two, or two pairs: all as two pairs. @param {number|number[]|number[][]} swing */
function readSwingSides(swing) {
  const both = Array.isArray(swing) ? swing : [swing, swing];
  return both.map((side) => (Array.isArray(side) ? side : [-side, side]));
}

/** The coordinate axis that a bone is most along. @param {number[]} bone */
function pointAlongBone(bone) {
  const sizes = bone.map(Math.abs);
  return makeUnit(sizes.indexOf(Math.max(...sizes)));
}

/**
 * What a joint bends about if it is a hinge. Across the plane in which its limb is bent, else across its bone.
 * @param {Joint} joint
 * @param {Joint|null} parent
 */
function findHingeAxis({ bone, A }, parent) {
  const sizes = bone.map(Math.abs);
  const across = makeUnit(sizes.indexOf(Math.min(...sizes)));
  const [w, ...turn] = A.slice(3);
  const before = new Vector3(...(parent?.bone ?? [0, 0, 0])).applyQuaternion(new Quaternion(...turn, w).invert());
  const own = new Vector3(...bone);
  const normal = before.clone().cross(own);
  if (normal.length() <= BENT * before.length() * own.length()) return across;
  const found = normal.normalize().toArray();
  const most = found.findIndex((value) => Math.abs(value) > STRAIGHT);
  return most < 0 ? found : makeUnit(most).map((value) => value * Math.sign(found[most]));
}

/** @param {number} i */
function makeUnit(i) {
  return [0, 1, 2].map((k) => (k === i ? 1 : 0));
}

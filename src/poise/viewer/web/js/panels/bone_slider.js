/** The value of the selected hinge or slide on a slider, between the ends of its limit. */

import { keyed } from "poise/timeline/keying.js";
import { element } from "poise/widgets/element.js";
import { line } from "poise/widgets/fields.js";

const HALF = Math.PI;

/**
 * @param {any} page
 * @returns {HTMLElement}
 */
export function boneSlider(page) {
  const { store } = page;
  let held = false;
  let phase = "start";
  const send = (last) => {
    const joint = store.get("selected");
    const action = { do: "turn", joint, value: Number(slider.value), ...keyed(page, "turn", phase) };
    page.drags.drag({ ...action, phase: last ? "end" : phase });
    phase = last ? "start" : "move";
  };
  const slider = element("input", {
    type: "range",
    step: "any",
    "data-testid": "bone-slider",
    "aria-label": "Value of the selected joint",
    oninput: () => {
      held = true;
      send(false);
    },
    onchange: () => {
      held = false;
      send(true);
    },
  });
  const whole = line("Value", slider, "Turn or push the joint, as far as its limit lets it");
  store.on(["selected", "model", "state", "answer"], () => {
    const { joint, limit } = chosen(store);
    const ends = endsOf(joint, limit, store.get("model")?.message.size ?? 1);
    whole.hidden = ends === null || store.get("state")?.driven === true;
    if (ends === null || held) return;
    [slider.min, slider.max] = ends.map(String);
    const { selected } = store.get("answer") ?? {};
    if (selected?.joint === joint.name) slider.value = String(standsAt(joint, limit, selected.values));
  });
  return whole;
}

function chosen(store) {
  const name = store.get("selected");
  const joint = store.get("model")?.message.joints.find((each) => each.name === name) ?? null;
  return { joint, limit: store.get("state")?.limits[name] ?? null };
}

/** Where the slider ends; null for a joint that has no single value. */
function endsOf(joint, limit, size) {
  const single = ["hinge", "slide"].includes(joint?.kind) || (joint?.kind === "ball" && limit?.axis && isRange(limit));
  if (!single) return null;
  const far = joint.kind === "slide" ? size : HALF;
  return [limit?.low ?? -far, limit?.high ?? far];
}

function isRange(limit) {
  return limit.type === "range";
}

/** Of a ball that is a hinge the angle about its axis. */
function standsAt(joint, limit, values) {
  if (joint.kind !== "ball") return values[0];
  const [w, ...turn] = values;
  const angle =
    2 *
    Math.atan2(
      turn.reduce((sum, value, k) => sum + value * limit.axis[k], 0),
      w,
    );
  return angle > HALF ? angle - 2 * HALF : angle < -HALF ? angle + 2 * HALF : angle;
}

// Everything beside the picture: scenes, methods, and what the last answer was.

const METRES_TO_MILLIMETRES = 1000;
const DEGREES = 180 / Math.PI;
const REACH_SENTENCES = {
  far: "Not reached: the target is farther away than the arm is long.",
  near: "Not reached: the target is nearer than the arm can fold.",
};

/** Return the element with an id. */
export const find = (id) => document.getElementById(id);

/** Make radio buttons {value, title, note, disabled} in an element. */
export function makeChoices(element, name, choices, onChoose) {
  element.replaceChildren(
    ...choices.map(({ value, title, note, disabled }) => {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), {
        type: "radio",
        name,
        value,
        disabled: !!disabled,
      });
      const text = Object.assign(document.createElement("span"), { className: "title", textContent: title });
      label.append(input, text);
      if (note) {
        const reason = Object.assign(document.createElement("small"), {
          textContent: note,
          id: `${name}-${value}-note`,
        });
        input.setAttribute("aria-describedby", reason.id);
        label.append(reason);
      }
      input.addEventListener("change", () => onChoose(value));
      return label;
    }),
  );
}

/** Check a radio button. */
export function choose(name, value) {
  for (const input of document.getElementsByName(name)) input.checked = input.value === value;
}

/** Say a duration as exactly as the clock of the browser can. */
export function sayDuration(milliseconds, clockStep) {
  if (milliseconds < clockStep) return `under ${sayNumber(clockStep)} ms`;
  return `${sayNumber(milliseconds)} ms`;
}

function sayNumber(value) {
  return value < 0.095 ? value.toFixed(3) : value < 9.95 ? value.toFixed(1) : value.toFixed(0);
}

/** Say a length [m] in millimetres. */
export function sayLength(metres) {
  const value = metres * METRES_TO_MILLIMETRES;
  if (value < 0.001) return "under 0.001 mm";
  return `${value < 10 ? value.toFixed(3) : value.toFixed(0)} mm`;
}

/** Say an angle [rad] in degrees. */
export function sayAngle(radians) {
  const value = radians * DEGREES;
  return value < 0.001 ? "under 0.001°" : `${value.toFixed(value < 10 ? 3 : 1)}°`;
}

/** Say in a sentence how a solve ended. */
export function sayOutcome(answer, reach, limitedNames) {
  if (answer.reached) return limitedNames.length ? `Reached, with ${sayJoints(limitedNames)} at a stop.` : "Reached.";
  if (reach) return REACH_SENTENCES[reach];
  if (limitedNames.length) return `Not reached: the nearest pose found has ${sayJoints(limitedNames)} at a stop.`;
  return "Not reached: this is the nearest pose that the method found.";
}

function sayJoints(names) {
  return `the ${names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0]}`;
}

/** Show an answer. */
export function showAnswer(answer, scene, limitedNames, clockStep) {
  const reach = scene.findReach(answer.target);
  const outcome = find("outcome");
  const sentence = sayOutcome(answer, reach, limitedNames);
  if (outcome.textContent !== sentence) outcome.textContent = sentence; // screen readers read every change
  outcome.dataset.reached = answer.reached;
  find("distance").textContent = sayLength(answer.errors[0]);
  find("angle-row").hidden = answer.errors.length < 2;
  if (answer.errors.length > 1) find("angle").textContent = sayAngle(answer.errors[1]);
  find("iterations").textContent = answer.iterations;
  find("time").textContent = sayDuration(answer.milliseconds, clockStep);
}

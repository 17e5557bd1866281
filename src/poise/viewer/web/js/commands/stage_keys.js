/** The keys of a view that has the focus. What they choose, move, turn and look at. */

const ZOOM = 1.1; // of the distance

/**
 * @typedef {object} StageKey
 * @property {string} keys as in shortcuts.js
 * @property {string} text
 * @property {"choose"|"move"|"turn"|"orbit"|"pan"|"zoom"} act
 * @property {number[]} way in the picture: to the right, upwards, towards who looks; of the others the number alone
 */

/** @type {StageKey[]} */
export const STAGE_KEYS = [
  { keys: "C or ]", text: "Choose the next part", act: "choose", way: [1] },
  { keys: "Shift+C or [", text: "Choose the part before", act: "choose", way: [-1] },
  { keys: "Left", text: "Move it to the left", act: "move", way: [-1, 0, 0] },
  { keys: "Right", text: "Move it to the right", act: "move", way: [1, 0, 0] },
  { keys: "Up", text: "Move it upwards", act: "move", way: [0, 1, 0] },
  { keys: "Down", text: "Move it downwards", act: "move", way: [0, -1, 0] },
  { keys: "PageUp", text: "Move it away", act: "move", way: [0, 0, -1] },
  { keys: "PageDown", text: "Move it nearer", act: "move", way: [0, 0, 1] },
  { keys: "Ctrl+Left", text: "Turn it to the left", act: "turn", way: [0, -1, 0] },
  { keys: "Ctrl+Right", text: "Turn it to the right", act: "turn", way: [0, 1, 0] },
  { keys: "Ctrl+Up", text: "Turn it upwards", act: "turn", way: [-1, 0, 0] },
  { keys: "Ctrl+Down", text: "Turn it downwards", act: "turn", way: [1, 0, 0] },
  { keys: "Shift+Left", text: "Look from further left", act: "orbit", way: [-1, 0] },
  { keys: "Shift+Right", text: "Look from further right", act: "orbit", way: [1, 0] },
  { keys: "Shift+Up", text: "Look from further above", act: "orbit", way: [0, 1] },
  { keys: "Shift+Down", text: "Look from further below", act: "orbit", way: [0, -1] },
  { keys: "Ctrl+Shift+Left", text: "Camera to the left", act: "pan", way: [-1, 0] },
  { keys: "Ctrl+Shift+Right", text: "Camera to the right", act: "pan", way: [1, 0] },
  { keys: "Ctrl+Shift+Up", text: "Camera upwards", act: "pan", way: [0, 1] },
  { keys: "Ctrl+Shift+Down", text: "Camera downwards", act: "pan", way: [0, -1] },
  { keys: "+ or =", text: "Nearer", act: "zoom", way: [1 / ZOOM] },
  { keys: "-", text: "Farther", act: "zoom", way: [ZOOM] },
];

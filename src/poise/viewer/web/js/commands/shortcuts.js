/** Every key that does something, in one table. The listener and the help sheet both read it. */

/**
 * @typedef {object} Shortcut
 * @property {string} keys as the help sheet writes them; keys that do the same are separated by " or "
 * @property {string} text
 * @property {string} group
 * @property {string} command name of a command (commands.js)
 * @property {any} [value] handed to it
 */

/** @type {Shortcut[]} */
export const SHORTCUTS = [
  { keys: "W", text: "Gizmo moves the target", group: "Target", command: "gizmo", value: "move" },
  { keys: "E", text: "Gizmo turns the target", group: "Target", command: "gizmo", value: "turn" },
  { keys: "X", text: "Gizmo along the world's axes, or the target's own", group: "Target", command: "space" },
  { keys: "T", text: "Turn the selected bone, or the target again", group: "Target", command: "turnBones" },
  { keys: "P", text: "Pin the selected joint, or let it go", group: "Target", command: "pin" },
  { keys: "A", text: "Move by keys: the arrows go to the view", group: "Target", command: "focusView" },
  { keys: "S", text: "Step: one iteration", group: "Solving", command: "step" },
  { keys: "R", text: "Reset to the start pose; restart a race", group: "Solving", command: "reset" },
  { keys: "M", text: "Race of methods for the active chain", group: "Solving", command: "race" },
  { keys: "1", text: "One view", group: "View", command: "countViews", value: 1 },
  { keys: "2", text: "Two views: compare methods", group: "View", command: "countViews", value: 2 },
  { keys: "4", text: "Four views", group: "View", command: "countViews", value: 4 },
  { keys: "6", text: "Six views", group: "View", command: "countViews", value: 6 },
  { keys: "F", text: "Frame all", group: "View", command: "frameAll" },
  { keys: ".", text: "Frame the selected joint, or the active chain", group: "View", command: "frameSelected" },
  { keys: "5", text: "From the front; again: from behind", group: "View", command: "lookFrom", value: "front" },
  { keys: "3", text: "From the figure's left; again: its right", group: "View", command: "lookFrom", value: "left" },
  { keys: "7", text: "From above; again: from below", group: "View", command: "lookFrom", value: "top" },
  { keys: "B", text: "Bones through the skin", group: "View", command: "through" },
  { keys: "G", text: "Ghost of the start pose", group: "View", command: "ghost" },
  { keys: "Space", text: "Play or pause the clip or the race", group: "Clip", command: "play" },
  { keys: "K", text: "Key: bones that are turned are keyed into the clip", group: "Clip", command: "key" },
  { keys: "Left", text: "One frame back, or one iteration of a race", group: "Clip", command: "scrub", value: -1 },
  { keys: "Right", text: "One frame on, or one iteration of a race", group: "Clip", command: "scrub", value: 1 },
  { keys: "Shift+Left", text: "Ten frames back", group: "Clip", command: "scrub", value: -10 },
  { keys: "Shift+Right", text: "Ten frames on", group: "Clip", command: "scrub", value: 10 },
  { keys: "N", text: "Next bad frame of planted feet", group: "Clip", command: "badFrame", value: 1 },
  { keys: "Shift+N", text: "Previous bad frame", group: "Clip", command: "badFrame", value: -1 },
  { keys: "Ctrl+Z", text: "Undo", group: "Editing", command: "undo" },
  { keys: "Ctrl+Shift+Z or Ctrl+Y", text: "Redo", group: "Editing", command: "redo" },
  { keys: "/", text: "Search the outliner", group: "Editing", command: "search" },
  { keys: "Esc", text: "Unselect; stop picking", group: "Editing", command: "unselect" },
  { keys: "H or ?", text: "This sheet", group: "Help", command: "help" },
];

/** Names of keys in the table where the browser has another. @type {Record<string, string>} */
const NAMES = { " ": "Space", ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down", Escape: "Esc" };

/**
 * Listen to the keyboard. Keys of commands that this page has not are left alone.
 *
 * @param {Record<string, (...values: any[]) => any>} commands
 */
export function listenToKeys(commands) {
  const table = new Map(SHORTCUTS.flatMap((each) => each.keys.split(" or ").map((keys) => [keys, each])));
  document.addEventListener("keydown", (event) => {
    const pressed = writeKeys(event);
    if (document.querySelector("dialog[open], :popover-open, main[inert]")) return; // Esc closes what is open itself
    if (event.defaultPrevented || event.altKey || isMeantForAField(event, pressed)) return;
    const shortcut = table.get(pressed);
    if (!shortcut || !(shortcut.command in commands)) return;
    event.preventDefault();
    commands[shortcut.command](shortcut.value);
  });
}

/**
 * A key event as the table writes it. Shift is named only where it does not already make another character.
 * @param {KeyboardEvent} event
 */
export function writeKeys(event) {
  const named = NAMES[event.key];
  const key = named ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  const shifted = event.shiftKey && (named || (key >= "A" && key <= "Z"));
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${shifted ? "Shift+" : ""}${key}`;
}

/**
 * Let controls go after a click. The next key is not theirs: a list would take letters for its entries, a button
 * Space. Who goes from one to the next with the keyboard stays where he is.
 */
export function letGo() {
  /** @type {EventTarget|null} */
  let pressed = null; // what the mouse has opened
  document.addEventListener("pointerdown", ({ target }) => (pressed = target));
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Tab") pressed = null;
  });
  document.addEventListener("change", ({ target }) => {
    if (target === pressed && target instanceof HTMLSelectElement) target.blur();
  });
  document.addEventListener("click", (event) => {
    const focused = document.activeElement;
    if (event.detail === 0 || !(focused instanceof HTMLElement)) return; // keys click without detail
    if (focused.matches(CLICKED) && !focused.closest("dialog[open], :popover-open")) focused.blur();
  });
}

const TYPED = "input:not([type=checkbox], [type=range]), textarea"; // what has an undo of its own
const CLICKED = "button, summary, input[type=checkbox], input[type=range]";

/**
 * Whether a field, a menu or the tree takes the key. Esc leaves the field.
 * @param {KeyboardEvent} event
 * @param {string} pressed
 */
function isMeantForAField(event, pressed) {
  const target = event.target instanceof HTMLElement ? event.target : document.body;
  if (pressed.startsWith("Ctrl+")) return target.matches(TYPED);
  if (pressed === "Esc" && target.matches("input, select, textarea")) {
    target.blur();
    return true;
  }
  if (target.matches("input[type=checkbox], input[type=range]")) return ["Space", "Left", "Right"].includes(pressed);
  if (target.matches("input, select, textarea")) return true;
  if (target.matches("[role=tree]")) return ["Left", "Right", "Shift+Left", "Shift+Right"].includes(pressed);
  return target.matches("button, summary, a") && pressed === "Space";
}

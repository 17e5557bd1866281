/** The row of tools at the top. */

/**
 * @import { Commands, Page } from "poise/commands/commands.js"
 * @import { Send } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { canBoneMove, NO_TURN } from "poise/commands/commands.js";
import { openMenu } from "poise/files/opening.js";
import { makeBusyIndicator } from "poise/notices/messages.js";
import { makeShowMenu } from "poise/panels/show_menu.js";
import { makeDrawer } from "poise/panels/sides.js";
import { makeElement } from "poise/widgets/element.js";
import { makeEntry, makeMenu } from "poise/widgets/menu.js";
import { makeThemeButton, makeToolButton, retitle } from "poise/widgets/tool_button.js";

const UNSAVED = "\u2022 "; // before the name of what has changes that no file has
const TURN = "Turn the target (E)";

/** What each way to save is for. @type {Record<string, [string, string]>} */
const FORMATS = {
  glb: ["GLB", "the posed rig with its mesh"],
  gltf: ["glTF", "the same as text, in one file"],
  bvh: ["BVH", "the posed skeleton"],
  urdf: ["URDF", "the robot, as it was read"],
  json: ["Joint values, JSON", "q of every joint"],
  csv: ["Joint values, CSV", "q of every joint, a column each"],
  toml: ["Chains and limits", "the sidecar .ik.toml beside the rig"],
  html: ["Web page", "plays offline, to send to a colleague"],
};

/**
 * @param {HTMLElement} place
 * @param {Page} page
 * @param {Commands} commands
 */
export function fillToolbar(place, page, commands) {
  const { store } = page;
  place.append(
    makeDrawer(store, "left", "Rig, chains and limits"),
    makeElement("span", { class: "mark", title: "Poise" }, "Poise"),
    openMenu(page),
    makeSceneMenu(store, page.send),
    saveMenu(store, page),
    makeGroup(
      "History",
      makeHistoryButton(store, "undo", "Undo", "Ctrl+Z", commands.undo),
      makeHistoryButton(store, "redo", "Redo", "Ctrl+Shift+Z", commands.redo),
    ),
    makeGroup("Gizmo", ...makeGizmoButtons(store, commands)),
    makeGroup(
      "Views",
      makeViewsButton(store, 1, "one", "One view (1)", commands),
      makeViewsButton(store, 2, "two", "Two views: compare two methods (2)", commands),
    ),
    makeToolButton("frame-all", "frame", "Frame all (F)", commands.frameAll),
    makeShowMenu(store, commands),
    makeRigName(store),
    makeBusyIndicator(store),
    makeThemeButton(store, commands.theme),
    makeToolButton("help", "help", "Keys and mouse (H or ?)", commands.help),
    makeDrawer(store, "right", "Solver, target and convergence"),
  );
}

/** @param {string} label @param {...HTMLElement} tools */
function makeGroup(label, ...tools) {
  return makeElement("div", { class: "tools", role: "group", "aria-label": label }, ...tools);
}

/**
 * @param {Store} store
 * @param {"undo"|"redo"} name
 * @param {string} word
 * @param {string} keys
 * @param {() => void} act
 */
function makeHistoryButton(store, name, word, keys, act) {
  const button = makeToolButton(name, name, `${word} (${keys})`, act);
  store.on("state", (state) => {
    button.disabled = !state[name];
    retitle(button, state[name] ? `${word}: ${state[name]} (${keys})` : `Nothing to ${name}`);
  });
  return button;
}

/**
 * Which of them the gizmo does, not which was asked for last. A point cannot be turned, and a bone hardly ever moved.
 * @param {Store} store
 * @param {Commands} commands
 */
function makeGizmoButtons(store, commands) {
  const move = makeToolButton("gizmo-move", "move", "Move the target (W)", () => commands.gizmo("move"));
  const turn = makeToolButton("gizmo-turn", "turn", TURN, () => commands.gizmo("turn"));
  const local = makeToolButton(
    "gizmo-local",
    "local",
    "Along the target's own axes, not the world's (X)",
    commands.space,
  );
  store.on(["gizmo", "holds", "space", "turning", "selected", "model"], () => {
    const onBone = store.get("turning") === true;
    const either = !onBone || canBoneMove(store); // whether there is a choice between moving and turning
    const turns = onBone || store.get("holds")?.turns === true;
    const turning = turns && store.get("gizmo") === "turn";
    move.setAttribute("aria-pressed", String(either && !turning));
    turn.setAttribute("aria-pressed", String(either && turning));
    turn.disabled = !turns;
    retitle(turn, turns ? TURN : NO_TURN);
    local.setAttribute("aria-pressed", String(store.get("space") === "local"));
  });
  const bone = makeToolButton("gizmo-bone", "bone", "Turn the selected bone (T)", commands.turnBones);
  store.on("turning", (turning) => bone.setAttribute("aria-pressed", String(turning)));
  return [move, turn, local, bone];
}

/**
 * @param {Store} store
 * @param {number} count
 * @param {string} drawing
 * @param {string} title
 * @param {Commands} commands
 */
function makeViewsButton(store, count, drawing, title, commands) {
  const button = makeToolButton(`views-${count}`, drawing, title, () => commands.countViews(count));
  store.on("state", (state) => button.setAttribute("aria-pressed", String(state.views === count)));
  return button;
}

/** @param {Store} store @param {Send} send */
function makeSceneMenu(store, send) {
  const list = makeElement("div", { class: "scenes", "aria-label": "Scenes" });
  /** @param {string|null} name */
  const go = (name) => () => send({ do: "scene", name });
  store.on("welcome", ({ scenes }) => {
    list.replaceChildren(...scenes.map(({ name, title, text }) => makeSceneEntry(name, title, text, go(name))));
  });
  /** @type {string|null} the file that leads the list */
  let shown = null;
  store.on("state", ({ scene, opened }) => {
    if (opened !== shown) {
      list.querySelector("[data-testid=scene-opened]")?.remove();
      if (opened) list.prepend(makeEntry("scene-opened", opened, "the file that was opened", go(null)));
      shown = opened;
    }
    const chosen = `scene-${scene ?? "opened"}`;
    for (const each of list.children) each.classList.toggle("chosen", each.getAttribute("data-testid") === chosen);
  });
  return makeMenu({ text: "Scenes", title: "Demo scenes", testid: "scene-menu" }, list);
}

/**
 * A scene with its small picture.
 * @param {string} name @param {string} title @param {string} text @param {() => void} act
 */
function makeSceneEntry(name, title, text, act) {
  const whole = makeEntry(`scene-${name}`, title, text, act);
  const picture = makeElement("img", { class: "entry-picture", src: `./scenes/${name}.png`, alt: "", loading: "lazy" });
  whole.classList.add("with-picture");
  whole.prepend(picture);
  return whole;
}

/** @param {Store} store @param {Page} page */
function saveMenu(store, page) {
  const list = makeElement("div", { "aria-label": "Save" });
  store.on("model", ({ message: { formats } }) => {
    /** @param {string} format */
    const save = (format) => page.send({ do: "save", format });
    /** @param {string} format @returns {[string, string]} */
    const describeFormat = (format) => FORMATS[format] ?? [format.toUpperCase(), ""];
    list.replaceChildren(
      ...(formats ?? []).map((f) => makeEntry(`save-${f}`, ...describeFormat(f), () => save(f))),
      makeEntry("save-png", "PNG", "a picture of the view as it is", () => page.views.savePicture()),
    );
  });
  return makeMenu({ text: "Save", title: "Save the pose, the limits, a picture or a page", testid: "save-menu" }, list);
}

/** @param {Store} store */
function makeRigName(store) {
  const name = makeElement("span", { class: "rig-name", "data-testid": "rig-name" });
  store.on(["state", "model"], () => {
    const { message } = store.get("model") ?? {};
    const title = store.get("state")?.name || message?.name || "";
    name.textContent = title;
    const unsaved = store.get("state")?.unsaved === true;
    name.classList.toggle("unsaved", unsaved);
    document.title = `${unsaved ? UNSAVED : ""}${title} - Poise`;
    if (!message) return;
    name.title = `${message.name}: ${message.joints.filter((joint) => joint.shown).length} joints, ${message.format}`;
  });
  return name;
}

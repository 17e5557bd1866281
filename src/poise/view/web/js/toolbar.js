/** The row of tools at the top. */

import { element } from "poise/element.js";
import { entry, menu } from "poise/menu.js";
import { busyIndicator } from "poise/messages.js";
import { showMenu } from "poise/show_menu.js";
import { themeButton, toolButton } from "poise/tool_button.js";

/** What each way to save is for. */
const FORMATS = {
  glb: ["GLB", "the posed rig with its mesh"],
  bvh: ["BVH", "the posed skeleton"],
  urdf: ["URDF", "the robot, as it was read"],
  json: ["Joint values, JSON", "q of every joint"],
  csv: ["Joint values, CSV", "q of every joint, a column each"],
  toml: ["Chains and limits", "the sidecar .ik.toml beside the rig"],
  html: ["Web page", "plays offline, to send to a colleague"],
};

/**
 * @param {HTMLElement} place
 * @param {import("poise/commands.js").Page} page
 * @param {Record<string, any>} commands
 */
export function fillToolbar(place, page, commands) {
  const { store } = page;
  place.append(
    drawer("left", "Rig, chains and limits"),
    element("span", { class: "mark", title: "Poise" }, "Poise"),
    sceneMenu(store, page.send),
    saveMenu(store, page),
    group(
      "History",
      historyButton(store, "undo", "Undo", "Ctrl+Z", commands.undo),
      historyButton(store, "redo", "Redo", "Ctrl+Shift+Z", commands.redo),
    ),
    group(
      "Gizmo",
      choice(store, "gizmo", "move", "move", "Move the target (W)", () => commands.gizmo("move")),
      choice(store, "gizmo", "turn", "turn", "Turn the target (E)", () => commands.gizmo("turn")),
    ),
    group(
      "Views",
      viewsButton(store, 1, "one", "One view (1)", commands),
      viewsButton(store, 2, "two", "Two views: compare two methods (2)", commands),
    ),
    toolButton("frame-all", "frame", "Frame all (F)", commands.frameAll),
    showMenu(store, commands),
    rigName(store),
    busyIndicator(store),
    themeButton(store, commands.theme),
    toolButton("help", "help", "Keys and mouse (H or ?)", commands.help),
    drawer("right", "Solver, target and convergence"),
  );
}

function group(label, ...tools) {
  return element("div", { class: "tools", role: "group", "aria-label": label }, ...tools);
}

function historyButton(store, name, word, keys, act) {
  const button = toolButton(name, name, `${word} (${keys})`, act);
  store.on("state", (state) => {
    button.disabled = !state[name];
    button.title = state[name] ? `${word}: ${state[name]} (${keys})` : `Nothing to ${name}`;
  });
  return button;
}

function choice(store, topic, value, drawing, title, act) {
  const button = toolButton(`${topic}-${value}`, drawing, title, act);
  store.on(topic, (chosen) => button.setAttribute("aria-pressed", chosen === value));
  return button;
}

function viewsButton(store, count, drawing, title, commands) {
  const button = toolButton(`views-${count}`, drawing, title, () => commands.countViews(count));
  store.on("state", (state) => button.setAttribute("aria-pressed", state.views === count));
  return button;
}

function sceneMenu(store, send) {
  const list = element("div", { "aria-label": "Scenes" });
  store.on("welcome", ({ scenes }) =>
    list.replaceChildren(
      ...scenes.map((scene) =>
        entry(`scene-${scene.name}`, scene.title, scene.text, () => send({ do: "scene", name: scene.name })),
      ),
    ),
  );
  store.on("state", (state) => {
    for (const each of list.children) each.classList.toggle("chosen", each.dataset.testid === `scene-${state.scene}`);
  });
  return menu({ text: "Scenes", title: "Demo scenes", testid: "scene-menu" }, list);
}

function saveMenu(store, page) {
  const list = element("div", { "aria-label": "Save" });
  store.on("model", ({ message: { formats } }) => {
    const save = (format) => page.send({ do: "save", format });
    const words = (format) => FORMATS[format] ?? [format.toUpperCase(), ""];
    list.replaceChildren(
      ...formats.map((f) => entry(`save-${f}`, ...words(f), () => save(f))),
      entry("save-png", "PNG", "a picture of the view as it is", () => page.views.savePicture()),
    );
  });
  return menu({ text: "Save", title: "Save the pose, the limits, a picture or a page", testid: "save-menu" }, list);
}

function rigName(store) {
  const name = element("span", { class: "rig-name", "data-testid": "rig-name" });
  store.on(["state", "model"], () => {
    const { message } = store.get("model") ?? {};
    const title = store.get("state")?.name || message?.name || "";
    name.textContent = title;
    document.title = `${title} - Poise`;
    if (!message) return;
    name.title = `${message.name}: ${message.joints.filter((joint) => joint.shown).length} joints, ${message.format}`;
  });
  return name;
}

/** Opens and closes a side; in a narrow window the sides lie over the view and start closed. */
function drawer(side, what) {
  const toggle = () => {
    const narrow = matchMedia("(max-width: 759px)").matches;
    const name = `${narrow ? "open" : "closed"}-${side}`;
    document.body.classList.toggle(name);
    if (narrow) document.body.classList.remove(`open-${side === "left" ? "right" : "left"}`);
  };
  const button = toolButton(`panel-${side}`, side, `${what}: show or hide`, toggle);
  button.classList.add("drawer-button");
  return button;
}

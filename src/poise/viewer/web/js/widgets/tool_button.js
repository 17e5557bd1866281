/** A button with a drawing on it. Its words are for the pointer that rests on it and for screen readers. */

/** @import { Store } from "poise/state/store.js" */

import { makeElement } from "poise/widgets/element.js";
import { makeIcon } from "poise/widgets/icons.js";

/**
 * @param {string} testid
 * @param {string} drawing
 * @param {string} title
 * @param {() => any} act
 * @returns {HTMLButtonElement}
 */
export function makeToolButton(testid, drawing, title, act) {
  return makeElement(
    "button",
    { type: "button", class: "tool", title, "aria-label": title, "data-testid": testid, onclick: () => act() },
    makeIcon(drawing),
  );
}

/**
 * Give a button other words, for the pointer and for screen readers.
 * @param {HTMLButtonElement} button
 * @param {string} title
 */
export function retitle(button, title) {
  button.title = title;
  button.setAttribute("aria-label", title);
}

/**
 * Give a button another drawing and other words.
 * @param {HTMLButtonElement} button
 * @param {string} drawing
 * @param {string} title
 */
export function redraw(button, drawing, title) {
  retitle(button, title);
  button.replaceChildren(makeIcon(drawing));
}

const THEME_NAMES = { auto: "as the system", dark: "dark", light: "light" };

/**
 * @param {Store} store
 * @param {() => void} act to the next theme
 * @returns {HTMLButtonElement}
 */
export function makeThemeButton(store, act) {
  const button = makeToolButton("theme", "auto", "Theme", act);
  store.on("themeChoice", (chosen) => redraw(button, chosen, `Theme: ${THEME_NAMES[chosen]}`));
  return button;
}

/** Making HTML elements in one line. Text is never read as markup. */

/**
 * Listeners `onclick` (any `on...`), and attributes. `true` is one without value, `null` or `false` none; `value`,
 * `checked` and `disabled` are set as properties.
 *
 * @typedef {Record<string, unknown> & {[K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K])
 * => void}} Attributes
 */

/**
 * Make an element. Children are elements or texts; null is skipped.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Node|string|null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function makeElement(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** @param {string} selector @param {ParentNode} [place] @returns {HTMLElement|null} the first element that it is of */
export function find(selector, place = document) {
  return place.querySelector(selector);
}

/** @param {HTMLElement} made @param {string} name @param {any} value */
function setAttribute(made, name, value) {
  if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
  else if (name === "value" || name === "checked" || name === "disabled") Object.assign(made, { [name]: value });
  else if (value === true) made.setAttribute(name, "");
  else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value));
}

/**
 * Put options into a select. What was chosen stays where it is still there.
 *
 * @param {HTMLSelectElement} select
 * @param {{value: string, text: string, title?: string}[]} options
 */
export function setOptions(select, options) {
  const key = JSON.stringify(options);
  if (select.dataset.options === key) return; // a menu that is open must not be rebuilt under the pointer
  const chosen = select.value;
  select.replaceChildren(...options.map((o) => makeElement("option", { value: o.value, title: o.title }, o.text)));
  select.dataset.options = key;
  if (options.some((o) => o.value === chosen)) select.value = chosen;
}

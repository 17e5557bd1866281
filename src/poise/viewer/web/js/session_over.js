/** What covers the page when it has no connection, and how to go on. */

import { element } from "poise/element.js";

const WORDS = {
  used: {
    title: "This link was used already",
    text: "Ask for a new one where poise runs: each address opens one page, once.",
  },
  elsewhere: {
    title: "Opened in another window",
    text: "This session goes on there, and nothing was lost. To go on here, ask for a new link where poise runs.",
  },
  ended: {
    title: "Poise has ended",
    text: "What is shown stays until this page is closed. Start it again, and open the address that it prints.",
  },
  lost: {
    title: "Connection lost, reconnecting ...",
    text: "If poise was stopped, start it again and open the address that it prints.",
  },
};

const PATIENCE = 400; // [ms] a break shorter than this is not worth a word

/**
 * @param {import("poise/store.js").Store} store
 * @param {() => void} reconnect
 * @returns {HTMLElement}
 */
export function sessionOver(store, reconnect) {
  const title = element("h1");
  const text = element("p");
  const again = element(
    "button",
    { type: "button", class: "primary", "data-testid": "reconnect", onclick: reconnect },
    "Try now",
  );
  const card = element("div", { class: "card", role: "alertdialog", "aria-live": "assertive" }, title, text, again);
  const cover = element("div", { class: "cover", "data-testid": "session-over", hidden: true }, card);
  let timer = 0;
  const show = (status) => {
    cover.hidden = false;
    cover.dataset.status = status;
    const goodbye = status === "ended" ? store.get("goodbye")?.text : null;
    title.textContent = goodbye ? goodbye[0].toUpperCase() + goodbye.slice(1) : WORDS[status].title;
    text.textContent = WORDS[status].text;
    again.hidden = status !== "lost";
    shut(cover, true);
    if (!again.hidden) again.focus();
  };
  store.on("connection", (status) => {
    if (status === "opening") return; // a retry does not make what is said flicker
    clearTimeout(timer);
    if (status === "open") {
      cover.hidden = true;
      shut(cover, false);
    } else timer = window.setTimeout(() => show(status), status === "lost" ? PATIENCE : 0);
  });
  return cover;
}

/** What lies behind the cover takes no clicks and no keys. */
function shut(cover, inert) {
  for (const each of document.body.children) if (each !== cover && each instanceof HTMLElement) each.inert = inert;
  for (const each of document.querySelectorAll(":popover-open")) each.hidePopover();
}

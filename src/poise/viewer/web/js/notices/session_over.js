/** The cover of a page without a connection. It says how to go on. */

/**
 * @import { Connection } from "poise/protocol/socket.js"
 * @import { Store } from "poise/state/store.js"
 * @import { Status } from "poise/state/topics.ts"
 */

import { makeElement } from "poise/widgets/element.js";

/** @type {Record<string, {title: string, text: string}>} */
const WORDS = {
  used: {
    title: "This link was used already",
    text: "Each address opens one page, in one browser. Ask for a new link: it is printed where poise runs.",
  },
  elsewhere: {
    title: "Opened in another window",
    text: "This session goes on there, and nothing was lost. To go on here, ask for a new link.",
  },
  usedInNotebook: {
    title: "This page cannot be opened again here",
    text: "A cell opens its page in one browser, which must be allowed to store data for it. Run the cell again for a new page.",
  },
  elsewhereInNotebook: {
    title: "Opened in another window",
    text: "This session goes on there, and nothing was lost.",
  },
  ended: {
    title: "The viewer has ended",
    text: "Poise was closed and has said so; what is seen here is its last picture. Start it again, and open the address that it prints.",
  },
  lost: {
    title: "Connection lost, reconnecting ...",
    text: "Poise has not said that it ends: it may still run, and this page comes back by itself. If it was stopped, start it again and open the address that it prints.",
  },
};

const ASKED = "A fresh link was printed where poise runs: open it from there.";
const UNHEARD =
  "Nobody answers: poise has ended, or cannot be reached. Start it again and open the address that it prints.";
const PATIENCE = 400; // [ms] a break shorter than this is not worth a word

/**
 * @param {Store} store
 * @param {Connection} connection
 * @returns {HTMLElement}
 */
export function makeSessionOver(store, connection) {
  const title = makeElement("h1");
  const text = makeElement("p");
  const again = makeButton("reconnect", "Try now", () => connection.open());
  const ask = makeButton("ask-link", "Ask for a new link", () => {
    ask.disabled = true;
    connection.askForLink((heard) => {
      text.textContent = heard ? ASKED : UNHEARD;
      ask.disabled = false;
    });
  });
  const card = makeElement(
    "div",
    { class: "card", role: "alertdialog", "aria-live": "assertive" },
    title,
    text,
    again,
    ask,
  );
  const cover = makeElement("div", { class: "cover", "data-testid": "session-over", hidden: true }, card);
  let timer = 0;
  /** @param {Exclude<Status, "open"|"opening">} status */
  const show = (status) => {
    const isRefused = status === "used" || status === "elsewhere";
    const words = WORDS[isRefused && connection.notebook ? `${status}InNotebook` : status];
    cover.hidden = false;
    cover.dataset.status = status;
    title.textContent = (status === "ended" && store.get("farewell")) || words.title;
    text.textContent = words.text;
    again.hidden = status !== "lost" && !(status === "elsewhere" && connection.notebook);
    again.textContent = status === "lost" ? "Try now" : "Go on here";
    ask.hidden = !isRefused || connection.notebook;
    shut(cover, true);
    [again, ask].find((each) => !each.hidden)?.focus();
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

/** @param {string} testid @param {string} words @param {() => void} act */
function makeButton(testid, words, act) {
  return makeElement("button", { type: "button", class: "primary", "data-testid": testid, onclick: act }, words);
}

/** What lies behind the cover takes no clicks and no keys. @param {HTMLElement} cover @param {boolean} inert */
function shut(cover, inert) {
  for (const each of document.body.children) if (each !== cover && each instanceof HTMLElement) each.inert = inert;
  for (const each of document.querySelectorAll(":popover-open")) if (each instanceof HTMLElement) each.hidePopover();
}

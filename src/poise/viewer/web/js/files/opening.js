/** Opening files of the user's own. A button, dropping them on the page, and their way to Poise. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { Given } from "poise/files/dropped.js"
 */

import { findCandidates, findNeeded, listChosenFiles, readDroppedFiles, sumSizes } from "poise/files/dropped.js";
import { find, makeElement } from "poise/widgets/element.js";
import { makeEntry, makeMenu } from "poise/widgets/menu.js";

const CHUNK = 60_000; // bytes of a message; the server takes 64 KB
const WAITING = 4_000_000; // bytes that may be under way
const PAUSE = 20; // [ms]

/**
 * The button, and the page as a place to drop files on.
 *
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function openMenu(page) {
  /** @param {Given[]|Promise<Given[]>} given */
  const open = (given) => choose(page, given).catch((error) => page.messages.show("error", error.message));
  /** @param {Record<string, unknown>} attributes @param {string} testid */
  const pick = (attributes, testid) => {
    const input = makeElement("input", { type: "file", hidden: true, "data-testid": testid, ...attributes });
    input.addEventListener("change", () => {
      open(listChosenFiles(input.files ?? []));
      input.value = ""; // the same file again is a change, too
    });
    return input;
  };
  const files = pick({ multiple: true }, "open-files-input");
  const folder = pick({ webkitdirectory: true }, "open-folder-input");
  const list = makeElement(
    "div",
    { "aria-label": "Open" },
    makeEntry("open-files", "Files ...", "", () => files.click()),
    makeEntry("open-folder", "Folder ...", "a robot or glTF with the files that it names", () => folder.click()),
  );
  page.store.on("welcome", ({ opens }) => {
    const words = find("[data-testid=open-files]", list)?.lastChild;
    if (words) words.textContent = `Files: ${opens.join(" ")} ...`;
  });
  dropZone(open);
  const button = makeMenu({ text: "Open", title: "Open a file, or drop it on the page", testid: "open-menu" }, list);
  button.append(files, folder);
  return button;
}

/** @param {(given: Promise<Given[]>) => void} open */
function dropZone(open) {
  const words = makeElement("p", { class: "card" }, "Drop a rig here, with the files that it names or as a folder");
  const sign = makeElement("div", { class: "cover drop-sign", "data-testid": "drop-sign", hidden: true }, words);
  document.body.append(sign);
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  let gone = 0;
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer || !hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    sign.hidden = document.body.querySelector("main[inert]") !== null; // the session is over
    clearTimeout(gone);
    gone = window.setTimeout(() => (sign.hidden = true), 400); // dragover comes all the time, dragleave for every part
  });
  document.addEventListener("drop", async (event) => {
    if (!event.dataTransfer || !hasFiles(event)) return;
    event.preventDefault();
    sign.hidden = true;
    open(readDroppedFiles(event.dataTransfer).catch(refuseDrop));
  });
}

/** @param {any} error @returns {never} */
function refuseDrop(error) {
  throw new Error(`what was dropped cannot be read: ${error.message}`);
}

/**
 * Ask which file is meant, where several could be, and send it.
 * @param {Page} page
 * @param {Given[]|Promise<Given[]>} files
 */
async function choose(page, files) {
  const given = await files;
  const { opens } = page.store.need("welcome");
  if (!given.length) throw new Error("there is no file in what was dropped");
  const likely = findCandidates(given, opens);
  if (likely.length > 1) ask(likely, (main) => send(page, given, main));
  else await send(page, given, likely[0] ?? given[0]); // what cannot be read: Poise says what to do with it
}

/** A dialogue with the files that could be meant. @param {Given[]} likely @param {(main: Given) => void} take */
function ask(likely, take) {
  const dialog = makeElement("dialog", {
    class: "sheet which",
    "data-testid": "which-file",
    onclose: () => dialog.remove(),
  });
  /** @param {Given} each */
  const makeChoice = (each) =>
    makeElement(
      "button",
      {
        type: "button",
        onclick: () => {
          dialog.close();
          take(each);
        },
      },
      each.path,
    );
  const cancel = makeElement("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  dialog.append(
    makeElement("header", {}, makeElement("h1", {}, "Which file?"), cancel),
    makeElement("div", { class: "which-files" }, ...likely.slice(0, 200).map(makeChoice)),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * Send the files in pieces, for as long as Poise wants them.
 * @param {Page} page
 * @param {Given[]} all
 * @param {Given} main
 */
async function send(page, all, main) {
  const { store, connection } = page;
  const given = findNeeded(all, main, store.need("welcome").most_bytes);
  const total = sumSizes(given);
  const id = (store.get("delivery") ?? 0) + 1;
  store.set("delivery", id);
  const wanted = new Promise((answered) => {
    const forget = store.on(["upload", "connection"], () => {
      const upload = store.get("upload");
      if (upload?.id === id) answered(upload.go);
      else if (store.get("connection") !== "open") answered(false);
      else return;
      setTimeout(() => forget());
    });
  });
  page.send({ do: "upload", id, main: main.path, files: given.length, bytes: total });
  if (!(await wanted)) return;
  const isWanted = () => store.get("connection") === "open" && store.get("upload")?.go && store.get("delivery") === id;
  let sent = 0;
  try {
    for (const { path, file } of given) {
      page.send({ do: "upload_file", path, size: file.size });
      for (let at = 0; at < file.size; at += CHUNK) {
        const piece = await file.slice(at, at + CHUNK).arrayBuffer();
        while (connection.waiting > WAITING && isWanted()) await new Promise((done) => setTimeout(done, PAUSE));
        if (!isWanted()) return;
        connection.sendBytes(piece);
        sent += piece.byteLength;
        store.set("busy", { text: `sending ${main.file.name} ...`, share: sent / total });
      }
    }
    page.send({ do: "upload_done" });
  } catch (/** @type {any} */ error) {
    page.send({ do: "upload_cancel" });
    page.messages.show("error", `${main.file.name} cannot be read: ${error.message}`);
  } finally {
    if (store.get("busy")?.share !== undefined) store.set("busy", { text: null });
  }
}

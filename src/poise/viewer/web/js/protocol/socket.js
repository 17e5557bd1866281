/** The one connection to Poise. Who this page is, what comes in, what goes out, and coming back after a break. */

/** @import { Action, ToPage } from "poise/protocol/messages.ts" */

const KEY = "poise-key"; // of this tab, in its own storage
const TOKEN = "poise-token"; // of a notebook's cell, which stays valid; in the storage of its tab
const BROWSER = "poise-browser"; // the name by which Poise knows this browser again
const NAME = 18; // random bytes of it
const USED = 4003; // the link was used already, or the key is not known
const ELSEWHERE = 4001; // a newer page took over
const ENDED = 4004; // the server has ended, and has said so
const FIRST_WAIT = 300; // [ms], doubled after each try that fails
const LONGEST_WAIT = 5000; // [ms]

/** Kinds of binary messages, in their first byte. */
const POSES = 1;
const GHOST = 2;
const ASSET = 3;
const DOWNLOAD = 4;
const FRAME_NUMBER = 8; // where a pose message has its number
const BODY = 8; // where an asset or a download begins

/**
 * @typedef {object} Receivers
 * @property {(message: any) => void} onMessage a JSON message
 * @property {(buffer: ArrayBuffer) => void} onPoses shown when it returns: then the next one is asked for
 * @property {(buffer: ArrayBuffer) => void} onGhost
 * @property {(asset: {which: number, id: number, data: ArrayBuffer}) => void} onAsset
 * @property {(id: number, data: ArrayBuffer) => void} onDownload
 * @property {(status: "opening"|"open"|"lost"|"used"|"elsewhere"|"ended", reason: string) => void} onStatus
 */

export class Connection {
  /** @param {Receivers} receivers */
  constructor(receivers) {
    this.receivers = receivers;
    this.wait = FIRST_WAIT;
    /** @type {WebSocket|null} */
    this.socket = null;
    this.timer = 0;
    const { token, scene, notebook } = readAddress();
    /** Whether a notebook opened the page: its token opens it again. */
    this.notebook = notebook;
    this.token = token ?? (notebook ? read(() => sessionStorage, TOKEN) : null);
    this.scene = scene;
    this.key = read(() => sessionStorage, KEY);
    this.browser = readOwnName();
  }

  /** Connect; after a break this is done again by itself. */
  open() {
    clearTimeout(this.timer);
    this.receivers.onStatus("opening", "");
    const socket = makeSocket();
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => this.introduce(socket));
    socket.addEventListener("message", (event) => this.receive(event.data));
    socket.addEventListener("close", (event) => this.receiveClose(socket, event));
    this.socket = socket;
  }

  /**
   * @param {Action} action
   * @returns {boolean} whether it went out: what is not sent while the connection is down is lost on purpose
   */
  send(action) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(action));
    return true;
  }

  /** Some of the contents of a file. @param {ArrayBuffer} data */
  sendBytes(data) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(data);
  }

  /** Bytes that were given to the browser and have not gone out. */
  get waiting() {
    return this.socket?.bufferedAmount ?? 0;
  }

  /** @param {WebSocket} socket */
  introduce(socket) {
    const { token, key, scene, browser } = this;
    // Token and key where both are there: this tab may have gone back to an address that it has used up.
    const shown = Object.entries({ token, key, scene, browser }).filter(([, value]) => value);
    socket.send(JSON.stringify({ do: "hello", ...Object.fromEntries(shown) }));
  }

  /** @param {string|ArrayBuffer} data */
  receive(data) {
    if (typeof data === "string") this.receiveText(JSON.parse(data));
    else this.receiveBinary(data);
  }

  /** @param {ToPage} message */
  receiveText(message) {
    if (message.kind === "welcome") {
      this.key = message.key;
      write(() => sessionStorage, KEY, message.key);
      this.scene = null;
      if (this.notebook) write(() => sessionStorage, TOKEN, this.token);
      else this.token = null; // used up: after a break it is the key that counts
      hideToken(); // not before: a page that is reloaded while it waits for the key has nothing else to show
      this.wait = FIRST_WAIT;
      this.receivers.onStatus("open", "");
    }
    this.receivers.onMessage(message);
  }

  /** @param {ArrayBuffer} buffer */
  receiveBinary(buffer) {
    const view = new DataView(buffer);
    const kind = view.getUint8(0);
    if (kind === POSES) {
      // It is acknowledged even if drawing fails: otherwise one bad frame would stop all that follow.
      try {
        this.receivers.onPoses(buffer);
      } finally {
        this.send({ do: "seen", frame: view.getUint32(FRAME_NUMBER, true) });
      }
    } else if (kind === GHOST) this.receivers.onGhost(buffer);
    else if (kind === ASSET) {
      this.receivers.onAsset({ which: view.getUint8(1), id: view.getUint32(4, true), data: buffer.slice(BODY) });
    } else if (kind === DOWNLOAD) this.receivers.onDownload(view.getUint32(4, true), buffer.slice(BODY));
  }

  /**
   * Ask for a new link. It is not told here: whoever runs poise finds it there.
   * @param {(heard: boolean) => void} done whether the request has come through
   */
  askForLink(done) {
    const socket = makeSocket();
    socket.addEventListener("open", () => socket.send(JSON.stringify({ do: "ask" })));
    socket.addEventListener("close", ({ code }) => done(code === USED));
  }

  /** Neither token nor key are good. */
  forget() {
    this.key = this.token = null;
    for (const name of [KEY, TOKEN]) write(() => sessionStorage, name, null);
    hideToken();
  }

  /** @param {WebSocket} socket @param {CloseEvent} event */
  receiveClose(socket, { code, reason }) {
    if (socket !== this.socket) return;
    this.socket = null;
    if (code === ENDED) {
      this.receivers.onStatus("ended", reason);
      return;
    }
    if (code === USED || code === ELSEWHERE) {
      if (code === USED) this.forget();
      this.receivers.onStatus(code === USED ? "used" : "elsewhere", "");
      return;
    }
    this.receivers.onStatus("lost", "");
    this.timer = window.setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }
}

function makeSocket() {
  return new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
}

/** Token and scene of the address. It may be that of a notebook's cell. */
function readAddress() {
  const { searchParams } = new URL(location.href);
  const token = searchParams.get("token");
  const scene = token ? searchParams.get("scene") : null; // a reload keeps what was done in the scene
  return { token, scene, notebook: searchParams.has("notebook") };
}

/** Take the token out of the address. It is in no history or screenshot then. */
function hideToken() {
  const address = new URL(location.href);
  if (!address.searchParams.has("token")) return;
  address.searchParams.delete("token");
  history.replaceState(null, "", address.pathname + address.search);
}

/** The random name of this browser. The one that it has kept, or a new one. */
function readOwnName() {
  const kept = read(() => localStorage, BROWSER);
  if (kept) return kept;
  const name = Array.from(crypto.getRandomValues(new Uint8Array(NAME)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  write(() => localStorage, BROWSER, name);
  return name;
}

/**
 * What a storage of the browser has. Null where it has nothing, or storage is off.
 * @param {() => Storage} storage
 * @param {string} name
 */
function read(storage, name) {
  try {
    return storage().getItem(name);
  } catch {
    return null;
  }
}

/**
 * Keep a value, or with null none. Where storage is off, nothing is kept.
 * @param {() => Storage} storage
 * @param {string} name
 * @param {string|null} value
 */
function write(storage, name, value) {
  try {
    if (value === null) storage().removeItem(name);
    else storage().setItem(name, value);
  } catch {
    // this page works without; only a reload needs a new link
  }
}

/** The one connection to Poise: who this page is, what comes in, what goes out, and coming back after a break. */

const KEY = "poise-key";
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
    const { token, scene } = addressed();
    this.token = token;
    this.scene = scene;
  }

  /** Connect; after a break this is done again by itself. */
  open() {
    clearTimeout(this.timer);
    this.receivers.onStatus("opening", "");
    const socket = newSocket();
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => this.introduce(socket));
    socket.addEventListener("message", (event) => this.receive(event.data));
    socket.addEventListener("close", (event) => this.closed(socket, event));
    this.socket = socket;
  }

  /** @returns {boolean} whether it went out: what is not sent while the connection is down is lost on purpose */
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

  introduce(socket) {
    const key = sessionStorage.getItem(KEY);
    // Both where both are there: somebody may have gone back to an address that was used up in this very tab.
    const shown = Object.entries({ token: this.token, key, scene: this.scene }).filter(([, value]) => value);
    socket.send(JSON.stringify({ do: "hello", ...Object.fromEntries(shown) }));
  }

  receive(data) {
    if (typeof data === "string") this.receiveText(JSON.parse(data));
    else this.receiveBinary(data);
  }

  receiveText(message) {
    if (message.kind === "welcome") {
      sessionStorage.setItem(KEY, message.key);
      this.token = this.scene = null; // used up: after a break it is the key that counts
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
    const socket = newSocket();
    socket.addEventListener("open", () => socket.send(JSON.stringify({ do: "ask" })));
    socket.addEventListener("close", ({ code }) => done(code === USED));
  }

  closed(socket, { code, reason }) {
    if (socket !== this.socket) return;
    this.socket = null;
    if (code === ENDED) {
      this.receivers.onStatus("ended", reason);
      return;
    }
    if (code === USED || code === ELSEWHERE) {
      if (code === USED) sessionStorage.removeItem(KEY);
      this.receivers.onStatus(code === USED ? "used" : "elsewhere", "");
      return;
    }
    this.receivers.onStatus("lost", "");
    this.timer = window.setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }
}

function newSocket() {
  return new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
}

/** The token and the scene of the address; the token is taken out of it, so that it is in no history or screenshot. */
function addressed() {
  const address = new URL(location.href);
  const token = address.searchParams.get("token");
  const scene = address.searchParams.get("scene");
  if (token) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address.pathname + address.search);
  }
  return { token, scene: token ? scene : null }; // a reload keeps what was done in the scene
}

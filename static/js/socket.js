// A WebSocket that comes back: waits longer after each failure, and starts over when a message is missing or none comes.

import { address } from "./dom.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

// The subprotocol in which a frame is an array of messages.
const TOGETHER = "podracer.together";

// A page that nobody looks at for so long hears nothing until somebody does.
const REST_AFTER_MS = 60_000;

// When nothing happens the server says so about every five seconds.
const SILENCE_MS = 12_000;
// The first message is a snapshot, which a thin line takes its time for.
const FIRST_SILENCE_MS = 30_000;
const TICK_MS = 1_000;

export class LiveSocket {
  // onMessage(message); onState(connected, whether to tell anybody, close code)
  constructor(path, { onMessage, onState }) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${address(path)}`;
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    this.ended = false;
    this.rests = false;
    // Both mean only that the network has changed: whether the server is still there shows when it is asked.
    for (const name of ["online", "offline"]) addEventListener(name, () => this.rests || this.reconnectNow());
    document.addEventListener("visibilitychange", () => this.watch());
    this.watch();
    this.connect();
  }

  // Timers run only while somebody looks.
  watch() {
    clearTimeout(this.resting);
    clearInterval(this.clock);
    if (document.hidden) {
      this.resting = setTimeout(() => this.rest(), REST_AFTER_MS);
      return;
    }
    this.clock = setInterval(() => this.tick(), TICK_MS);
    if (this.rests) this.connect();
    else if (this.socket) this.tick();
  }

  connect() {
    this.rests = false;
    this.seq = null;
    this.heard = Date.now();
    const socket = (this.socket = new WebSocket(this.url, TOGETHER));
    socket.addEventListener("message", (event) => {
      if (socket !== this.socket) return;
      this.heard = Date.now();
      for (const message of JSON.parse(event.data)) if (socket === this.socket) this.receive(message);
    });
    socket.addEventListener("close", (event) => {
      if (socket === this.socket) this.lost(event.code, this.failures > 0 || !navigator.onLine);
    });
  }

  receive(message) {
    if (this.seq !== null && message.seq !== this.seq + 1) {
      // Something between was lost: a new connection begins with a whole snapshot.
      this.failures = 0;
      this.reconnectNow();
      return;
    }
    this.seq = message.seq;
    this.failures = 0;
    this.onState(true, false);
    this.onMessage(message);
  }

  tick() {
    const now = Date.now();
    const slept = now - this.ticked > SILENCE_MS;
    this.ticked = now;
    if (!this.socket || now - this.heard < (this.seq === null ? FIRST_SILENCE_MS : SILENCE_MS)) return;
    // Of a page that slept nobody knows yet whether anything is lost.
    if (slept) this.reconnectNow();
    else this.lost(undefined, true);
  }

  // The first loss of an open socket is mended before anybody could read of it; silence has lasted long enough.
  lost(code, tell) {
    this.drop();
    if (this.ended) return;
    this.failures += 1;
    this.onState(false, tell, code);
    if (this.ended) return;
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.failures - 1));
    // At random within the upper half, so that many pages do not come back at once.
    this.timer = setTimeout(() => this.connect(), longest * (0.5 + Math.random() / 2));
  }

  reconnectNow() {
    if (this.ended) return;
    this.drop();
    this.connect();
  }

  // The next connection begins with a snapshot of all that was missed.
  rest() {
    if (this.ended) return;
    this.drop();
    this.rests = true;
  }

  end() {
    this.ended = true;
    clearInterval(this.clock);
    this.drop();
  }

  drop() {
    clearTimeout(this.timer);
    const old = this.socket;
    this.socket = null;
    old?.close();
  }
}

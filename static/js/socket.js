// A WebSocket that comes back: waits longer after each failure, and starts over when a message is missing.

import { address } from "./dom.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

// The subprotocol in which a frame is an array of messages.
const TOGETHER = "podracer.together";

// A page that nobody looks at for so long hears nothing until somebody does.
const REST_AFTER_MS = 60_000;

export class LiveSocket {
  // onMessage(message); onState(connected, failures in a row, close code)
  constructor(path, { onMessage, onState }) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${address(path)}`;
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    this.ended = false;
    addEventListener("online", () => this.socket && this.reconnectNow());
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.resting);
      if (document.hidden) this.resting = setTimeout(() => this.rest(), REST_AFTER_MS);
      else if (!this.socket) this.connect();
    });
    this.connect();
  }

  connect() {
    this.timer = null;
    this.seq = null;
    const socket = (this.socket = new WebSocket(this.url, TOGETHER));
    socket.addEventListener("message", (event) => {
      if (socket !== this.socket) return;
      for (const message of JSON.parse(event.data)) if (socket === this.socket) this.receive(message);
    });
    socket.addEventListener("close", (event) => {
      if (socket === this.socket) this.lost(event.code);
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
    this.onState(true, 0);
    this.onMessage(message);
  }

  lost(code) {
    if (this.ended) return;
    this.failures += 1;
    this.onState(false, this.failures, code);
    if (this.ended) return;
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.failures - 1));
    // At random within the upper half, so that many pages do not come back at once.
    this.timer = setTimeout(() => this.connect(), longest * (0.5 + Math.random() / 2));
  }

  reconnectNow() {
    if (this.ended) return;
    clearTimeout(this.timer);
    const old = this.socket;
    this.connect();
    old.close();
  }

  // The next connection begins with a snapshot of all that was missed.
  rest() {
    if (this.ended) return;
    clearTimeout(this.timer);
    const old = this.socket;
    this.socket = null;
    old.close();
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }
}

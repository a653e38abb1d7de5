// Calls of the REST API with the session's cookie, and the toasts that say what went wrong.
import { $, address, h } from "./dom.js";

const TOAST_MS = 8000;

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

function sentence(body, status) {
  if (Array.isArray(body?.errors)) return body.errors.map((error) => error.message).join(" ");
  const detail = body?.detail ?? body?.error ?? body?.message;
  if (typeof detail === "string") return detail;
  if (status === 401) return "You are signed out: reload the page to sign in again.";
  return `The server answered ${status}.`;
}

export async function call(method, path, body, signal) {
  const headers = { Accept: "application/json", "X-CSRFToken": document.body.dataset.csrf };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(address(path), { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new ApiError("The server does not answer. Is Podracer still running?", 0);
  }
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    // Not JSON: a proxy's page perhaps. The status says enough.
  }
  if (!response.ok) throw new ApiError(sentence(data, response.status), response.status);
  return data;
}

export function toast(message, tone = "") {
  const close = h("button", { type: "button", "aria-label": "Close" }, "✕");
  const element = h("div", { class: `toast ${tone}` }, h("span", {}, message), close);
  close.addEventListener("click", () => element.remove());
  $("[data-toasts]").append(element);
  setTimeout(() => element.remove(), TOAST_MS);
}

// Run something that calls the API; what goes wrong is shown, and told by `false`.
export async function attempt(work) {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    toast(error.message, "bad");
    return false;
  }
}

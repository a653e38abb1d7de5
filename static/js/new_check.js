// What the server says of the form while it is typed: errors at their fields, and what the tournament would do.
import { $, $$, h, setText } from "./dom.js";
import { plural } from "./format.js";

const SETTLE_MS = 500;

// Errors below a field, in the place where the server would write them.
export function errorsShow(field, messages) {
  const root = field.closest(".field");
  const present = $$(".error", root);
  if (present.map((error) => error.textContent).join("\n") === messages.join("\n")) return;
  for (const error of present) error.remove();
  root.classList.toggle("bad", messages.length > 0);
  if (messages.length) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
  const shown = messages.map((message, index) => h("div", { class: "error", id: index ? null : `${field.id}_error` }, message));
  field.after(...shown);
}

function listShow(root, messages, tag) {
  root.replaceChildren(...messages.map((message) => h(tag, tag === "div" ? { class: "error" } : {}, message)));
}

export class Check {
  constructor(form, rows) {
    this.form = form;
    this.rows = rows;
    this.timer = null;
    this.running = null;
    this.status = $("[data-check-status]");
  }

  // Ask soon; what is typed meanwhile puts it off.
  soon(wait = SETTLE_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), wait);
  }

  async ask() {
    this.running?.abort();
    const running = (this.running = new AbortController());
    const rows = this.rows.filled();
    try {
      const body = new FormData(this.form);
      const response = await fetch(this.form.dataset.check, { method: "POST", body, signal: running.signal });
      if (response.redirected) setText(this.status, "Not checked: you are signed out. Reload the page to sign in again.");
      else if (response.ok) this.show(await response.json(), rows);
      else setText(this.status, `Not checked: the server answered ${response.status}.`);
    } catch (error) {
      if (error.name !== "AbortError") setText(this.status, "Not checked: the server does not answer.");
    }
  }

  show(answer, rows) {
    const { __all__: general = [], ...errors } = answer.errors;
    for (const field of this.form.elements) {
      if (field.id && field.closest(".field") && !field.name.startsWith("space-")) errorsShow(field, errors[field.name] ?? []);
    }
    rows.forEach((row, index) => rowShow(row, answer.rows[index] ?? []));
    listShow($("[data-space-errors]"), answer.space, "div");
    const list = $("[data-form-errors]");
    listShow(list, general, "li");
    list.hidden = !general.length;
    if (Object.keys(errors).some((name) => this.form.elements[name]?.closest("details"))) $("[data-details]").open = true;
    this.outlook(answer);
    const wrong = Object.keys(errors).length + answer.rows.filter((messages) => messages.length).length;
    const headline = $("[data-summary] .headline").textContent;
    setText($("[data-headline]"), headline);
    setText(this.status, wrong ? `${plural(wrong, "field")} marked: ${this.first(errors, answer)}` : headline);
  }

  first(errors, answer) {
    return [...Object.values(errors).flat(), ...answer.rows.flat()][0];
  }

  outlook(answer) {
    const summary = $("[data-summary]");
    if (summary.innerHTML.trim() !== answer.summary.trim()) summary.innerHTML = answer.summary;
    const differences = $("[data-differences]");
    if (differences && differences.innerHTML.trim() !== answer.differences.trim()) differences.innerHTML = answer.differences;
    for (const field of $$(".field.changed")) field.classList.remove("changed");
    for (const name of answer.changed) this.form.elements[name]?.closest(".field").classList.add("changed");
    if (answer.toml) setText($("[data-toml]"), answer.toml);
  }
}

function rowShow(row, messages) {
  const root = $("[data-row-errors]", row);
  if ([...root.children].map((error) => error.textContent).join("\n") === messages.join("\n")) return;
  listShow(root, messages, "div");
  for (const field of $$(".field", row)) field.classList.toggle("bad", messages.length > 0);
}

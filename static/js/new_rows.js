// The rows of the search space: one a hyperparameter, with its meaning and a picture of what it is drawn from.
import { $, $$, json, setText } from "./dom.js";
import { distribution } from "./new_picture.js";

const PLACEHOLDERS = {
  fixed: "0.001", choice: "0.1, 0.2, 0.4", uniform: "0.9, 0.99", loguniform: "0.0001, 0.01", int: "2, 8",
};

export class Rows {
  constructor(body, template, chosen) {
    this.body = body;
    this.template = template;
    this.chosen = chosen;
    this.described = json("hyperparameters");
    this.number = body.children.length;
    this.defaults = null;
    this.awaited = false;
    this.suggestions = {};
    this.draw();
    body.addEventListener("input", (event) => this.edited(event.target));
  }

  // What an environment's defaults say of its search spaces. Returns whether algorithms chosen before that got theirs.
  know(rows, suggestions) {
    const { awaited } = this;
    this.defaults = rows;
    this.suggestions = suggestions;
    this.draw();
    if (awaited) this.follow();
    return awaited;
  }

  add(values = {}) {
    const row = this.template.content.firstElementChild.cloneNode(true);
    this.number += 1;
    for (const field of $$("[aria-label]", row)) {
      field.setAttribute("aria-label", field.getAttribute("aria-label").replace("new", this.number));
    }
    for (const [name, value] of Object.entries({ algorithm: this.chosen()[0], ...values })) {
      const field = $(`[name="space-${name}"]`, row);
      if (field && value) field.value = value;
    }
    this.body.append(row);
    this.drawRow(row);
    return row;
  }

  clear() {
    this.body.replaceChildren();
  }

  // The rows are those of the chosen algorithms: of one that leaves they go, of one that comes its defaults appear.
  follow() {
    this.awaited = !this.defaults;
    const names = this.chosen();
    for (const row of [...this.body.children]) if (!names.includes(field(row, "algorithm").value)) row.remove();
    const present = new Set([...this.body.children].map((row) => field(row, "algorithm").value));
    for (const row of this.defaults ?? []) if (names.includes(row.algorithm) && !present.has(row.algorithm)) this.add(row);
  }

  // The rows that are sent, in order: the server leaves empty ones out.
  filled() {
    return [...this.body.children].filter((row) => field(row, "name").value.trim() || field(row, "values").value.trim());
  }

  edited(target) {
    const row = target.closest("tr");
    if (target.name === "space-name") this.suggest(row);
    this.drawRow(row);
  }

  // A hyperparameter that was only named is searched around its tuned value.
  suggest(row) {
    const found = this.suggestions[field(row, "algorithm").value]?.[field(row, "name").value.trim()];
    const values = field(row, "values").value.trim();
    if (!found || (values && values !== row.dataset.suggested)) return;
    field(row, "kind").value = found.kind;
    field(row, "values").value = row.dataset.suggested = found.values;
  }

  draw() {
    for (const row of this.body.children) this.drawRow(row);
  }

  drawRow(row) {
    const [algorithm, name, kind] = ["algorithm", "name", "kind"].map((part) => field(row, part).value.trim());
    const tuned = this.suggestions[algorithm]?.[name]?.tuned ?? "";
    const meaning = this.described[algorithm]?.[name];
    field(row, "name").setAttribute("list", `hyperparameters-${algorithm}`);
    field(row, "values").placeholder = PLACEHOLDERS[kind];
    $("[data-remove-row]", row).setAttribute("aria-label", `Remove ${name || "this row"}`);
    const said = [meaning?.about, meaning?.bounds].filter(Boolean).join("; ");
    setText($("[data-meaning]", row), said && `${said}${tuned && `, tuned ${tuned}`}.`);
    const picture = distribution(kind, field(row, "values").value, tuned);
    $("[data-picture]", row).replaceChildren(...(picture ? [picture] : []));
  }
}

const field = (row, name) => $(`[name="space-${name}"]`, row);

// The form of a new tournament: defaults of the chosen environment, rows of the search space.
import { $, $$, setText } from "./dom.js";

const form = $("[data-new]");
const rows = $("[data-rows]");
const template = $("template[data-row]");
const about = $("[data-about]");
const environment = form.elements.env_id;
const algorithms = form.elements.algorithms;
// Written into the form, so that a page that comes back with errors still knows what a person typed.
const touched = new Set(form.elements.touched.value.split(" ").filter(Boolean));
let known = environment.value.trim();
let arriving = null;
let held = false;
let rowNumber = rows.children.length;
let defaultRows = [];

function touch(name) {
  touched.add(name);
  form.elements.touched.value = [...touched].join(" ");
}

function rowAdd(values = {}) {
  const row = template.content.firstElementChild.cloneNode(true);
  rowNumber += 1;
  for (const field of $$("[aria-label]", row)) {
    field.setAttribute("aria-label", field.getAttribute("aria-label").replace("new", rowNumber));
  }
  for (const [name, value] of Object.entries(values)) {
    const field = $(`[name="space-${name}"]`, row);
    if (field) field.value = value;
  }
  if (!values.algorithm) rowAlgorithmSet(row, chosen()[0]);
  rowSuggest(row);
  rows.append(row);
  return row;
}

const chosen = () => [...algorithms.selectedOptions].map((option) => option.value);
const rowAlgorithm = (row) => $("[name=space-algorithm]", row).value;

function rowAlgorithmSet(row, name) {
  if (name) $("[name=space-algorithm]", row).value = name;
}

// The names offered while one is typed are the algorithm's own.
function rowSuggest(row) {
  $("[name=space-name]", row).setAttribute("list", `hyperparameters-${rowAlgorithm(row)}`);
}

function problemShow(message) {
  const field = environment.closest(".field");
  field.classList.toggle("bad", Boolean(message));
  for (const error of $$(".error", field)) error.remove();
  if (!message) return;
  const error = document.createElement("div");
  error.className = "error";
  error.id = "id_env_id-error";
  error.textContent = message;
  environment.after(error);
}

function defaultsFill(defaults) {
  setText(about, `${environment.value}: ${defaults.about}`);
  for (const [name, value] of Object.entries(defaults.fields)) {
    if (!touched.has(name)) form.elements[name].value = value;
  }
  // A name that was only offered belongs to another environment; an empty one is named after the new.
  if (!touched.has("name")) form.elements.name.value = "";
  if (!touched.has("space")) rows.replaceChildren();
  rowsFollow();
}

// The rows are those of the chosen algorithms: of one that leaves they go, of one that comes its defaults appear.
function rowsFollow() {
  const names = chosen();
  for (const row of [...rows.children]) if (!names.includes(rowAlgorithm(row))) row.remove();
  const present = new Set([...rows.children].map(rowAlgorithm));
  for (const row of defaultRows) if (names.includes(row.algorithm) && !present.has(row.algorithm)) rowAdd(row);
}

// Only algorithms that can choose the environment's actions are offered; PPO always can.
function algorithmsOffer(names) {
  for (const option of algorithms.options) {
    option.disabled = !names.includes(option.value);
    if (option.disabled) option.selected = false;
  }
  if (!chosen().length) algorithms.value = names[0];
}

async function environmentLook(fill) {
  const id = environment.value.trim();
  if (!id) return;
  const response = await fetch(`${form.dataset.defaults}?env_id=${encodeURIComponent(id)}`);
  const answer = await response.json();
  if (id !== environment.value.trim()) return;
  if (answer.error) {
    setText(about, "");
    problemShow(answer.error);
    return;
  }
  defaultRows = answer.rows;
  algorithmsOffer(answer.algorithms);
  if (fill) {
    problemShow("");
    defaultsFill(answer);
  } else {
    setText(about, `${id}: ${answer.about}`);
  }
}

// Fetch the defaults of another environment; `arriving` is there for as long as they are not.
function environmentFollow() {
  const id = environment.value.trim();
  if (id === known) return;
  known = id;
  const coming = environmentLook(true).catch(() => {
    if (coming !== arriving) return;
    known = null;
    problemShow("Its defaults did not arrive; press the button again to fetch them.");
  }).finally(() => {
    if (coming === arriving) arriving = null;
  });
  arriving = coming;
}

// What is sent belongs to the environment that is named: a button pressed at once waits for the defaults.
async function submitHold(submitter) {
  if (held) return;
  held = true;
  while (arriving) await arriving;
  held = false;
  if (known !== null) form.requestSubmit(submitter);
}

form.addEventListener("input", (event) => {
  const name = event.target.name ?? "";
  touch(name.startsWith("space-") ? "space" : name);
});
environment.addEventListener("change", environmentFollow);
algorithms.addEventListener("change", rowsFollow);
rows.addEventListener("change", (event) => {
  if (event.target.name === "space-algorithm") rowSuggest(event.target.closest("tr"));
});
form.addEventListener("submit", (event) => {
  environmentFollow();
  if (!arriving) return;
  event.preventDefault();
  submitHold(event.submitter);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("addRow" in button.dataset) {
    touch("space");
    $("[name=space-name]", rowAdd()).focus();
  } else if ("removeRow" in button.dataset) {
    touch("space");
    button.closest("tr").remove();
    $("[data-add-row]").focus();
  }
});

if (!$(".error", environment.closest(".field"))) environmentLook(false);

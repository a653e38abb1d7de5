// The form of a new tournament: what follows from the chosen environment and algorithms, and when it is sent.
import { $, $$, h, setText } from "./dom.js";
import { Check, errorsShow } from "./new_check.js";
import { dropStart } from "./new_drop.js";
import { galleryStart } from "./new_gallery.js";
import { Rows } from "./new_rows.js";

const form = $("[data-new]");
const about = $("[data-about]");
const environment = form.elements.env_id;
const algorithms = form.elements.algorithms;
const chosen = () => [...algorithms.selectedOptions].map((option) => option.value);
const rows = new Rows($("[data-rows]"), $("template[data-row]"), chosen);
const check = new Check(form, rows);
// Written into the form, so that a page that comes back with errors still knows what a person typed.
const touched = new Set(form.elements.touched.value.split(" ").filter(Boolean));
// Whose defaults the fields have: another environment may be chosen before this script comes.
let known = form.elements.defaults_of.value;
let arriving = null;
let held = false;

function touch(name) {
  touched.add(name);
  form.elements.touched.value = [...touched].join(" ");
}

function defaultsFill(defaults) {
  form.elements.defaults_of.value = known;
  for (const [name, value] of Object.entries(defaults.fields)) {
    if (!touched.has(name)) form.elements[name].value = value;
  }
  // A name that was only offered belongs to another environment; an empty one is named after the new.
  if (!touched.has("name")) form.elements.name.value = "";
  if (!touched.has("space")) rows.clear();
  rows.follow();
}

function chosenShow(id, answer) {
  setText(about, answer.about ?? "");
  setText($("[data-chosen-id]"), id);
  const picture = answer.picture
    ? h("img", { src: answer.picture, alt: "", width: 288, height: 192 })
    : h("span", { class: "generic", "aria-hidden": "true" }, answer.initials ?? "?");
  $("[data-chosen]").replaceChildren(picture);
}

// Only algorithms that can see and act in the environment can be chosen; the others say why not. PPO always can.
function algorithmsOffer(misfits) {
  for (const option of algorithms.options) {
    const reason = misfits[option.value];
    option.dataset.note ??= option.textContent;
    setText(option, reason ? `${option.value} · ${reason}` : option.dataset.note);
    option.disabled = Boolean(reason);
    if (option.disabled) option.selected = false;
  }
  if (!chosen().length) algorithms.value = Object.keys(misfits).find((name) => !misfits[name]);
}

async function environmentLook(fill) {
  const id = environment.value.trim();
  if (!id) return;
  const response = await fetch(`${form.dataset.defaults}?env_id=${encodeURIComponent(id)}`);
  const answer = await response.json();
  if (id !== environment.value.trim()) return;
  chosenShow(id, answer);
  if (answer.error) {
    errorsShow(environment, [answer.error]);
    return;
  }
  algorithmsOffer(answer.algorithms);
  if (rows.know(answer.rows, answer.suggestions)) check.soon(0);
  if (!fill) return;
  errorsShow(environment, []);
  defaultsFill(answer);
}

// Fetch the defaults of another environment; `arriving` is there for as long as they are not.
function environmentFollow() {
  const id = environment.value.trim();
  if (id === known) return;
  known = id;
  const coming = environmentLook(true).catch(() => {
    if (coming !== arriving) return;
    known = null;
    errorsShow(environment, ["Its defaults did not arrive; press the button again to fetch them."]);
  }).finally(() => {
    if (coming !== arriving) return;
    arriving = null;
    if (known !== null) check.soon(0);
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

function altered(field) {
  if (field.type === "hidden") return false;
  if (field.type === "radio") return field.checked && !field.defaultChecked;
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  if (!field.options) return "defaultValue" in field && field.value !== field.defaultValue;
  const offered = [...field.options].filter((option) => option.defaultSelected);
  if (!offered.length && !field.multiple) offered.push(field.options[0]);
  return [...field.options].some((option) => option.selected !== offered.includes(option));
}

// What was typed or chosen before this script came, or is there again because somebody went back.
function earlierFollow() {
  for (const field of [...form.elements].filter(altered)) {
    field.dispatchEvent(new Event("input", { bubbles: true }));
    if (field !== document.activeElement || field.type === "radio") field.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

form.addEventListener("input", (event) => {
  const name = event.target.name ?? "";
  touch(name.startsWith("space-") ? "space" : name);
  // An environment's name is looked up once it is whole.
  if (name !== "env_id" && name !== "card") check.soon();
});
form.addEventListener("change", (event) => {
  if (event.target.name?.startsWith("space-")) check.soon();
});
environment.addEventListener("change", environmentFollow);
algorithms.addEventListener("change", () => {
  rows.follow();
  check.soon(0);
});
// A click takes one more or one less, with no key held.
algorithms.addEventListener("mousedown", (event) => {
  const option = event.target.closest("option");
  if (!option || option.disabled) return;
  event.preventDefault();
  option.selected = !option.selected;
  algorithms.focus({ preventScroll: true });
  for (const kind of ["input", "change"]) algorithms.dispatchEvent(new Event(kind, { bubbles: true }));
});
form.addEventListener("submit", (event) => {
  environmentFollow();
  if (!arriving) return;
  event.preventDefault();
  submitHold(event.submitter);
});
form.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("addRow" in button.dataset) {
    touch("space");
    $("[name=space-name]", rows.add()).focus();
  } else if ("removeRow" in button.dataset) {
    touch("space");
    button.closest("tr").remove();
    $("[data-add-row]").focus();
    check.soon(0);
  }
});

galleryStart(environment, environmentFollow);
dropStart();
earlierFollow();
if (!arriving && !$(".error", environment.closest(".field"))) environmentLook(false);

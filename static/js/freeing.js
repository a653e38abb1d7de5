// The dialog that frees space: what can go and what stays, asked anew whenever it opens, and gone after a second question.
import { attempt, call, toast } from "./api.js";
import { $, $$, h, setText } from "./dom.js";
import { plural, size } from "./format.js";

const NAMES = { checkpoints: "checkpoint", states: "training state", exports: "export", replays: "replay" };

export const several = (count, part) => plural(count, NAMES[part]);

function stays(item) {
  if (item.problem) return item.problem;
  if (!item.files && !item.kept_files) return "There is none.";
  return item.kept_files ? `${several(item.kept_files, item.part)} stay${item.kept_files === 1 ? "s" : ""}, ${size(item.kept_size)}.` : "None stays.";
}

function option(item) {
  const box = h("input", { type: "checkbox", name: "part", value: item.part, disabled: !item.files });
  const title = item.files ? `${several(item.files, item.part)}, ${size(item.size)}` : `No ${NAMES[item.part]} can go`;
  return h("label", { class: "option" }, box, h("span", {}, h("b", {}, title),
    h("span", { class: "sub" }, [item.files ? item.why : "", stays(item)].filter(Boolean).join(" "))));
}

export function freeingStart(tournamentId) {
  const button = $("[data-free]");
  if (!button) return; // for looking only
  const path = `/api/tournaments/${tournamentId}/retention`;
  const dialog = $("#freeing");
  const form = $("[data-freeing]", dialog);
  const sure = $("[data-freeing-sure]", dialog);
  let parts = [];

  const chosen = () => parts.filter((item) => $$("input:checked", form).some((box) => box.value === item.part));
  const told = () => chosen().map((item) => several(item.files, item.part)).join(", ");
  const sum = () => size(chosen().reduce((total, item) => total + item.size, 0));

  function changed() {
    $("button.danger", form).disabled = !chosen().length;
    const nothing = parts.some((item) => item.files) ? "Nothing is chosen." : "There is nothing to free.";
    setText($("[data-freeing-sum]", form), chosen().length ? `Frees ${sum()}: ${told()}.` : nothing);
  }

  function ask(question) {
    form.hidden = question;
    sure.hidden = !question;
    setText($("[data-freeing-question]", sure), `Remove ${told()}, ${sum()}? This cannot be undone.`);
    (question ? $("[data-freeing-back]", sure) : $("[data-close]", form)).focus();
  }

  button.addEventListener("click", () => attempt(async () => {
    ({ parts } = await call("GET", path));
    $("[data-parts]", form).replaceChildren(...parts.map(option));
    changed();
    dialog.showModal();
    ask(false);
  }));
  form.addEventListener("change", changed);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(true);
  });
  $("[data-freeing-back]", sure).addEventListener("click", () => ask(false));
  sure.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const freed = await call("POST", path, { parts: chosen().map((item) => item.part) });
      toast(`Freed ${size(freed.size)} in ${plural(freed.files, "file")}.`);
      dialog.close();
    });
  });
}

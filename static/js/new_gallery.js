// The environments as cards: filtered by family and by what is typed, chosen with the pointer or the keyboard.
import { $, $$ } from "./dom.js";

export function galleryStart(environment, choose) {
  const gallery = $("[data-gallery]");
  const cards = $$(".env", gallery);
  const chips = $$(".families [data-family]");
  const card = () => cards.find((item) => item.dataset.env === environment.value.trim());
  let family = card()?.dataset.family ?? "";
  let typed = false;

  const radio = (item) => $("input", item);
  const shown = () => cards.filter((item) => !item.hidden);

  function show() {
    const text = typed && !card() ? environment.value.trim().toLowerCase() : "";
    for (const item of cards) {
      radio(item).checked = item === card();
      item.hidden = text ? !item.dataset.env.toLowerCase().includes(text) : Boolean(family) && item.dataset.family !== family;
    }
    for (const chip of chips) chip.setAttribute("aria-pressed", String(!text && chip.dataset.family === family));
    $("[data-no-card]", gallery).hidden = shown().length > 0;
    if (!text) card()?.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
  }

  function pick(item) {
    typed = false;
    if (family) family = item.dataset.family;
    environment.value = item.dataset.env;
    show();
    choose();
  }

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      family = chip.dataset.family;
      typed = false;
      show();
    });
  }
  environment.addEventListener("input", () => {
    typed = true;
    if (card() && family) family = card().dataset.family;
    show();
  });
  environment.addEventListener("keydown", (event) => {
    const finding = typed && !card();
    if (!shown().length || !(event.key === "ArrowDown" || (event.key === "Enter" && finding))) return;
    event.preventDefault();
    const next = card() && shown().includes(card()) ? card() : shown()[0];
    if (finding) pick(next); // else the half-typed id would be looked up, or sent
    if (event.key === "ArrowDown") radio(next).focus();
  });
  gallery.addEventListener("change", (event) => pick(event.target.closest(".env")));
  gallery.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it would send the form
    pick(event.target.closest(".env"));
  });
}

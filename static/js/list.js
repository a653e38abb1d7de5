// Keeps the cards fresh while somebody looks at them.
import { keepAsking, partOf } from "./connection.js";
import { $, $$ } from "./dom.js";

const EVERY_MS = 3000;
const root = $("#cards");
let last = null;

// Card by card, so that one that did not change keeps its focus and its place under the pointer.
function merge(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  const old = new Map($$(".tournament", root).map((card) => [card.id, card]));
  const cards = $$(".tournament", next).map((card) => {
    const present = old.get(card.id);
    if (present?.outerHTML === card.outerHTML) return present;
    const focused = present?.contains(document.activeElement);
    const fresh = document.importNode(card, true);
    if (focused) queueMicrotask(() => $("a", fresh).focus({ preventScroll: true }));
    return fresh;
  });
  const list = $(".cards", root);
  if (cards.length !== list.children.length || cards.some((card, index) => list.children[index] !== card)) {
    list.replaceChildren(...cards);
  }
  if (cards.length) $(".start")?.remove();
}

keepAsking((signal) => partOf(root.dataset.source, signal), (html) => {
  if (html !== last) merge((last = html));
}, EVERY_MS);

// A choice is asked for at once; a text when Enter is pressed.
$("[data-sieve]")?.addEventListener("change", ({ target, currentTarget }) => target.matches("select") && currentTarget.requestSubmit());
// What is not chosen stays out of the address.
$("[data-sieve]")?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value || value === "newest") formData.delete(name);
});

// What every page has: the theme's switch, times in the reader's zone, menus, dialogs, copying.
import { toast } from "./api.js";
import { $, $$ } from "./dom.js";
import { noticesStart } from "./notices.js";
import { showTimes } from "./times.js";

export function themeDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const themeChanged = () => document.dispatchEvent(new CustomEvent("themechange"));

function switchTheme() {
  const theme = themeDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // It lasts until the page is left, then.
  }
  themeChanged();
}

async function copy(button) {
  const text = $("[data-copy-source]", button.parentElement).textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  } catch {
    getSelection().selectAllChildren($("[data-copy-source]", button.parentElement));
    toast("Copying is not allowed here; the text is selected instead.");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  for (const menu of $$("details.menu[open]")) if (!menu.contains(event.target) || button) menu.open = false;
  if (!button) return;
  if (button.dataset.open) document.getElementById(button.dataset.open).showModal();
  else if ("close" in button.dataset) button.closest("dialog").close();
  else if ("copy" in button.dataset) copy(button);
  else if ("themeToggle" in button.dataset) switchTheme();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of $$("details.menu[open]")) {
    menu.open = false;
    $("summary", menu).focus();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);

// Workers come and go while a page stays open.
async function refreshSlots() {
  const slots = $("[data-slots]");
  if (!slots || document.hidden) return;
  try {
    const response = await fetch(slots.dataset.slots);
    if (response.redirected || !response.ok) return;
    const html = (await response.text()).trim();
    if (html !== slots.innerHTML.trim()) slots.innerHTML = html;
  } catch {
    // The server is away; the next round tries again.
  }
}

showTimes();
noticesStart();
setInterval(refreshSlots, 10_000);
setInterval(() => document.hidden || showTimes(), 30_000);
$("[data-focus]")?.focus();

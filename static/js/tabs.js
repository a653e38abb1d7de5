// Tabs as the ARIA practices have them: arrows move, one is in the tab order.
import { $$ } from "./dom.js";

// onChoose(tab, its panel) is called for the tab that becomes the chosen one.
export function tabsStart(list, onChoose = () => {}) {
  const tabs = $$("[role=tab]", list);
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  const choose = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      panelOf(tab).hidden = tab !== chosen;
    }
    onChoose(chosen, panelOf(chosen));
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}

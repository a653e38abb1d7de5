// Which entries of the leaderboard are shown, and in which order: sorted by a column, filtered by words and kinds.
import { $, $$, h } from "./dom.js";

// What a column sorts by, and the direction that comes first.
const COLUMNS = {
  rank: [(item) => item.rank, 1],
  name: [(item) => item.name, 1],
  score: [(item) => item.score, -1],
  interval: [(item) => item.score_low ?? item.score, -1],
  beats: [(item) => item.beats_next, -1],
};

const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);

export class BoardView {
  // head: the table's; tools: the form with the filters; onChange() when another choice was made
  constructor(head, tools, onChange) {
    this.heads = $$("[data-sort]", head);
    this.tools = tools;
    this.onChange = onChange;
    this.column = "rank";
    this.direction = 1;
    this.only = null;
    for (const cell of this.heads) $("button", cell).addEventListener("click", () => this.sortBy(cell.dataset.sort));
    tools.addEventListener("input", () => onChange());
    tools.addEventListener("submit", (event) => event.preventDefault());
    tools.addEventListener("reset", () => {
      this.only = null;
      setTimeout(onChange);
    });
  }

  sortBy(column) {
    this.direction = column === this.column ? -this.direction : COLUMNS[column][1];
    this.column = column;
    for (const cell of this.heads) {
      const chosen = cell.dataset.sort === column;
      if (chosen) cell.setAttribute("aria-sort", this.direction > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
    this.onChange();
  }

  // Agents that are shown alone, null for all.
  sieve(agents) {
    if (agents === this.only) return;
    this.only = agents;
    this.onChange();
  }

  get filtered() {
    const { text, algorithm, strategy } = this.tools.elements;
    return Boolean(text.value.trim() || algorithm.value || strategy.value || this.only);
  }

  apply(items) {
    this.options("algorithm", items);
    this.options("strategy", items);
    const { text, algorithm, strategy } = this.tools.elements;
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const holds = (item) => {
      const told = [item.name, item.algorithm, item.strategy, ...(item.parent_names ?? [])].join(" ").toLowerCase();
      return words.every((word) => told.includes(word)) && (!algorithm.value || item.algorithm === algorithm.value)
        && (!strategy.value || item.strategy === strategy.value) && (!this.only || this.only.has(item.agent));
    };
    const [key] = COLUMNS[this.column];
    const shown = items.filter(holds);
    if (this.column === "rank" && this.direction > 0) return shown;
    // Who has no value comes last, whichever way round.
    return shown.sort((a, b) => ((key(a) ?? null) === null) - ((key(b) ?? null) === null) || this.direction * compare(key(a), key(b)) || a.rank - b.rank);
  }

  // What there is to choose from follows the board; what was chosen stays.
  options(name, items) {
    const select = this.tools.elements[name];
    const values = [...new Set([...items.map((item) => item[name]), select.value].filter(Boolean))].sort();
    select.hidden = values.length < 2 && !select.value;
    if (values.join() === $$("option", select).slice(1).map((option) => option.value).join()) return;
    const chosen = select.value;
    select.replaceChildren(select.firstElementChild, ...values.map((value) => h("option", { value }, value)));
    select.value = chosen;
  }
}

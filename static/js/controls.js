// The buttons of the tournament's page; each calls the API, whose answer comes back over the socket.
import { $, $$, setText } from "./dom.js";
import { attempt, call } from "./api.js";
import { endingStart } from "./ending.js";
import { plural } from "./format.js";

const SETTLE_MS = 300;

export function controlsStart(store, onTournament) {
  if (!$("[data-stepper]")) return () => {}; // for looking only
  const path = `/api/tournaments/${store.tournament.id}`;

  for (const button of $$("[data-action]")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      await attempt(async () => {
        await call("POST", `${path}/${button.dataset.action}`);
        onTournament(await call("GET", path));
      });
      button.disabled = false;
    });
  }

  const size = $("[data-pool-size]");
  let wanted = null;
  let timer = null;
  const sizeShow = () => setText(size, plural(wanted ?? store.tournament.pool_size, "pod"));
  for (const button of $$("[data-step]")) {
    button.addEventListener("click", () => {
      wanted = Math.max(1, (wanted ?? store.tournament.pool_size) + Number(button.dataset.step));
      sizeShow();
      clearTimeout(timer);
      // Several clicks are one wish.
      timer = setTimeout(async () => {
        await attempt(() => call("PATCH", path, { pool_size: wanted }).then(onTournament));
        wanted = null;
        sizeShow();
      }, SETTLE_MS);
    });
  }

  $("[data-rename]").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = event.target.elements.name.value;
    if (await attempt(async () => onTournament(await call("PATCH", path, { name })))) event.target.closest("dialog").close();
  });
  $("[data-archive]").addEventListener("click", () => attempt(async () =>
    onTournament(await call("PATCH", path, { archived: !store.tournament.archived }))));
  endingStart(store, onTournament);
  return sizeShow;
}

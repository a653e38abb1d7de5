// The two questions before a tournament's end: whether to stop it, and whether to delete it with all that it has.
import { attempt, call } from "./api.js";
import { $, setText } from "./dom.js";
import { plural, size } from "./format.js";
import { several } from "./freeing.js";

const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0]);

function stopTold({ pods: { RUNNING: running } }) {
  const ending = running ? `${plural(running, "pod")} in training end${running === 1 ? "s" : ""} now without a score, and only the curve stays. ` : "";
  return `${ending}The leaderboard, its agents and their checkpoints stay. It cannot be resumed.`;
}

function deleteTold(parts) {
  const there = parts.map(({ part, files, kept_files: kept }) => [files + kept, part]).filter(([files]) => files);
  if (!there.length) return "It has no files.";
  const bytes = parts.reduce((sum, { size: going, kept_size: kept }) => sum + going + kept, 0);
  return `Its files take ${size(bytes)}: ${listed(there.map(([files, part]) => several(files, part)))}.`;
}

export function endingStart(store, onTournament) {
  const path = `/api/tournaments/${store.tournament.id}`;
  const [stop, remove] = [$("#stop"), $("#delete")];

  $('[data-open="stop"]').addEventListener("click", () => setText($("[data-stop-told]", stop), stopTold(store.tournament)));
  $("[data-stop]", stop).addEventListener("submit", () => attempt(async () => {
    await call("POST", `${path}/stop`);
    onTournament(await call("GET", path));
  }));

  $('[data-open="delete"]').addEventListener("click", () => attempt(async () => {
    setText($("[data-delete-sizes]", remove), "");
    const { parts } = await call("GET", `${path}/retention`);
    setText($("[data-delete-sizes]", remove), deleteTold(parts));
  }));
  $("[data-delete]", remove).addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await attempt(() => call("DELETE", path))) location.assign("/");
  });
}

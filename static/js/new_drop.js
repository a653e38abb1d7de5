// A TOML file that is dropped anywhere on the page fills in the form.
import { $ } from "./dom.js";

export function dropStart() {
  const overlay = $("[data-drop]");
  const input = $("#id_file");
  let depth = 0;
  const carriesFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

  document.addEventListener("dragenter", (event) => {
    if (!carriesFile(event)) return;
    depth += 1;
    overlay.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!carriesFile(event)) return;
    depth -= 1;
    if (depth <= 0) overlay.hidden = true;
  });
  document.addEventListener("dragover", (event) => carriesFile(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    depth = 0;
    overlay.hidden = true;
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.form.requestSubmit($("button", input.form));
  });
}

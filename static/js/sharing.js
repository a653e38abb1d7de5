// The dialog that says who sees a tournament. It is filled when it opens, and after each change.
import { attempt, call } from "./api.js";
import { $, $$, h, setText } from "./dom.js";
import { fullTime, relative } from "./format.js";

export function sharingStart(tournamentId) {
  const button = $("[data-share]");
  if (!button) return;
  const path = `/api/tournaments/${tournamentId}`;
  const dialog = $("#sharing");
  const form = $("[data-sharing]", dialog);
  const { who, project } = form.elements;

  function projectShow() {
    const wanted = who.value !== "private";
    project.required = who.value === "project";
    $("[data-sharing-project]", dialog).hidden = !wanted;
    $("[data-sharing-none]", dialog).hidden = project.options.length > 1;
    // Everybody may look, and a project may control it as well.
    project.options[0].hidden = who.value === "project" && project.options.length > 1;
    if (who.value === "project" && !project.value && project.options.length > 1) project.selectedIndex = 1;
  }

  function show(sharing) {
    const names = new Map(sharing.projects.map((item) => [item.id, item.name]));
    if (sharing.project) names.set(sharing.project, sharing.project_name);
    project.replaceChildren(h("option", { value: "" }, "none"), ...[...names].map(([id, name]) => h("option", { value: id }, name)));
    project.value = sharing.project ?? "";
    who.value = sharing.shared ? "everybody" : sharing.project ? "project" : "private";
    setText($("[data-sharing-owner]", dialog), sharing.owner);
    projectShow();
    $("[data-links]", dialog).replaceChildren(...sharing.links.map(linkItem));
  }

  function linkItem(link) {
    const revoke = h("button", { type: "button", class: "danger", "aria-label": `Revoke the link for ${link.name}` }, "Revoke");
    revoke.addEventListener("click", () => attempt(async () => {
      await call("DELETE", `${path}/links/${link.id}`);
      show(await call("GET", `${path}/sharing`));
      $("[data-link-form] input", dialog).focus();
    }));
    const used = link.last_used_at ? `opened ${relative(link.last_used_at)}` : "never opened";
    const ends = link.expires_at ? `until ${fullTime(link.expires_at)}` : "never expires";
    return h("li", {}, h("div", { class: "grow" }, h("strong", {}, link.name), h("div", { class: "sub" }, `${used} · ${ends}`)), revoke);
  }

  function linkShow(url) {
    for (const element of $$("[data-new-link], [data-new-link-hint]", dialog)) element.hidden = !url;
    setText($("[data-new-link] code", dialog), url);
  }

  button.addEventListener("click", () => attempt(async () => {
    show(await call("GET", `${path}/sharing`));
    linkShow("");
    dialog.showModal();
  }));
  form.addEventListener("change", projectShow);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = who.value === "private" ? null : project.value || null;
    attempt(async () => {
      await call("PUT", `${path}/sharing`, { project: chosen, shared: who.value === "everybody" });
      dialog.close();
    });
  });
  $("[data-link-form]", dialog).addEventListener("submit", (event) => {
    event.preventDefault();
    const { name, lifetime } = event.target.elements;
    attempt(async () => {
      const made = await call("POST", `${path}/links`, { name: name.value, lifetime_days: lifetime.value ? Number(lifetime.value) : null });
      linkShow(made.url);
      event.target.reset();
      show(await call("GET", `${path}/sharing`));
      $("[data-new-link] button", dialog).focus();
    });
  });
}

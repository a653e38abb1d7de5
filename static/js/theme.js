// Runs before the first paint, so that a chosen theme does not flash. Not a module: those wait.
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be closed to us; then the system's theme it is.
  }
})();

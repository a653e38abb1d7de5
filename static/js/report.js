// The report's only button.
import { $ } from "./dom.js";

$("[data-print]").addEventListener("click", () => print());

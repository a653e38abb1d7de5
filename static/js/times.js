// Times in the reader's zone, written into what the server left empty.
import { $$ } from "./dom.js";
import { clock, day, fullTime, relative } from "./format.js";

export function showTimes() {
  for (const element of $$("time[data-relative]")) {
    element.textContent = relative(element.dateTime);
    element.title = fullTime(element.dateTime);
  }
  for (const element of $$("time[data-day]:not([title])")) {
    element.textContent = day(element.dateTime);
    element.title = fullTime(element.dateTime);
  }
  for (const element of $$("time[data-clock]:empty")) {
    element.textContent = clock(element.dateTime);
    element.title = fullTime(element.dateTime);
  }
}

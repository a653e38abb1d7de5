// How a person looks at the curves: kept for this browser, and in the address so that a view can be shared.

const KEPT = "curves";

// The first of each is what a newcomer sees.
const CHOICES = {
  axis: ["steps", "time", "depth"],
  y: ["linear", "log"],
  x: ["linear", "log"],
  pods: ["all", "board", "best", "band"],
  band: ["mean", "iqm"],
  clip: ["off", "on"],
};
const SMOOTHEST = 0.99;
const defaults = () => ({ ...Object.fromEntries(Object.entries(CHOICES).map(([name, [first]]) => [name, first])), smoothing: 0 });

// What of `entries` is a choice that there is.
function known(entries) {
  const view = {};
  for (const [name, value] of Object.entries(entries)) {
    if (CHOICES[name]?.includes(value)) view[name] = value;
    if (name === "smoothing" && Number(value) >= 0 && Number(value) <= SMOOTHEST) view.smoothing = Number(value);
  }
  return view;
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {}; // storage is closed to us, or holds something else
  }
}

// [view, zoomed-in part of the horizontal axis or null]; what the address says goes before what was kept.
export function viewRead() {
  const address = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const shared = known(address);
  const [from, to] = [address.from, address.to].map((value) => Number.parseFloat(value));
  const view = { ...defaults(), ...(Object.keys(shared).length ? shared : known(kept())) };
  return [view, from < to ? [from, to] : null];
}

export function viewKeep(view, zoom) {
  const address = new URLSearchParams();
  for (const [name, value] of Object.entries(view)) if (value !== defaults()[name]) address.set(name, value);
  try {
    localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(address)));
  } catch {
    // It lasts until the page is left, then.
  }
  if (zoom) {
    address.set("from", Number(zoom[0].toPrecision(8)));
    address.set("to", Number(zoom[1].toPrecision(8)));
    address.set("axis", view.axis);
  }
  history.replaceState(null, "", address.size ? `#${address}` : location.pathname + location.search);
}

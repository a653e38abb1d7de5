// Plotly in our colours: whatever in a figure reads --name is that CSS variable, light or dark.

const probe = document.createElement("span");
probe.hidden = true;
document.documentElement.append(probe);

export function color(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

export function coloured(value) {
  if (typeof value === "string") return value.startsWith("--") ? color(value) : value;
  if (Array.isArray(value)) return typeof value[0] === "object" || typeof value[0] === "string" ? value.map(coloured) : value;
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item)]));
  }
  return value;
}

export const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset", showTips: false };

// Narrow screens get narrow margins and fewer ticks.
export function fitted(layout, element) {
  const narrow = element.clientWidth < 480;
  return {
    ...layout,
    margin: narrow ? { l: 42, r: 8, t: 12, b: 38 } : layout.margin,
    xaxis: { ...layout.xaxis, nticks: narrow ? 5 : 8 },
    yaxis: { ...layout.yaxis, nticks: narrow ? 6 : 8 },
  };
}

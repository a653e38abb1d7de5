// Building and replacing elements. Text is always set as text, so nothing a tournament is called can become markup.

const SVG = "http://www.w3.org/2000/svg";

// An address of ours; below that of a share link, when the page is one's.
export const address = (path) => (document.body.dataset.prefix ?? "") + path;

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

// Replace an element's children and leave the focus where it was, told by the link that has it.
export function refill(parent, children) {
  const active = document.activeElement;
  const href = parent.contains(active) ? active.getAttribute("href") : null;
  parent.replaceChildren(...children);
  if (href) parent.querySelector(`[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true });
}

// Make an element's children like `children`, changing only what differs: for what is drawn several times a second.
// Elements stay, so whoever listens does so on the parent.
export function renew(parent, children) {
  children.forEach((child, index) => {
    const old = parent.childNodes[index];
    if (!old) parent.append(child);
    else if (old.nodeName !== child.nodeName) old.replaceWith(child);
    else if (child.nodeType === Node.TEXT_NODE) setText(old, child.textContent);
    else {
      for (const { name } of [...old.attributes]) if (!child.hasAttribute(name)) old.removeAttribute(name);
      for (const { name, value } of child.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
      renew(old, [...child.childNodes]);
    }
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

export const json = (id) => JSON.parse(document.getElementById(id).textContent);

// A line over the whole width, as the template tag `sparkline` draws it.
export function sparkline(values, width = 240, height = 26) {
  const known = values.filter((value) => Number.isFinite(value));
  if (!known.length) return null;
  if (known.length === 1) known.push(known[0]);
  const low = Math.min(...known);
  const span = Math.max(...known) - low;
  const share = (value) => (span ? (value - low) / span : 0.5);
  const points = known.map((value, index) =>
    `${((width * index) / (known.length - 1)).toFixed(1)},${(height - 2 - (height - 4) * share(value)).toFixed(1)}`);
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("polyline", { points: points.join(" ") }));
}

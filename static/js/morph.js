// Make one tree like another in place, so that what did not change keeps its focus, and bars glide to their new length.

// What somebody opened stays open.
const stays = (element, name) => name === "open" && element.nodeName === "DETAILS";

function attributesLike(old, next) {
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && !stays(old, name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
}

const alike = (old, next) => old && old.nodeType === next.nodeType && old.nodeName === next.nodeName
  && (old.id ?? "") === (next.id ?? "") && (old.dataset?.call ?? "") === (next.dataset?.call ?? "");

export function childrenLike(old, next) {
  const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let place = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const found = named.get(wanted.id) ?? (alike(place, wanted) ? place : null);
    if (!found) {
      old.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (found === place) place = place.nextSibling;
    else old.insertBefore(found, place);
    morph(found, wanted);
  }
  while (place) {
    const rest = place.nextSibling;
    place.remove();
    place = rest;
  }
}

// What writes its own text, as times in the reader's zone do, carries data-relative: only its attributes follow. What a
// script draws or a person has set carries data-kept, and follows nothing.
function morph(old, next) {
  if (old.isEqualNode(next) || "kept" in (old.dataset ?? {})) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = next.data;
    return;
  }
  attributesLike(old, next);
  if (!("relative" in old.dataset)) childrenLike(old, next);
}

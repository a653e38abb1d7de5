// A finger that is lifted leaves the page, but what it pointed at is still meant until another place is touched.

export const isTouch = (event) => event.pointerType === "touch";

// Call `clear` when a finger comes down on what is not in `element`, before anything there hears of it.
export function onTouchElsewhere(element, clear) {
  const touched = (event) => isTouch(event) && !element.contains(event.target) && clear();
  document.addEventListener("pointerover", touched, { capture: true });
}

/** Tells when a place on the page comes near to what the reader sees: within one height of the window. */

const waiting = new Map();

const observer = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) {
    if (!isIntersecting) continue;
    observer.unobserve(target);
    waiting.get(target).forEach((action) => action());
    waiting.delete(target);
  }
}, {rootMargin: "100% 0px"});

/** Calls `action` once, when `element` is near. What is in a closed fold or tab is not near. */
export function whenNear(element, action) {
  if (!waiting.has(element)) {
    waiting.set(element, []);
    observer.observe(element);
  }
  waiting.get(element).push(action);
}

export const all = (selector) => [...document.querySelectorAll(selector)];

/** An element with properties and children. */
export function element(name, properties, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

/**
 * Adds a style sheet to the page, once however many widgets ask for it.
 * @param {string} name what it styles; a second sheet of the same name is left out
 * @param {string} css
 */
export function addStyles(name, css) {
  const id = `widget-styles-${name}`;
  if (document.getElementById(id)) return;
  document.head.append(Object.assign(document.createElement("style"), {id, textContent: css}));
}

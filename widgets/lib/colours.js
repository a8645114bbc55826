import {addStyles} from "./styles.js";

/**
 * What a colour means, the same in every widget: role → [on a light page, on a dark page].
 * Each has a contrast of 4.5 : 1 or more against its page, so that it can carry text.
 */
export const ROLES = {
  target: ["#1d5fb4", "#79b4ff"],
  draft: ["#a85400", "#f2a65a"],
  accepted: ["#1b7a3d", "#5fcf85"],
  rejected: ["#b3261e", "#ff8a80"],
  correction: ["#7a3db8", "#c9a2ff"],
  muted: ["#5c6470", "#9ca6b4"]
};

const SURFACES = {
  line: ["#d3d8df", "#3d4653"],
  soft: ["#f3f5f8", "#1f2630"],
  paper: ["#ffffff", "#14181e"],
  ink: ["#1b2027", "#e6eaf0"]
};

/** The CSS value of a role's colour, for whichever theme the page has. */
export const role = (name) => `var(--role-${name})`;

/** Defines the colour variables on the page. It follows the book's theme switch, Quarto's, or else the system. */
export function useColours() {
  addStyles(
    "colours",
    `
    :root, [data-theme="light"], body.quarto-light { ${variables(0)} }
    @media (prefers-color-scheme: dark) { :root:not([data-theme]) { ${variables(1)} } }
    [data-theme="dark"], body.quarto-dark { ${variables(1)} }
    @media print { :root, [data-theme], body.quarto-dark { ${variables(0)} } }
  `
  );
}

function variables(theme) {
  const declare = (prefix, colours) =>
    Object.entries(colours).map(([name, pair]) => `--${prefix}-${name}: ${pair[theme]};`);
  const scheme = `--widget-scheme: ${["light", "dark"][theme]};`;
  return [...declare("role", ROLES), ...declare("widget", SURFACES), scheme].join(" ");
}

/** Sets the theme before the first paint: the reader's choice, or else the system's. */
const stored = (() => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // storage may be blocked; the switch then lasts for the page
  }
})();
const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.documentElement.dataset.theme = stored || system;

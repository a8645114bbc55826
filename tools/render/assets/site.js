/** What the frame of a page does in the browser; without it the page reads the same. */
import {all, element} from "./dom.js";
import {wireSearch} from "./search.js";
import {wireTerms} from "./terms.js";

const root = new URL("..", document.currentScript.src); // this script stands in assets/

/** The button switches the theme and remembers the choice; until then the page follows the system. */
function switchTheme() {
  const root = document.documentElement;
  const button = document.getElementById("theme-button");
  const show = (theme) => {
    root.dataset.theme = theme;
    button.setAttribute("aria-pressed", theme === "dark");
  };
  const stored = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  show(root.dataset.theme);
  button.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    show(theme);
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // The choice then lasts for this page.
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({matches}) => {
    if (!stored()) show(matches ? "dark" : "light");
  });
}

function addCopyButtons() {
  if (!navigator.clipboard) return; // browsers offer it only over HTTPS and on this machine
  for (const block of all(".code-block")) {
    const label = element("span", {className: "visually-hidden", textContent: "Copy code"});
    const icon = element("span", {className: "icon"});
    icon.setAttribute("aria-hidden", "true");
    const button = element("button", {type: "button", className: "copy-code"}, icon, label);
    button.addEventListener("click", () => copy(block.querySelector("code").textContent, button, label));
    block.append(button);
  }
}

async function copy(text, button, label) {
  await navigator.clipboard.writeText(text);
  button.dataset.copied = "";
  label.textContent = "Copied";
  setTimeout(() => {
    delete button.dataset.copied;
    label.textContent = "Copy code";
  }, 1500);
}

function addAnchors() {
  for (const heading of all("#content :is(h2, h3, h4)")) {
    const id = heading.id || heading.closest("section")?.id;
    if (!id) continue;
    const anchor = element("a", {className: "anchor", href: `#${id}`, textContent: "#"});
    anchor.setAttribute("aria-label", `Link to: ${heading.textContent.trim()}`);
    heading.append(anchor);
  }
}

function select(tab) {
  for (const other of tab.parentElement.children) {
    const selected = other === tab;
    other.setAttribute("aria-selected", selected);
    other.tabIndex = selected ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = !selected;
  }
}

function wireTabs() {
  for (const list of all('[role="tablist"]')) {
    const tabs = [...list.children];
    list.addEventListener("click", ({target}) => tabs.includes(target) && select(target));
    list.addEventListener("keydown", (event) => {
      const at = tabs.indexOf(document.activeElement);
      const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const tab = tabs.at(to % tabs.length);
      select(tab);
      tab.focus();
    });
  }
}

/** What scrolls can be reached by Tab, and only that. */
function focusScrollers() {
  const mark = (scroller) => {
    if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
  };
  const scrollers = all(".equation-body, .table-scroll, .cell-output-display");
  const observer = new ResizeObserver((entries) => entries.forEach(({target}) => mark(target)));
  scrollers.forEach((scroller) => observer.observe(scroller));
  document.fonts.ready.then(() => scrollers.forEach(mark)); // fonts change widths within, which no box reports
}

/** Opens the folds and tabs that hide the target of the address. */
function revealTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let node = target; node; node = node.parentElement) {
    if (node.localName === "details") node.open = true;
    if (node.getAttribute("role") === "tabpanel") select(document.getElementById(node.getAttribute("aria-labelledby")));
  }
  target.scrollIntoView();
}

/** Marks the section that is being read in the page's contents. */
function followReading() {
  const links = new Map(all("#toc a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const targets = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  if (!targets.length) return;
  let current = null;
  const mark = () => {
    const line = innerHeight * 0.3;
    const read = targets.filter((target) => target.getBoundingClientRect().top < line).pop();
    const link = read && links.get(read.id);
    if (link === current) return;
    current?.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "true");
    link?.scrollIntoView({block: "nearest"});
    current = link;
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  }, {passive: true});
  mark();
}

switchTheme();
wireSearch(root);
wireTerms();
addCopyButtons();
addAnchors();
wireTabs();
focusScrollers();
followReading();
addEventListener("hashchange", revealTarget);
if (location.hash) revealTarget();
// A list opened over the page closes when one of its links stays on the page.
all("#toc a").forEach((link) => link.addEventListener("click", () => document.getElementById("toc").hidePopover?.()));

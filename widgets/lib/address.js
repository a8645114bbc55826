/**
 * A widget's state in the page's address, so that a teacher can link to what the class should see:
 *
 *   #w=speedup,alpha:0.9,gamma:10;round,round:2,step:5
 *
 * names widgets, and under each the fields of its state. A page's only widget of a kind needs no name: `#w=alpha:0.9`
 * reaches every widget that has such a field.
 */

const PREFIX = "#w=";

/** What a field of a state may hold: how it is written, and read back; reading gives undefined where it is not allowed. */
export const number = (least, most) => ({
  write: (value) => String(+value.toPrecision(6)),
  read: (text) => (text !== "" && Number(text) >= least && Number(text) <= most ? Number(text) : undefined)
});

export const integer = (least, most) => ({
  write: String,
  read: (text) => (/^\d+$/.test(text) && +text >= least && +text <= most ? +text : undefined)
});

export const oneOf = (values) => ({
  write: (value) => encodeURIComponent(value),
  read: (text) => values.find((value) => encodeURIComponent(value) === text)
});

export const distribution = (size) => ({
  write: (probs) => probs.map((mass) => +mass.toPrecision(6)).join("_"),
  read(text) {
    const probs = text.split("_").map((mass) => number(0, 1).read(mass));
    if (probs.length !== size || probs.includes(undefined)) return undefined;
    const total = probs.reduce((sum, mass) => sum + mass, 0);
    return Math.abs(total - 1) < 1e-4 ? probs.map((mass) => mass / total) : undefined;
  }
});

/** The groups of an address, first to last: {name, fields: [key, text][]}; name is null where none is given. */
export function parseAddress(hash) {
  if (!hash.startsWith(PREFIX)) return [];
  return hash
    .slice(PREFIX.length)
    .split(";")
    .map((group) => {
      const parts = group.split(",");
      const name = parts[0].includes(":") ? null : parts.shift();
      return {name, fields: parts.map((part) => [part.split(":")[0], part.split(":").slice(1).join(":")])};
    });
}

const writeGroup = ({name, fields}) => [name, ...fields.map((pair) => pair.join(":"))].join(",");

/** The part of an address that holds one widget's state. */
export function stateGroup(name, state, fields) {
  return {name, fields: Object.entries(fields).map(([key, {write}]) => [key, write(state[key])])};
}

/** An address in which one widget's group stands first, before those of the other widgets that it had. */
export function withGroup(hash, group) {
  const others = parseAddress(hash).filter(({name}) => name !== null && name !== group.name);
  return PREFIX + [group, ...others].map(writeGroup).join(";");
}

/**
 * What an address says about one widget; a field that it doesn't have, or that doesn't allow the value, is left out
 * with a warning.
 */
export function readState(hash, name, fields) {
  const groups = parseAddress(hash);
  const mine =
    groups.find((group) => group.name === name) ||
    groups.find((group) => group.name === null && group.fields.some(([key]) => key in fields));
  const state = {};
  for (const [key, text] of mine ? mine.fields : []) {
    const value = key in fields ? fields[key].read(text) : undefined;
    if (value === undefined) console.warn(`widget ${name}: the address can't set ${key} to "${text}"`);
    else state[key] = value;
  }
  return state;
}

/**
 * Keeps a widget and the address in step. The address is read at the start and whenever it changes; it is written,
 * without a new entry in the history, after each change by the reader, though not during a drag or while a key is held
 * down: browsers refuse an address that changes too often.
 * @param {HTMLElement} root the widget
 * @param {{name: string, fields: object, get: () => object, set: (state: object) => void}} state `set` takes some of
 *   the fields; `get` returns all
 * @returns {{changed: () => void, link: () => string}} to be called when the reader has changed something; `link` is
 *   the address of the page with this widget's state alone
 */
export function keepInAddress(root, {name, fields, get, set}) {
  let held = false;
  let waiting = false;

  function write() {
    waiting = false;
    history.replaceState(history.state, "", withGroup(location.hash, stateGroup(name, get(), fields)));
  }

  function release() {
    held = false;
    if (waiting) write();
  }

  function apply() {
    const state = readState(location.hash, name, fields);
    if (Object.keys(state).length > 0) set(state);
  }

  function follow() {
    if (!root.isConnected) return removeEventListener("hashchange", follow); // a newer one took its place
    apply();
    if (isFirst(name)) bringIntoView(root);
  }

  root.addEventListener("keydown", ({repeat}) => void (held = repeat), true);
  root.addEventListener("keyup", release);
  root.addEventListener("pointerdown", () => {
    held = true;
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, release, {once: true});
  }, true);
  addEventListener("hashchange", follow);
  apply();
  if (isFirst(name) && cameByLink()) bringIntoView(root);
  return {
    changed() {
      if (held) waiting = true;
      else write();
    },
    link: () => new URL(withGroup("", stateGroup(name, get(), fields)), location.href).href
  };
}

/** Whether the address names this widget before any other. */
function isFirst(name) {
  const [first] = parseAddress(location.hash);
  return first !== undefined && [null, name].includes(first.name);
}

/** After a reload, or on the way back, the browser itself returns to where the reader was. */
const cameByLink = () => performance.getEntriesByType("navigation")[0].type === "navigate";

/** Scrolls to a widget, once the page has made room for it. */
function bringIntoView(root) {
  new ResizeObserver((_, observer) => {
    observer.disconnect();
    root.scrollIntoView();
  }).observe(root);
}

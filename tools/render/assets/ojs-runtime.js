/**
 * What a page's compiled OJS module runs on: `openPage()` starts the Observable runtime, defines
 * what Python handed over, and returns the page that the module adds its cells to.
 *
 * A cell is evaluated, and what it imports is fetched, when its place comes near to what the reader sees, or when a
 * cell that is near needs it: a page of many widgets loads as fast as a page of one.
 */
import {Inspector} from "@observablehq/inspector";
import {Runtime} from "@observablehq/runtime";
import {builtins} from "./ojs-builtins.js";
import {whenNear} from "./ojs-near.js";

/** A page's cells: each definition is a runtime variable, drawn where its cell stands. */
class Page {
  constructor(main, base) {
    this.main = main;
    this.base = base;
    this.places = new Map();
  }

  /**
   * Adds one variable and draws it in the cell's place.
   * @param {string} cellId id of the place; a cell without one is defined but drawn nowhere
   * @param {string|null} name
   * @param {string[]} inputs names that the definition takes
   * @param {Function} definition
   */
  show(cellId, name, inputs, definition) {
    const place = this.placeOf(cellId);
    if (!place) return void this.main.variable().define(name, inputs, definition);
    const output = place.addOutput(name);
    if (name === null) return whenNear(place.element, () => this.main.variable(output).define(null, inputs, definition));
    // Other cells may need the name earlier; whoever looks at it first, the output or such a cell, has it computed.
    this.main.define(name, inputs, definition);
    whenNear(place.element, () => this.main.variable(output).define(null, [name], (value) => value));
  }

  /** Draws an input as `viewof name`, and adds `name`, its value. */
  showView(cellId, name, inputs, definition) {
    this.show(cellId, `viewof ${name}`, inputs, definition);
    this.main.define(name, ["Generators", `viewof ${name}`], (Generators, view) => Generators.input(view));
  }

  /** Adds `mutable name`, which cells can set, and draws `name`, its value. */
  showMutable(cellId, name, inputs, initial) {
    this.main.define(`initial ${name}`, inputs, initial);
    this.main.define(`mutable ${name}`, ["Mutable", `initial ${name}`], (Mutable, value) => new Mutable(value));
    this.show(cellId, name, [`mutable ${name}`], (mutable) => mutable.generator);
  }

  /**
   * Adds what a cell imports: one variable per name, and in the cell's place nothing but an error.
   * @param {string} cellId
   * @param {Object<string, string>} locals name in the page → name of the export
   * @param {() => Promise<object>} load fetches the module
   * @param {string[]} files the module and all that it imports, fetched at once rather than one after the other
   */
  importModule(cellId, locals, load, files) {
    const fetch = () => {
      files.forEach((file) => preload(new URL(file, this.base).href));
      return load();
    };
    if (document.getElementById(cellId)) this.show(cellId, null, [], async () => void (await fetch()));
    for (const [local, exported] of Object.entries(locals)) {
      this.main.define(local, [], async () => (await fetch())[exported]);
    }
  }

  placeOf(cellId) {
    const element = document.getElementById(cellId);
    if (element && !this.places.has(cellId)) this.places.set(cellId, new Place(element));
    return this.places.get(cellId);
  }
}

const preloaded = new Set();

function preload(href) {
  if (preloaded.has(href)) return;
  preloaded.add(href);
  document.head.append(Object.assign(document.createElement("link"), {rel: "modulepreload", href}));
}

/** Where one OJS block is drawn; `data-ojs-state` says how its outputs stand. */
class Place {
  constructor(element) {
    this.element = element;
    this.outputs = [];
  }

  addOutput(name) {
    const inline = this.element.localName === "span";
    const node = this.element.appendChild(document.createElement(inline ? "span" : "div"));
    const output = new (inline ? InlineOutput : BlockOutput)(node, name, () => this.update());
    this.outputs.push(output);
    return output;
  }

  update() {
    if (this.state() === "pending") return;
    const say = () => {
      this.element.dataset.ojsState = this.state();
    };
    // Charts draw themselves once they know their width; until then the styles keep the place's room and hide the rest.
    if (this.element.dataset.ojsState) say();
    else requestAnimationFrame(() => requestAnimationFrame(say));
  }

  state() {
    const states = this.outputs.map((output) => output.state);
    return ["error", "pending", "ready"].find((state) => states.includes(state));
  }
}

/** Observer of one variable: draws its value or its error. */
class Output {
  constructor(node, name, changed) {
    this._node = node; // the name by which the runtime finds it, for `visibility`
    this.name = name;
    this.changed = changed;
    this.state = "pending";
  }

  pending() {}

  fulfilled(value) {
    this.draw(value);
    this.settle("ready");
  }

  rejected(error) {
    const {name} = this;
    console.error(`OJS cell${name ? ` ${name}` : ""} failed:`, error);
    const box = document.createElement(this._node.localName);
    box.className = "ojs-error";
    box.setAttribute("role", "alert");
    box.textContent = `${name ? `${name}: ` : ""}${error.message || error}`;
    this._node.replaceChildren(box);
    this.settle("error");
  }

  settle(state) {
    this.state = state;
    this.changed();
  }
}

/** Draws as Observable does: nodes as they are, other values inspected, undefined not at all. */
class BlockOutput extends Output {
  draw(value) {
    if (value === undefined) return this._node.replaceChildren();
    if (this.state === "error") this._node.replaceChildren();
    this.inspector = this.inspector || new Inspector(this._node);
    this.inspector.fulfilled(value, this.name);
  }
}

/** Draws a value within a sentence: nodes as they are, lists one after the other, else text. */
class InlineOutput extends Output {
  draw(value) {
    const parts = [value].flat(Infinity).filter((part) => part != null && part !== false);
    this._node.replaceChildren(...parts.map((part) => (part instanceof Node ? part : String(part))));
  }
}

/**
 * Starts the runtime with the values of every `<script type="ojs-define">` of the page.
 * @param {string} base address of the page's module, to which what it imports is relative
 */
export function openPage(base) {
  const main = new Runtime(builtins).module();
  for (const script of document.querySelectorAll('script[type="ojs-define"]')) {
    for (const {name, value} of JSON.parse(script.textContent).contents) main.define(name, [], () => value);
  }
  return new Page(main, base);
}

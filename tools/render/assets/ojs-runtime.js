/**
 * What a page's compiled OJS module runs on: `openPage()` starts the Observable runtime, defines
 * what Python handed over, and returns the page that the module adds its cells to.
 */
import {Inspector} from "@observablehq/inspector";
import {Runtime} from "@observablehq/runtime";
import {builtins} from "./ojs-builtins.js";

/** A page's cells: each definition is a runtime variable, drawn where its cell stands. */
class Page {
  constructor(main) {
    this.main = main;
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
    this.main.variable(this.observer(cellId)).define(name, inputs, definition);
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
   */
  importModule(cellId, locals, load) {
    const quiet = async () => void (await load());
    if (document.getElementById(cellId)) this.show(cellId, null, [], quiet);
    for (const [local, exported] of Object.entries(locals)) {
      this.main.define(local, [], async () => (await load())[exported]);
    }
  }

  observer(cellId) {
    const element = document.getElementById(cellId);
    if (!element) return undefined;
    if (!this.places.has(cellId)) this.places.set(cellId, new Place(element));
    return this.places.get(cellId).addOutput();
  }
}

/** Where one OJS block is drawn; `data-ojs-state` says how its outputs stand. */
class Place {
  constructor(element) {
    this.element = element;
    this.outputs = [];
  }

  addOutput() {
    const inline = this.element.localName === "span";
    const node = this.element.appendChild(document.createElement(inline ? "span" : "div"));
    const output = new (inline ? InlineOutput : BlockOutput)(node, () => this.update());
    this.outputs.push(output);
    return output;
  }

  update() {
    const states = this.outputs.map((output) => output.state);
    const worst = ["error", "pending", "ready"].find((state) => states.includes(state));
    if (worst === "pending") return;
    this.element.dataset.ojsState = worst;
  }
}

/** Observer of one variable: draws its value or its error. */
class Output {
  constructor(node, changed) {
    this._node = node; // the name by which the runtime finds it, for `visibility`
    this.changed = changed;
    this.state = "pending";
  }

  pending() {}

  fulfilled(value, name) {
    this.draw(value, name);
    this.settle("ready");
  }

  rejected(error, name) {
    console.error(`OJS cell${name ? ` ${name}` : ""} failed:`, error);
    const box = document.createElement(this._node.localName);
    box.className = "ojs-error";
    box.setAttribute("role", "alert");
    box.textContent = `${name ? `${name}: ` : ""}${error}`;
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
  draw(value, name) {
    if (value === undefined) return this._node.replaceChildren();
    if (this.state === "error") this._node.replaceChildren();
    this.inspector = this.inspector || new Inspector(this._node);
    this.inspector.fulfilled(value, name);
  }
}

/** Draws a value within a sentence: nodes as they are, lists one after the other, else text. */
class InlineOutput extends Output {
  draw(value) {
    const parts = [value].flat(Infinity).filter((part) => part != null && part !== false);
    this._node.replaceChildren(...parts.map((part) => (part instanceof Node ? part : String(part))));
  }
}

/** Starts the runtime with the values of every `<script type="ojs-define">` of the page. */
export function openPage() {
  const main = new Runtime(builtins).module();
  for (const script of document.querySelectorAll('script[type="ojs-define"]')) {
    for (const {name, value} of JSON.parse(script.textContent).contents) main.define(name, [], () => value);
  }
  return new Page(main);
}

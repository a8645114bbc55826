/** What must hold for the OJS cells of a page before they are compiled. */
import {existsSync} from "node:fs";
import path from "node:path";
import {builtins, vendoredNames} from "../assets/ojs-builtins.js";
import {ModuleError, resolveImport} from "./modules.mjs";
import {definedNames, referencedNames} from "./ojs.mjs";

const VENDORED_MODULE = "widgets/vendor/observable.js";

/** Names that the Observable runtime itself defines. */
const RUNTIME_NAMES = ["invalidation", "visibility", "@variable"];

/** Browser globals besides those that the parser knows; a short list, so that a typo is caught. */
const BROWSER_NAMES = `
  AbortController AggregateError BigInt64Array BigUint64Array CSS DOMParser Element Event EventTarget
  HTMLElement IntersectionObserver KeyboardEvent MouseEvent MutationObserver Node Option PointerEvent
  ResizeObserver SVGElement Text URLSearchParams WeakRef XMLSerializer getComputedStyle globalThis history
  localStorage location matchMedia queueMicrotask self sessionStorage structuredClone
`.trim().split(/\s+/);

const KNOWN_NAMES = new Set([...Object.keys(builtins), ...RUNTIME_NAMES, ...BROWSER_NAMES]);

/**
 * Checks the imports of a page's cells.
 * @returns {Set<string>} every module that the page loads, paths relative to the root
 */
export function checkImports(cells, page, modules, report) {
  const loaded = new Set();
  for (const {cell, where} of cells) {
    if (cell.body.type !== "ImportDeclaration") continue;
    attempt(where, report, () => {
      for (const file of importedFiles(cell.body, page.base, modules)) loaded.add(file);
    });
  }
  return loaded;
}

function importedFiles({source, specifiers, injections}, base, modules) {
  if (injections || specifiers.some(({view, mutable}) => view || mutable)) {
    throw new ModuleError(`import from "${source.value}": viewof, mutable and with need a notebook, not a module`);
  }
  const file = resolveImport(source.value, base, modules.root);
  modules.requireExports(file, specifiers.map(({imported}) => imported.name));
  return modules.closureOf(file);
}

/**
 * Checks that each name is defined once, and that each name used is defined.
 * @returns {Set<string>} the names that the page defines
 */
export function checkNames(cells, page, report) {
  const definedAt = new Map(page.defined.map((name) => [name, "ojs_define"]));
  for (const {cell, where} of cells) {
    for (const name of definedNames(cell)) {
      if (definedAt.has(name)) report(where, `${name} is already defined (${definedAt.get(name)})`);
      else definedAt.set(name, where);
    }
  }
  for (const {cell, where} of cells) {
    for (const name of referencedNames(cell)) {
      if (definedAt.has(name) || KNOWN_NAMES.has(name)) continue;
      report(where, `${name} is not defined: neither a cell of this page, nor ojs_define, nor an import gives it`);
    }
  }
  return new Set(definedAt.keys());
}

/** Checks that the libraries used without an import are there, and adds their module to those loaded. */
export function checkVendored(cells, defined, modules, loaded, report) {
  for (const {cell, where} of cells) {
    const names = referencedNames(cell).filter((name) => vendoredNames.includes(name) && !defined.has(name));
    if (!names.length) continue;
    attempt(where, report, () => {
      modules.requireExports(resolveImport(`/${VENDORED_MODULE}`, "", modules.root), names);
      loaded.add(VENDORED_MODULE);
    });
  }
}

/**
 * Checks that attached files exist.
 * @returns {string[]} their paths relative to the root
 */
export function checkFiles(cells, page, modules, report) {
  const files = new Set();
  for (const {cell, where} of cells) {
    for (const name of cell.fileAttachments.keys()) {
      const file = path.posix.join(page.base, name);
      if (!existsSync(path.join(modules.root, file))) report(where, `FileAttachment("${name}"): there is no file ${file}`);
      files.add(file);
    }
  }
  return [...files];
}

function attempt(where, report, action) {
  try {
    action();
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error;
    report(where, error.message);
  }
}

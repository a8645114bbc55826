// How the modules must be written so that both engines serve them offline: ES2020, relative imports, vendored bytes.

import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {readFile, readdir} from "node:fs/promises";
import {basename} from "node:path";
import {test} from "node:test";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";
import {parse} from "acorn";
import {listed, REGISTRY} from "./registered.js";

const WIDGETS = new URL("../../widgets/", import.meta.url);
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const names = (await readdir(WIDGETS, {recursive: true})).filter((name) => name.endsWith(".js"));
const sources = new Map(
  await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, WIDGETS), "utf8")]))
);

const asES2020 = (source) => parse(source, {ecmaVersion: 2020, sourceType: "module"});

function importedFrom(source) {
  return asES2020(source)
    .body.filter((node) => node.source)
    .map((node) => node.source.value);
}

test("every module is ES2020", () => {
  assert.ok(sources.size > 8);
  for (const [name, source] of sources) assert.doesNotThrow(() => asES2020(source), name);
  assert.throws(() => asES2020("class A { field = 1 }"), "the check can fail");
});

test("every import is relative and names a file that is there", () => {
  for (const [name, source] of sources) {
    for (const specifier of importedFrom(source)) {
      assert.match(specifier, /^\.\.?\//, `${name} imports ${specifier}`);
      const target = fileURLToPath(new URL(specifier, new URL(name, WIDGETS))).slice(fileURLToPath(WIDGETS).length);
      assert.ok(sources.has(target), `${name} imports ${specifier}, which is not there`);
    }
  }
});

test("every widget is listed in the registry, under its file's name", async () => {
  const modules = names.filter((name) => !name.includes("/") && name !== "gallery.js");
  const entries = await listed(REGISTRY);
  assert.deepEqual(entries.map(({name}) => `${name}.js`).sort(), modules.sort());
  for (const {name, module} of entries) assert.equal(basename(module.pathname), `${name}.js`);
});

test("widgets have named exports only", () => {
  for (const [name, source] of sources) assert.doesNotMatch(source.slice(0, 1e5), /^export default/m, name);
});

test("nothing makes code from strings or sets a handler by attribute", () => {
  for (const [name, source] of sources) {
    if (basename(name) === "observable.js") continue; // tools/vendor.mjs looks at it while bundling
    assert.doesNotMatch(source, /\beval\(|new Function|setAttribute\("on/, name);
  }
});

test("the vendored bundle has the bytes that the lock file gives", async () => {
  await promisify(execFile)(process.execPath, ["tools/vendor.mjs", "--check"], {cwd: ROOT});
});

test("the bundle exports what chapters and widgets draw with", async () => {
  const vendor = await import("../../widgets/vendor/observable.js");
  assert.deepEqual(Object.keys(vendor).sort(), ["Inputs", "Plot", "d3", "htl", "html", "md", "svg"]);
  for (const name of ["scaleLinear", "hierarchy", "format", "max", "line"])
    assert.equal(typeof vendor.d3[name], "function", name);
  assert.equal(typeof vendor.Plot.plot, "function");
  assert.equal(typeof vendor.Inputs.range, "function");
});

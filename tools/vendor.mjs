// Bundles the Observable libraries that widgets and OJS cells draw with into one committed module, so that a
// clone works offline and under Quarto right away.
//
//   node tools/vendor.mjs           write widgets/vendor/observable.js and LICENSES.txt
//   node tools/vendor.mjs --check   rebuild in memory; exit 1 unless the committed files have the same bytes

import {readFile, writeFile} from "node:fs/promises";
import {dirname, join, relative} from "node:path";
import {fileURLToPath} from "node:url";
import {build} from "esbuild";
import {licences, packageFolders} from "./licences.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const VENDOR = join(ROOT, "widgets", "vendor");

// Everything that a widget or a chapter may import. `d3` holds only the modules listed: Plot covers the rest.
// Inputs keeps its style sheet in a file of its own: it goes into the page once, as Inputs' own UMD build does it.
const ENTRY = `
  import * as Inputs from "@observablehq/inputs";
  import inputsCSS from "@observablehq/inputs/dist/index.css";
  import * as array from "d3-array";
  import * as format from "d3-format";
  import * as hierarchy from "d3-hierarchy";
  import * as scale from "d3-scale";
  import * as shape from "d3-shape";
  import {html} from "htl";
  import {marked} from "marked";

  export * as Plot from "@observablehq/plot";
  export * as htl from "htl";
  export {html, svg} from "htl";
  export {Inputs};
  export const d3 = {...array, ...format, ...hierarchy, ...scale, ...shape};

  /** Markdown as a tagged template, as in Observable: md\`**bold** \${x}\` returns an element. */
  export function md(strings, ...values) {
    const element = html\`<div>\`;
    element.innerHTML = marked.parse(String.raw({raw: strings}, ...values), {async: false});
    return element;
  }

  const [, inputsClass] = inputsCSS.match(/\\.(inputs-\\w+)/);
  if (typeof document !== "undefined" && !document.querySelector("style." + inputsClass)) {
    document.head.append(Object.assign(document.createElement("style"), {className: inputsClass, textContent: inputsCSS}));
  }
`;

const HTL = join(ROOT, "node_modules", "htl", "dist", "index.js");

// htl lets the browser parse `onclick=${f}` as an attribute and then swaps in the function; a strict content
// security policy reports each such attribute. Its own spread syntax, `${{onclick: f}}`, leaves no attribute.
const HTL_ATTRIBUTE = "string += `::${j}`;";
const HTL_SPREAD =
  "string = string.slice(0, attributeNameStart - strings[j].length) + `::${j}=''`; values[j] = {[name]: value};";

const quietHandlers = {
  name: "quiet-handlers",
  setup(esbuild) {
    esbuild.onLoad({filter: /htl\/dist\/index\.js$/}, async ({path}) => {
      const source = await readFile(path, "utf8");
      if (source.split(HTL_ATTRIBUTE).length !== 2) throw new Error(`htl no longer has "${HTL_ATTRIBUTE}" once`);
      return {contents: source.replace(HTL_ATTRIBUTE, () => HTL_SPREAD)};
    });
  }
};

/** The bundle's text and the folders of the packages that went into it. */
async function bundle() {
  const result = await build({
    stdin: {contents: ENTRY, resolveDir: ROOT, sourcefile: "observable-entry.js"},
    absWorkingDir: ROOT,
    bundle: true,
    format: "esm",
    target: "es2020",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    write: false,
    loader: {".css": "text"},
    alias: {htl: HTL}, // one copy, for Inputs too
    plugins: [quietHandlers]
  });
  const [output] = Object.values(result.metafile.outputs);
  const used = Object.entries(output.inputs).filter(([, {bytesInOutput}]) => bytesInOutput > 0);
  return {code: result.outputFiles[0].text, packages: packageFolders(used.map(([path]) => path))};
}

/** The site's content security policy forbids code made from strings. */
function assertNoEval(code) {
  const found = code.match(/\bnew Function\b|\beval\(|[^.\w$]Function\(/);
  if (found) throw new Error(`the bundle makes code from strings: …${code.substr(found.index - 60, 120)}…`);
}

async function main() {
  const {code, packages} = await bundle();
  assertNoEval(code);
  const files = {"observable.js": code, "LICENSES.txt": await licences("observable.js contains these packages.", packages, ROOT)};
  const check = process.argv.includes("--check");
  for (const [name, text] of Object.entries(files)) {
    const path = join(VENDOR, name);
    if (check) {
      const committed = await readFile(path, "utf8").catch(() => null);
      if (committed === text) continue;
      console.error(`${relative(ROOT, path)} differs from what package-lock.json gives: run "node tools/vendor.mjs"`);
      process.exitCode = 1;
    } else {
      await writeFile(path, text);
      console.log(`${relative(ROOT, path)}: ${(Buffer.byteLength(text) / 1000).toFixed(0)} kB`);
    }
  }
}

await main();

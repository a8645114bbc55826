/**
 * The node side of the renderer: one JSON request on stdin, one JSON response on stdout.
 *
 * Request:
 *   {pages: [{id, base, defined: [name], cells: [{id, source, inline, where}]}],
 *    math: [{tex, display, where}], root: "/abs/project", out: "/abs/project/_site"}
 * Response:
 *   {assets: {css, theme, site, runtime},                 paths below the site's root
 *    pages: {<id>: {module, imports: [path], files: [path]}},  modules that it may load; files that cells attach
 *    math: [html], errors: [{where, message}]}
 *
 * A page with an error has no entry in `pages`; a formula with one has null in `math`.
 */
import {createHash} from "node:crypto";
import {mkdir, writeFile} from "node:fs/promises";
import path from "node:path";
import {pathToFileURL} from "node:url";
import katex from "katex";
import {buildAssets, removeReplaced} from "./assets.mjs";
import {checkFiles, checkImports, checkNames, checkVendored} from "./checks.mjs";
import {Modules} from "./modules.mjs";
import {compilePage, parsePage} from "./ojs.mjs";

/** Answers a request; see the top of this file. */
export async function compile({pages, math, root, out}) {
  const errors = [];
  const assets = await buildAssets(out);
  const modules = new Modules(root);
  const compiled = {};
  for (const page of pages) {
    const result = preparePage(page, modules, assets.runtime, errors);
    if (result) compiled[page.id] = await writePage(page.id, result, out);
  }
  return {assets, pages: compiled, math: math.map((formula) => typeset(formula, errors)), errors: distinct(errors)};
}

/** Checks and compiles a page; null if it has an error. */
function preparePage(page, modules, runtime, errors) {
  const found = [];
  const report = (where, message) => found.push({where, message});
  const cells = parsePage(page, report);
  const imports = checkImports(cells, page, modules, report);
  const defined = checkNames(cells, page, report);
  checkVendored(cells, defined, modules, imports, report);
  const files = checkFiles(cells, page, modules, report);
  errors.push(...found);
  if (found.length) return null;
  const code = compilePage(cells, page.base, modules, `../${path.basename(runtime)}`);
  return {code, imports: [...imports].sort(), files};
}

/** Writes a page's module under a name that changes with its content, and removes the one it replaces. */
async function writePage(id, {code, imports, files}, out) {
  const folder = path.join(out, "assets", "ojs");
  const name = `${id}.${createHash("sha256").update(code).digest("hex").slice(0, 10)}.js`;
  await mkdir(folder, {recursive: true});
  await writeFile(path.join(folder, name), code);
  await removeReplaced(folder, [name]);
  return {module: `assets/ojs/${name}`, imports, files};
}

function typeset({tex, display, where}, errors) {
  try {
    return katex.renderToString(tex, {displayMode: display, output: "htmlAndMathml", throwOnError: true, strict: "ignore"});
  } catch (error) {
    if (!(error instanceof katex.ParseError)) throw error;
    errors.push({where, message: `TeX error: ${error.message.replace(/^KaTeX parse error: /, "")}`});
    return null;
  }
}

function distinct(errors) {
  return [...new Map(errors.map((error) => [`${error.where}\n${error.message}`, error])).values()];
}

async function readAll(stream) {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const response = await compile(JSON.parse(await readAll(process.stdin)));
  process.stdout.write(JSON.stringify(response));
}

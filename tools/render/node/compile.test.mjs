/** Tests of the node side, on small projects in a temporary folder: `node --test tools/render/node/*.test.mjs`. */
import assert from "node:assert/strict";
import {spawnSync} from "node:child_process";
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import path from "node:path";
import {after, before, test} from "node:test";
import {fileURLToPath} from "node:url";
import {compile} from "./compile.mjs";

const WHERE = "chapters/03.ipynb cell 4";
let root;

before(() => {
  root = mkdtempSync(path.join(tmpdir(), "compile-"));
  write("widgets/bars.js", "export * from './lib/scale.js';\nexport function bars(n) { return n; }\n");
  write("widgets/lib/scale.js", "export const half = (x) => x / 2, {low, range: [high]} = {low: 0, range: [1]};\n");
  write("widgets/broken.js", "import {absent} from './lib/scale.js';\nexport const x = absent;\n");
  write("widgets/modern.js", "export class A { #x = 1; }\n");
  write("widgets/vendor/observable.js", "export const Plot = {}, Inputs = {};\n");
  write("data/points.csv", "x,y\n1,2\n");
});

after(() => rmSync(root, {recursive: true}));

function write(name, text) {
  mkdirSync(path.dirname(path.join(root, name)), {recursive: true});
  writeFileSync(path.join(root, name), text);
}

/** Compiles one page of blocks; a block is a source, or `{inline}`. */
async function compileBlocks(blocks, {defined = [], math = []} = {}) {
  const cells = blocks.map((block, index) => ({
    id: `ojs-cell-${index + 1}`,
    source: block.inline || block,
    inline: Boolean(block.inline),
    where: WHERE,
  }));
  const out = path.join(root, "_site");
  const response = await compile({pages: [{id: "chapters-03", base: "chapters", defined, cells}], math, root, out});
  const page = response.pages["chapters-03"];
  const code = page && readFileSync(path.join(out, page.module), "utf8");
  return {...response, page, code, messages: response.errors.map(({message}) => message)};
}

/** Runs a compiled page against a page that records what is added to it. */
async function record(code) {
  const calls = [];
  const recorder = new Proxy({}, {get: (_, method) => (...values) => calls.push([method, ...values])});
  const body = code.replace(/^import .*\n.*openPage\(import\.meta\.url\);\n/, "");
  await new Function("page", body)(recorder);
  return calls;
}

test("a block of several cells becomes one variable each, with its inputs", async () => {
  const {code, errors} = await compileBlocks(["a = 1 // one\nb = {\n  return a + 1;\n}\nfunction twice(x) { return 2 * x; }", "twice(b)"]);
  assert.deepEqual(errors, []);
  const calls = await record(code);
  assert.deepEqual(calls.map(([method, id, name, inputs]) => [method, id, name, inputs]), [
    ["show", "ojs-cell-1", "a", []],
    ["show", "ojs-cell-1", "b", ["a"]],
    ["show", "ojs-cell-1", "twice", []],
    ["show", "ojs-cell-2", null, ["twice", "b"]],
  ]);
  assert.equal(calls[1][4](1), 2);
  assert.equal(calls[3][4](calls[2][4](), 5), 10);
});

test("viewof and mutable are rewritten, where a cell defines them and where another uses them", async () => {
  const {code, errors} = await compileBlocks(["viewof x = html`<input>`", "mutable n = 0", "{ mutable n = mutable n + x; return viewof x; }"]);
  assert.deepEqual(errors, []);
  const calls = await record(code);
  assert.deepEqual(calls.map(([method, , name]) => [method, name]), [["showView", "x"], ["showMutable", "n"], ["show", null]]);
  const [, , , inputs, definition] = calls[2];
  assert.deepEqual(inputs, ["mutable n", "x", "viewof x"]);
  const n = {value: 3};
  assert.equal(definition(n, 4, "the input"), "the input");
  assert.equal(n.value, 7);
});

test("await and yield make async functions and generators", async () => {
  const {code} = await compileBlocks(["await Promise.resolve(3)", "{ for (let i = 0; i < 2; ++i) yield i; }"]);
  const [awaited, yielded] = await record(code);
  assert.equal(await awaited[4](), 3);
  assert.deepEqual([...yielded[4]()], [0, 1]);
});

test("an import becomes variables, and lists all that it loads", async () => {
  const {code, page, errors} = await compileBlocks(['import {bars, half as h, low, high} from "../widgets/bars.js"', "bars(h(2))"]);
  assert.deepEqual(errors, []);
  assert.deepEqual(page.imports, ["widgets/bars.js", "widgets/lib/scale.js"]);
  assert.match(code, /\{"bars":"bars","h":"half","low":"low","high":"high"\}, \(\) => import\("\.\.\/\.\.\/widgets\/bars\.js"\), /);
  assert.match(code, /, \["\.\.\/\.\.\/widgets\/bars\.js","\.\.\/\.\.\/widgets\/lib\/scale\.js"\]\);/);
});

test("an inline expression is one expression", async () => {
  const good = await compileBlocks([{inline: "(0.5).toFixed(2)"}]);
  assert.equal((await record(good.code))[0][4](), "0.50");
  for (const inline of ["a = 1", "1; 2", "{ return 1; }"]) {
    assert.match((await compileBlocks([{inline}])).messages[0], /one expression/);
  }
});

test("values of ojs_define and libraries of the vendored module are known names", async () => {
  const {page, errors} = await compileBlocks(["Plot.plot(trace, width)"], {defined: ["trace"]});
  assert.deepEqual(errors, []);
  assert.deepEqual(page.imports, ["widgets/vendor/observable.js"]);
});

test("attached files are listed, missing ones are errors", async () => {
  assert.deepEqual((await compileBlocks(['FileAttachment("../data/points.csv").csv()'])).page.files, ["data/points.csv"]);
  assert.match((await compileBlocks(['FileAttachment("none.csv").csv()'])).messages[0], /no file chapters\/none\.csv/);
});

const mistakes = [
  ["a syntax error, with its line", ["a = 1\nb = (2"], /OJS syntax error: .*\(2:6\)/],
  ["an assignment to a constant, with its line", ["a = 1\n{ a = 2; }"], /Assignment to constant variable a \(2:2\)/],
  ["a name that nobody defines", ["a + missing"], /^missing is not defined/, 2],
  ["a view that nobody defines", ["viewof y"], /viewof y is not defined/],
  ["a name defined twice", ["a = 1", "a = 2"], /a is already defined \(chapters\/03\.ipynb cell 4\)/],
  ["a missing module", ['import {x} from "../widgets/none.js"'], /no file widgets\/none\.js/],
  ["a missing export", ['import {nothing} from "../widgets/bars.js"'], /widgets\/bars\.js has no export named nothing/],
  ["a missing export deeper down", ['import {x} from "../widgets/broken.js"'], /broken\.js: widgets\/lib\/scale\.js has no export named absent/],
  ["a module newer than ES2020", ['import {A} from "../widgets/modern.js"'], /modern\.js: .*ES2020/],
  ["a package", ['import {x} from "d3"'], /only files of the project/],
  ["another host", ['import {x} from "https://example.org/x.js"'], /only files of the project/],
  ["a module outside the project", ['import {x} from "../../x.js"'], /leads out of the project/],
  ["a notebook's import", ['import {viewof x} from "../widgets/bars.js"'], /need a notebook/],
  ["a library that the vendored module lacks", ["d3.range(3)"], /observable\.js has no export named d3/],
];

for (const [name, blocks, pattern, count = 1] of mistakes) {
  test(`an error says the place: ${name}`, async () => {
    const {errors, page} = await compileBlocks(blocks);
    assert.equal(errors.length, count, JSON.stringify(errors));
    assert.ok(errors.every(({where}) => where === WHERE));
    assert.ok(errors.some(({message}) => pattern.test(message)), JSON.stringify(errors));
    assert.equal(page, undefined);
  });
}

test("formulas are typeset with MathML beside them; a TeX error says its place", async () => {
  const math = [
    {tex: "\\frac{p}{q}", display: true, where: WHERE},
    {tex: "\\frac{p", display: false, where: "chapters/03.ipynb cell 9"},
    {tex: "\\nonsense", display: false, where: "chapters/03.ipynb cell 10"},
  ];
  const {math: typeset, errors} = await compileBlocks([], {math});
  assert.match(typeset[0], /katex-display[\s\S]*<math/);
  assert.deepEqual(typeset.slice(1), [null, null]);
  assert.deepEqual(errors.map(({where}) => where), ["chapters/03.ipynb cell 9", "chapters/03.ipynb cell 10"]);
  assert.match(errors[0].message, /^TeX error: /);
});

test("the shared files ask no other host, hold no eval, and old ones are removed", async () => {
  const assets = path.join(root, "_site", "assets");
  mkdirSync(assets, {recursive: true});
  writeFileSync(path.join(assets, "site.0LD0LD00.css"), "");
  const first = await compileBlocks(["a = 1"]);
  const second = await compileBlocks(["a = 2"]);
  assert.notEqual(first.page.module, second.page.module);
  assert.deepEqual(readdirSync(path.join(assets, "ojs")), [path.basename(second.page.module)]);
  assert.ok(!readdirSync(assets).includes("site.0LD0LD00.css"));
  const css = readFileSync(path.join(root, "_site", first.assets.css), "utf8");
  assert.doesNotMatch(css, /url\((?!["']?(?:data:|\.\/fonts\/))/);
  assert.doesNotMatch(css, /\.(?:ttf|woff)\b/);
  assert.doesNotMatch(readFileSync(path.join(root, "_site", first.assets.runtime), "utf8"), /new Function\(|\beval\(/);
});

test("as a command it reads JSON from stdin and writes JSON to stdout", () => {
  const request = {pages: [], math: [{tex: "x^2", display: false, where: WHERE}], root, out: path.join(root, "_site")};
  const command = fileURLToPath(new URL("compile.mjs", import.meta.url));
  const {stdout, status} = spawnSync(process.execPath, [command], {input: JSON.stringify(request), encoding: "utf8"});
  assert.equal(status, 0);
  assert.match(JSON.parse(stdout).math[0], /katex/);
});

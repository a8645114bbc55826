/** Compiles the OJS cells of a page to one ES module for Observable's runtime. */
import {CellParser, parseCell} from "@observablehq/parser";
import {resolveImport} from "./modules.mjs";

/** Finds where the cells of a block start and end. */
class BlockParser extends CellParser {
  parseTopLevel(node) {
    node.cells = [];
    while (this.type.label !== "eof") node.cells.push(this.parseCell(this.startNode(), false));
    this.next();
    return this.finishNode(node, "Program");
  }
}

/**
 * Splits a block into parsed cells.
 * @param {string} source
 * @param {boolean} inline one expression, as in `${…}`
 */
export function parseBlock(source, inline = false) {
  const {cells} = BlockParser.parse(source);
  if (inline && (cells.length !== 1 || cells[0].id || !cells[0].body || cells[0].body.type === "BlockStatement")) {
    throw new SyntaxError("an inline ${…} holds one expression");
  }
  return cells
    .filter((cell) => cell.body)
    .map(({start, end}) => {
      // Blanks before the cell keep the line numbers of the parser's messages those of the block.
      const before = source.slice(0, start).replace(/[^\n]/g, " ");
      const input = before + source.slice(start, end);
      return {...parseCell(input), input};
    });
}

const nameOf = (node) =>
  node.type === "ViewExpression" ? `viewof ${node.id.name}`
  : node.type === "MutableExpression" ? `mutable ${node.id.name}`
  : node.name;

/** Names that a cell adds to its page. */
export function definedNames(cell) {
  if (cell.body.type === "ImportDeclaration") return cell.body.specifiers.map(({local}) => local.name);
  if (!cell.id) return [];
  return cell.id.type === "Identifier" ? [cell.id.name] : [nameOf(cell.id), cell.id.id.name];
}

/** Names that a cell takes from its page, each once. */
export function referencedNames(cell) {
  return [...new Set(cell.references.map(nameOf))];
}

/** A cell's body as the source of a function of its inputs: `viewof x` becomes `$0`, `mutable x` `$1.value`. */
function compileFunction(cell) {
  const inputs = referencedNames(cell);
  const parameters = inputs.map((name, index) => (name.includes(" ") ? `$${index}` : name));
  const keyword = `${cell.async ? "async " : ""}function${cell.generator ? "*" : ""}`;
  const code = rewriteReferences(cell, (name) => parameters[inputs.indexOf(name)]);
  const body = cell.body.type === "BlockStatement" ? code : `{ return (\n${code}\n); }`;
  return {inputs, definition: `${keyword} (${parameters.join(", ")}) ${body}`};
}

function rewriteReferences(cell, parameterOf) {
  const {start, end} = cell.body;
  const keyworded = cell.references.filter((node) => node.type !== "Identifier");
  const byPosition = new Map(keyworded.map((node) => [node.start, node]));
  let code = "";
  let position = start;
  for (const node of [...byPosition.values()].sort((a, b) => a.start - b.start)) {
    const parameter = parameterOf(nameOf(node));
    code += cell.input.slice(position, node.start);
    code += node.type === "MutableExpression" ? `${parameter}.value` : parameter;
    position = node.end;
  }
  return code + cell.input.slice(position, end);
}

/** The statement that adds a cell to its page. */
function compileCell(cell, place, {urlOf, filesOf}) {
  const id = JSON.stringify(place);
  if (cell.body.type === "ImportDeclaration") {
    const {specifiers, source} = cell.body;
    const locals = Object.fromEntries(specifiers.map(({local, imported}) => [local.name, imported.name]));
    const load = `() => import(${JSON.stringify(urlOf(source.value))})`;
    return `page.importModule(${id}, ${JSON.stringify(locals)}, ${load}, ${JSON.stringify(filesOf(source.value))});`;
  }
  const {inputs, definition} = compileFunction(cell);
  const add = (method, name) => `page.${method}(${id}, ${JSON.stringify(name)}, ${JSON.stringify(inputs)}, ${definition});`;
  if (!cell.id) return add("show", null);
  if (cell.id.type === "MutableExpression") return add("showMutable", cell.id.id.name);
  if (cell.id.type === "ViewExpression") return add("showView", cell.id.id.name);
  return add("show", cell.id.name);
}

/** Parses the blocks of a page; a syntax error is reported with its place. */
export function parsePage(page, report) {
  return page.cells.flatMap(({id, source, inline, where}) => {
    try {
      return parseBlock(source, inline).map((cell) => ({cell, place: id, where}));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      report(where, `OJS syntax error: ${error.message}`);
      return [];
    }
  });
}

/**
 * The source of a page's module, which stands in `assets/ojs/` of the site.
 * @param {{cell: object, place: string}[]} cells of `parsePage`
 * @param {string} base the page's source folder, relative to the root
 * @param {Modules} modules of the project
 * @param {string} runtimeUrl the runtime bundle, relative to the module
 */
export function compilePage(cells, base, modules, runtimeUrl) {
  const fileOf = (specifier) => resolveImport(specifier, base, modules.root);
  const urlOf = (specifier) => `../../${fileOf(specifier)}`;
  const filesOf = (specifier) => [...modules.closureOf(fileOf(specifier))].map((file) => `../../${file}`);
  const statements = cells.map(({cell, place}) => compileCell(cell, place, {urlOf, filesOf}));
  const opening = [`import {openPage} from ${JSON.stringify(runtimeUrl)};`, "const page = openPage(import.meta.url);"];
  return [...opening, ...statements, ""].join("\n");
}

/** Follows a project's ES modules: where an import leads, what a module exports, what it needs. */
import {existsSync, readFileSync, statSync} from "node:fs";
import path from "node:path";
import {parse} from "acorn";

/** Something wrong with an import or a module; the message is for the author of the page. */
export class ModuleError extends Error {}

/**
 * The file that an import names.
 * @param {string} specifier as written
 * @param {string} folder the importing file's folder, relative to the root
 * @param {string} root absolute path of the project
 * @returns {string} path relative to the root, with forward slashes
 */
export function resolveImport(specifier, folder, root) {
  if (!/^(\.{0,2}\/)/.test(specifier)) {
    throw new ModuleError(`import from "${specifier}": only files of the project can be imported, by a path such as "../widgets/x.js"`);
  }
  if (!specifier.endsWith(".js")) {
    throw new ModuleError(`import from "${specifier}": a module's name must end in .js`);
  }
  const file = path.posix.join(specifier.startsWith("/") ? "" : folder, specifier).replace(/^\//, "");
  if (file.startsWith("../")) throw new ModuleError(`import from "${specifier}" leads out of the project`);
  const absolute = path.join(root, file);
  if (!existsSync(absolute) || !statSync(absolute).isFile()) {
    throw new ModuleError(`import from "${specifier}": there is no file ${file}`);
  }
  return file;
}

/** The modules of one project, each read and parsed at most once. */
export class Modules {
  constructor(root) {
    this.root = root;
    this.parsed = new Map();
    this.closures = new Map();
  }

  /** Names that a module exports, those of its `export * from` among them. */
  exportsOf(file, seen = new Set()) {
    if (seen.has(file)) return new Set();
    seen.add(file);
    const {exported, reexported} = this.read(file);
    return new Set([...exported, ...reexported.flatMap((other) => [...this.exportsOf(other, seen)])]);
  }

  /** A module and every module that it imports, directly or not; each named import is checked. */
  closureOf(file) {
    if (!this.closures.has(file)) this.closures.set(file, this.follow(file, new Set()));
    return this.closures.get(file);
  }

  follow(file, seen) {
    if (seen.has(file)) return seen;
    seen.add(file);
    for (const {target, names} of this.read(file).imports) {
      this.requireExports(target, names, `${file}: `);
      this.follow(target, seen);
    }
    return seen;
  }

  /** Throws unless the module exports every one of the names. */
  requireExports(file, names, prefix = "") {
    const exported = this.exportsOf(file);
    const missing = names.filter((name) => !exported.has(name));
    if (missing.length) throw new ModuleError(`${prefix}${file} has no export named ${missing.join(", ")}`);
  }

  read(file) {
    if (!this.parsed.has(file)) this.parsed.set(file, describe(parseFile(this.root, file), file, this.root));
    return this.parsed.get(file);
  }
}

function parseFile(root, file) {
  try {
    return parse(readFileSync(path.join(root, file), "utf8"), {sourceType: "module", ecmaVersion: 2020});
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ModuleError(`${file}: ${error.message} (modules are written in ES2020, the newest that Quarto can follow)`);
  }
}

function describe(program, file, root) {
  const exported = [];
  const reexported = [];
  const imports = [];
  for (const node of program.body) {
    const target = node.source ? resolveFrom(node.source.value, file, root) : null;
    if (target) imports.push({target, names: namesTaken(node)});
    if (node.type === "ExportDefaultDeclaration") exported.push("default");
    if (node.type === "ExportNamedDeclaration") exported.push(...namesExported(node));
    if (node.type === "ExportAllDeclaration") {
      if (node.exported) exported.push(node.exported.name);
      else reexported.push(target);
    }
  }
  return {exported, reexported, imports};
}

function resolveFrom(specifier, file, root) {
  try {
    return resolveImport(specifier, path.posix.dirname(file), root);
  } catch (error) {
    throw error instanceof ModuleError ? new ModuleError(`${file}: ${error.message}`) : error;
  }
}

function namesTaken(node) {
  return (node.specifiers || []).flatMap((specifier) =>
    specifier.type === "ImportSpecifier" ? [specifier.imported.name]
    : specifier.type === "ExportSpecifier" ? [specifier.local.name]
    : specifier.type === "ImportDefaultSpecifier" ? ["default"]
    : []);
}

function namesExported({declaration, specifiers}) {
  if (!declaration) return specifiers.map(({exported}) => exported.name);
  if (declaration.id) return [declaration.id.name];
  return declaration.declarations.flatMap(({id}) => namesBound(id));
}

function namesBound(pattern) {
  switch (pattern.type) {
    case "Identifier": return [pattern.name];
    case "ObjectPattern": return pattern.properties.flatMap((property) => namesBound(property.value || property));
    case "ArrayPattern": return pattern.elements.flatMap((element) => (element ? namesBound(element) : []));
    case "AssignmentPattern": return namesBound(pattern.left);
    case "RestElement": return namesBound(pattern.argument);
    default: throw new ModuleError(`unknown pattern ${pattern.type}`);
  }
}

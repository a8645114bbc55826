/** Bundles what every page shares (styles, fonts, scripts, the OJS runtime) into `assets/` of the site. */
import {readFileSync} from "node:fs";
import {readdir, rm, writeFile} from "node:fs/promises";
import path from "node:path";
import {fileURLToPath} from "node:url";
import {build} from "esbuild";
import {licences, packageFolders} from "../../licences.mjs";

const sources = fileURLToPath(new URL("../assets/", import.meta.url));

/** Bundle → its source: theme.js runs before the first paint, site.js after parsing, the runtime is a module. */
const bundles = {
  css: {entry: "site.css"},
  theme: {entry: "theme.js", format: "iife"},
  site: {entry: "site.js", format: "iife"},
  runtime: {entry: "ojs-runtime.js", format: "esm"},
};

/** Fonts that the first lines of a page need: name in the answer → the end of the font's file. */
const preloaded = {
  font_regular: "source-serif-4-latin-400-normal.woff2",
  font_italic: "source-serif-4-latin-400-italic.woff2",
  font_bold: "source-serif-4-latin-600-normal.woff2",
  font_math: "KaTeX_Main-Regular.woff2",
  font_variables: "KaTeX_Math-Italic.woff2",
};

const shared = {
  absWorkingDir: sources,
  bundle: true,
  minify: true,
  legalComments: "none",
  charset: "utf8",
  target: ["es2020", "chrome123", "firefox125", "safari17.5"],
  entryNames: "[name].[hash]",
  assetNames: "fonts/[name].[hash]",
  loader: {".woff2": "file", ".svg": "dataurl"},
  external: ["../widgets/*"],
  metafile: true,
  logLevel: "silent",
};

/**
 * Writes the bundles, under names that change with their content, and removes those that they replace.
 * @param {string} out absolute path of the site
 * @returns {Promise<Object<string, string>>} the name of a bundle or a preloaded font → its path below the site's root
 */
export async function buildAssets(out) {
  const outdir = path.join(out, "assets");
  const built = Object.entries(bundles).map(async ([name, {entry, ...options}]) => {
    const plugins = [onlyWoff2, withoutEval];
    const {metafile} = await build({...shared, ...options, plugins, outdir, entryPoints: [entry]});
    const [output] = Object.entries(metafile.outputs).find(([, {entryPoint}]) => entryPoint === entry);
    return {name, file: path.posix.join("assets", path.basename(output)), metafile};
  });
  const results = await Promise.all(built);
  const assets = Object.fromEntries(results.map(({name, file}) => [name, file]));
  const packages = packageFolders(results.flatMap(({metafile}) => Object.keys(metafile.inputs)));
  await writeFile(path.join(outdir, "LICENSES.txt"), await licences("The files beside this one contain these packages.", packages, sources));
  await removeReplaced(outdir, Object.values(assets).map((file) => path.basename(file)));
  return {...assets, ...fontsOf(results.find(({name}) => name === "css").metafile)};
}

function fontsOf({outputs}) {
  const fileOf = (font) => {
    const found = Object.entries(outputs).find(([, {inputs}]) => Object.keys(inputs).some((input) => input.endsWith(font)));
    if (!found) throw new Error(`the styles ask for no font ${font}`);
    return path.posix.join("assets", "fonts", path.basename(found[0]));
  };
  return Object.fromEntries(Object.entries(preloaded).map(([name, font]) => [name, fileOf(font)]));
}

/**
 * Removes the files of a folder that differ from those to keep only in the hash within the name.
 * @param {string} folder
 * @param {string[]} keep names such as `site.ABCD.css`
 */
export async function removeReplaced(folder, keep) {
  const withoutHash = (name) => name.replace(/\.\w+(?=\.\w+$)/, "");
  const families = new Set(keep.map(withoutHash));
  for (const name of await readdir(folder)) {
    if (families.has(withoutHash(name)) && !keep.includes(name)) await rm(path.join(folder, name));
  }
}

/** KaTeX's styles with the one font format that every browser of today reads. */
const onlyWoff2 = replaceIn("only-woff2", /katex\.min\.css$/, /,url\([^)]*\) format\("(?:woff|truetype)"\)/g, "");

/** d3-dsv makes its row objects by `new Function`, which the pages' content security policy forbids. */
const withoutEval = replaceIn(
  "without-eval",
  /d3-dsv\.mjs$/,
  /return new Function\("d"[\s\S]*?\+ "\}"\);/,
  'return (d) => Object.fromEntries(columns.map((name, i) => [name, d[i] || ""]));',
);

function replaceIn(name, filter, pattern, replacement) {
  return {
    name,
    setup({onLoad}) {
      onLoad({filter}, ({path: file}) => {
        const source = readFileSync(file, "utf8");
        const contents = source.replace(pattern, replacement);
        if (contents === source) throw new Error(`${name}: ${path.basename(file)} is not as expected`);
        return {contents, loader: file.endsWith(".css") ? "css" : "js"};
      });
    },
  };
}

/**
 * Writes the site's search index: one JSON request on stdin, one JSON response on stdout.
 *
 * Request:  {pages: ["chapters/x.html"], out: "/abs/project/_site", lang: "en"}
 * Response: {files: ["assets/search/pagefind.js", …]}      paths below the site's root
 *
 * Only running text is searched, by Pagefind: not code, not equations, not what is drawn later.
 */
import {mkdir, readFile, writeFile} from "node:fs/promises";
import path from "node:path";
import {close, createIndex} from "pagefind";

const FOLDER = "assets/search";

/** What a search should not find. Of a formula within a sentence its symbols stay, so that excerpts can be read. */
const EXCLUDED = [".equation", ".katex-html", "annotation", "pre", ".code-fold", "[data-ojs]", ".title-meta", ".page-nav", ".meanings"];

/** Of what Pagefind writes: its engine and the index. Its own search boxes are left out, for the frame has one. */
const NEEDED = /^(pagefind\.js|pagefind-worker\.js|pagefind-entry\.json|wasm\.(?!unknown).*|.*\.pf_\w+)$/;

async function writeIndex({pages, out, lang}) {
  const {index, errors} = await createIndex({
    rootSelector: "#content",
    excludeSelectors: EXCLUDED,
    forceLanguage: lang,
    keepIndexUrl: true,
  });
  if (!index) throw new Error(errors.join("\n"));
  for (const page of pages) {
    const added = await index.addHTMLFile({url: page, content: await readFile(path.join(out, page), "utf8")});
    if (added.errors.length) throw new Error(`${page}: ${added.errors.join("\n")}`);
  }
  const {files} = await index.getFiles();
  const needed = files.filter((file) => NEEDED.test(path.basename(file.path)));
  for (const file of needed) await write(path.join(out, FOLDER, file.path), file.content);
  return {files: needed.map((file) => `${FOLDER}/${file.path}`).sort()};
}

async function write(file, content) {
  await mkdir(path.dirname(file), {recursive: true});
  await writeFile(file, content);
}

async function readAll(stream) {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
}

process.stdout.write(JSON.stringify(await writeIndex(JSON.parse(await readAll(process.stdin)))));
await close();

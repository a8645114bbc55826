/** The licences of the packages that a bundle contains, which must travel with it. */
import {readFile, readdir} from "node:fs/promises";
import {join} from "node:path";

/** "node_modules/@a/b/src/x.js" → "node_modules/@a/b", without repeats, sorted. */
export function packageFolders(paths) {
  const folders = paths.map((path) => path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)).filter(Boolean);
  return [...new Set(folders.map(([folder]) => folder))].sort();
}

/**
 * One line per package and its licence text.
 * @param {string} heading first line of the text
 * @param {string[]} folders packages, relative to `base`
 * @param {string} base
 */
export async function licences(heading, folders, base) {
  const texts = await Promise.all(folders.map(async (folder) => {
    const {name, version, license} = JSON.parse(await readFile(join(base, folder, "package.json"), "utf8"));
    const file = (await readdir(join(base, folder))).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} ships no licence file`);
    const text = (await readFile(join(base, folder, file), "utf8")).replace(/\r\n/g, "\n").trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  }));
  return `${heading}\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

import {readFile} from "node:fs/promises";

/** A recorded payload that tools/widget_fixtures.py wrote. Every call reads a fresh copy. */
export async function fixture(name) {
  return JSON.parse(await readFile(new URL(`fixtures/${name}.json`, import.meta.url), "utf8"));
}

/** What a widget must compute and show, as Python says. */
export const parityGrid = (name) => fixture(`parity/${name}`);

/** Throws unless two numbers, or lists of numbers, agree to 12 digits. */
export function assertClose(actual, expected, message) {
  const [a, b] = [[actual].flat(), [expected].flat()];
  const apart = (index) => Math.abs(a[index] - b[index]) > 1e-12 * Math.max(1, Math.abs(b[index]));
  if (a.length !== b.length || a.some((value, index) => !Number.isFinite(value) || apart(index))) {
    throw new Error(`${message}: got ${a}, expected ${b}`);
  }
}

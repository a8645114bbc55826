// What every listed widget must pass without a browser. Each check returns what is wrong, as a list of lines.

import {readFile} from "node:fs/promises";
import {fileURLToPath} from "node:url";

export const REGISTRY = new URL("../../widgets/registry.json", import.meta.url);
export const BROKEN = new URL("../browser/broken_widgets/registry.json", import.meta.url);

/** The entries of a registry, with their addresses resolved against it. */
export async function listed(registry) {
  const entries = JSON.parse(await readFile(registry, "utf8"));
  const resolved = (entry, key) => new URL(entry[key], registry);
  return entries.map((entry) => ({
    ...entry,
    registry,
    module: resolved(entry, "module"),
    parity: resolved(entry, "parity")
  }));
}

/** Compares what a widget's functions return with what Python returned for the same arguments. */
export async function parityFaults({name, registry, parity}) {
  const {functions} = JSON.parse(await readFile(parity, "utf8"));
  const faults = functions.length > 0 ? [] : [`${name}: ${fileURLToPath(parity)} holds no function against Python`];
  for (const {module, function: exported, cases} of functions) {
    const compute = (await import(new URL(module, registry)))[exported];
    if (typeof compute !== "function") {
      faults.push(`${name}: ${module} exports no function ${exported}`);
      continue;
    }
    if (cases.length === 0) faults.push(`${name}: no case for ${exported}`);
    for (const {arguments: given, value} of cases) {
      const place = differs(compute(...given), value, `${exported}(${JSON.stringify(given).slice(1, -1)})`);
      if (place) faults.push(`${name}: ${place}`);
    }
  }
  return faults;
}

const TOLERANCE = 1e-12;

/** Says where two values differ, or null; of an object only the expected entries count. */
export function differs(actual, expected, place) {
  if (expected !== null && typeof expected === "object") {
    if (actual === null || typeof actual !== "object") return `${place} is ${actual}, expected an object`;
    if (Array.isArray(expected) && actual.length !== expected.length)
      return `${place} has length ${actual.length}, expected ${expected.length}`;
    for (const [key, value] of Object.entries(expected)) {
      const found = differs(actual[key], value, `${place}.${key}`);
      if (found) return found;
    }
    return null;
  }
  const same =
    typeof expected === "number"
      ? Math.abs(actual - expected) <= TOLERANCE * Math.max(1, Math.abs(expected))
      : actual === expected;
  return same ? null : `${place} is ${actual}, expected ${expected}`;
}

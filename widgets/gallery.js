// Shows every widget on the payload that the tests hold it against.

import {acceptLab} from "./accept-lab.js";
import {roundStepper} from "./round-stepper.js";
import {speedupExplorer} from "./speedup-explorer.js";

const WIDGETS = {"round-stepper": roundStepper, "accept-lab": acceptLab, "speedup-explorer": speedupExplorer};

const query = new URLSearchParams(location.search);
if (query.has("theme")) document.documentElement.dataset.theme = query.get("theme");

async function show(name, widget) {
  const payload = await (await fetch(new URL(`../tests/widgets/fixtures/${name}.json`, import.meta.url))).json();
  const place = Object.assign(document.createElement("section"), {id: name});
  place.append(widget(payload));
  return place;
}

async function main() {
  const chosen = Object.entries(WIDGETS).filter(([name]) => !query.has("only") || query.get("only") === name);
  document.getElementById("gallery").append(...(await Promise.all(chosen.map((entry) => show(...entry)))));
  document.documentElement.dataset.ready = "";
}

main();

// Shows every listed widget on the payload that the tests hold it against.

const REGISTRY = new URL("registry.json", import.meta.url);

const query = new URLSearchParams(location.search);
if (query.has("theme")) document.documentElement.dataset.theme = query.get("theme");

const element = (name, properties, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};

async function load(address) {
  const answer = await fetch(new URL(address, REGISTRY));
  if (!answer.ok) throw new Error(`${answer.url} is not there (${answer.status}): serve the repository's root`);
  return answer.json();
}

/** A widget as it stands in a chapter: after what takes its place in print. */
async function show({name, module, export: widget, fixture}) {
  const [views, payload] = await Promise.all([import(new URL(module, REGISTRY)), load(fixture)]);
  const standIn = element("p", {className: "widget-static", textContent: "In print, a chapter has a figure or table here."});
  const heading = element("h2", {textContent: name});
  return element("section", {id: name}, heading, standIn, element("div", {}, views[widget](payload)));
}

async function main() {
  const listed = await load(REGISTRY);
  const chosen = listed.filter(({name}) => !query.has("only") || query.get("only") === name);
  document.getElementById("gallery").append(...(await Promise.all(chosen.map(show))));
  document.documentElement.dataset.ready = "";
}

main();

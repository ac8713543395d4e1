// What the page knows and where it is: about the dataset, the reviewer, the filter, the view.
// The place is in the address, so that a reload comes back to it.
import { get } from "./api.js";

export const FILTERS = ["scope", "given", "suggested", "p_from", "p_to", "states", "by", "words", "order"];
export const STATES = ["undecided", "keep", "relabel", "drop", "skip", "conflict"];

export const store = {
  about: null,
  reviewer: remembered("simifeat-reviewer", ""),
  keys: remembered("simifeat-keys", "on") === "on",
  view: "one",
  filter: {},
  row: null, // the row shown one by one
  offset: 0, // of the grid
  progress: null,
};

export function restore() {
  const place = new URLSearchParams(location.hash.slice(1));
  store.view = ["one", "grid", "check"].includes(place.get("view")) ? place.get("view") : "one";
  store.filter = Object.fromEntries(FILTERS.filter((n) => place.has(n)).map((n) => [n, place.get(n)]));
  store.row = place.has("row") ? Number(place.get("row")) : null;
  store.offset = Number(place.get("offset")) || 0;
}

export function keepPlace() {
  const place = new URLSearchParams({ view: store.view, ...store.filter });
  if (store.view === "one" && store.row !== null) place.set("row", store.row);
  if (store.view === "grid" && store.offset) place.set("offset", store.offset);
  history.replaceState(null, "", `#${place}`);
}

export function rename(name) {
  store.reviewer = name;
  remember("simifeat-reviewer", name);
}

export function switchKeys(on) {
  store.keys = on;
  remember("simifeat-keys", on ? "on" : "off");
}

export const className = (code) => store.about.classes[code];

export async function lead(how, after) {
  const where = { ...store.filter, how, after: after ?? "", reviewer: store.reviewer };
  return get("/api/lead", where);
}

function remembered(name, otherwise) {
  try {
    return localStorage.getItem(name) ?? otherwise;
  } catch {
    return otherwise; // storage is switched off
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // then it lasts as long as the page
  }
}

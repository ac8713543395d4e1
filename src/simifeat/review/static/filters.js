// The filters: which rows are gone through, and in which order.
import { byId, count, h } from "./dom.js";
import { className, STATES, store } from "./store.js";

let changed = () => {};

export function draw(onchange) {
  changed = onchange;
  const box = byId("filters");
  box.replaceChildren(box.firstElementChild, form());
  if (matchMedia("(max-width: 52rem)").matches) box.open = false;
}

export function drawReviewers(names) {
  const select = byId("by");
  const now = store.filter.by ?? "";
  select.replaceChildren(option("", "anybody", now), ...names.map(([name]) => option(name, name, now)));
}

function form() {
  const { filter, about } = store;
  const pair = filter.given !== undefined && filter.suggested !== undefined ? `${filter.given} ${filter.suggested}` : "";
  const pairs = about.pairs.map(([given, suggested, n]) =>
    option(`${given} ${suggested}`, `${className(given)} → ${className(suggested)} (${count(n)})`, pair),
  );
  const states = (filter.states ?? "").split(" ");
  return h(
    "form",
    { class: "filters", onsubmit: (event) => event.preventDefault() },
    field("Search", h("input", { id: "words", type: "search", value: filter.words ?? "", maxlength: "500", placeholder: "text, id or label", oninput: later(() => set({ words: byId("words").value })) })),
    field("Change", h("select", { id: "pair", onchange: choosePair }, option("", "any", pair), ...pairs)),
    field("Likely wrong, from", number("p_from", 0)),
    field("to", number("p_to", 1)),
    h(
      "fieldset",
      {},
      h("legend", {}, "Decision"),
      ...STATES.map((state) =>
        h("label", {}, h("input", { type: "checkbox", name: "states", value: state, checked: states.includes(state), onchange: chooseStates }), ` ${state === "undecided" ? "open" : state}`),
      ),
    ),
    field("Said by", h("select", { id: "by", onchange: (event) => set({ by: event.target.value }) })),
    field("Order", select("order", { suspicious: "most suspicious first", uncertain: "most uncertain first", row: "as in the dataset" })),
    field("Rows", select("scope", { flagged: "flagged", all: "all" })),
    h("button", { type: "button", class: "quiet", onclick: () => apply({}) }, "Clear filters"),
  );
}

function field(name, control) {
  return h("label", { class: "field" }, h("span", {}, name), control);
}

function number(name, otherwise) {
  return h("input", {
    id: name,
    type: "number",
    min: "0",
    max: "1",
    step: "0.05",
    value: String(store.filter[name] ?? otherwise),
    onchange: (event) => set({ [name]: event.target.value }),
  });
}

function select(name, words) {
  const now = store.filter[name] ?? "";
  return h("select", { id: name, onchange: (event) => set({ [name]: event.target.value }) }, ...Object.entries(words).map(([value, text]) => option(value, text, now)));
}

function option(value, text, now) {
  return h("option", { value, selected: value === now }, text);
}

function choosePair(event) {
  const [given = "", suggested = ""] = event.target.value.split(" ");
  set({ given, suggested });
}

function chooseStates() {
  const boxes = [...document.querySelectorAll("input[name=states]:checked")];
  set({ states: boxes.map((box) => box.value).join(" ") });
}

// Go through rows that are like `filter`, and no others.
export function apply(filter) {
  store.filter = filter;
  draw(changed);
  changed();
}

function set(values) {
  const kept = Object.entries({ ...store.filter, ...values }).filter(([, value]) => value !== "");
  store.filter = Object.fromEntries(kept);
  changed();
}

// Wait until nobody has typed for a moment.
function later(action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 250);
  };
}

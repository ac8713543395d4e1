// The grid: many rows at once, chosen by key or mouse and decided together.
import { get } from "./api.js";
import { bdi, byId, count, h, likely, plural, replace } from "./dom.js";
import { alone, answerFor, decide, step } from "./decide.js";
import { chooseLabel } from "./choose.js";
import { labelled, role, stateBadge, thumbnail } from "./example.js";
import { button } from "./one.js";
import { className, keepPlace, store } from "./store.js";

const PAGE = 48;
let page = { rows: [], total: 0, offset: 0 };
let chosen = new Set();
let at = 0; // the card the keys act on
let anchor = 0; // where a range starts
let openOne = () => {};

export function onOpen(action) {
  openOne = action;
}

export async function open() {
  chosen = new Set();
  at = 0;
  await load();
}

export async function refresh(rows) {
  if (rows === null || page.rows.some((example) => rows.includes(example.row))) await load();
}

export const keys = {
  k: () => answer("keep"),
  a: () => answer("relabel"),
  l: () => other(),
  d: () => answer("drop"),
  s: () => answer("skip"),
  u: () => back("undo"),
  r: () => back("redo"),
  x: () => toggle(at),
  " ": () => toggle(at),
  Enter: () => openOne(page.rows[at]?.row),
  Escape: () => choose([]),
  ArrowRight: (event) => walk(1, event),
  ArrowLeft: (event) => walk(-1, event),
  ArrowDown: (event) => walk(columns(), event),
  ArrowUp: (event) => walk(-columns(), event),
  PageDown: () => turn(1),
  PageUp: () => turn(-1),
  "Control+a": () => choose(page.rows.map((example) => example.row)),
};

async function load() {
  const found = await get("/api/rows", { ...store.filter, offset: store.offset, limit: PAGE });
  if (store.view !== "grid") return;
  page = found;
  if (!page.rows.length && store.offset) {
    store.offset = 0;
    return load();
  }
  at = Math.min(at, Math.max(0, page.rows.length - 1));
  chosen = new Set([...chosen].filter((row) => page.rows.some((example) => example.row === row)));
  keepPlace();
  draw();
}

function draw() {
  const list = h("ul", { class: "grid", "aria-label": "Examples" }, ...page.rows.map(card));
  const empty = h("p", { class: "empty" }, "No row is like that. Loosen the filters.");
  replace(byId("view"), bar(), page.rows.length ? list : empty);
  byId("view").dataset.rows = page.rows.length;
  mark();
}

function bar() {
  const n = chosen.size;
  const first = page.offset + 1;
  const where = page.total ? `${count(first)}–${count(page.offset + page.rows.length)} of ${count(page.total)}` : "";
  const everything = n === page.rows.length && n > 0;
  return h(
    "div",
    { class: "gridbar" },
    h(
      "div",
      { class: "main" },
      h("strong", { class: "chosen" }, n ? `${plural(n, "row")} chosen` : "The marked row"),
      button("keep", "K", "Keep", () => answer("keep")),
      button("relabel", "A", "Accept", () => answer("relabel")),
      button("other", "L", "Other…", other),
      button("drop", "D", "Drop", () => answer("drop")),
      button("skip", "S", "Skip", () => answer("skip")),
    ),
    h(
      "div",
      { class: "moves" },
      h("button", { type: "button", class: "quiet", onclick: () => choose(everything ? [] : page.rows.map((e) => e.row)) }, everything ? "Choose none" : "Choose all"),
      button("quiet", "U", "Undo", () => back("undo")),
      h("span", { class: "faint" }, where),
      h("button", { type: "button", class: "quiet", "aria-label": "Page before", disabled: page.offset === 0, onclick: () => turn(-1) }, "‹"),
      h("button", { type: "button", class: "quiet", "aria-label": "Next page", disabled: page.offset + page.rows.length >= page.total, onclick: () => turn(1) }, "›"),
    ),
  );
}

function card(example, place) {
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Choose ${example.id}`,
    checked: chosen.has(example.row),
    onclick: (event) => {
      event.stopPropagation();
      if (event.shiftKey) range(anchor, place);
      else toggle(place);
    },
  });
  return h(
    "li",
    { class: `card ${example.state}${chosen.has(example.row) ? " chosen" : ""}`, "data-row": String(example.row), onclick: () => walkTo(place) },
    h("div", { class: "cardtop" }, box, bdi(example.id, { class: "id" }), h("span", { class: "p" }, likely(example.p_now))),
    h("button", { type: "button", class: "look", "aria-label": `Look at ${example.id}`, onclick: () => openOne(example.row) }, thumbnail(example)),
    h("p", { class: "small" }, labelled(example.given, "given"), " → ", labelled(example.suggested, role(example.suggested, example))),
    stateBadge(example),
    said(example),
  );
}

// Who decided it; of a conflict, who says what.
function said(example) {
  const words = example.voices.map((voice) => {
    const what = voice.action === "relabel" ? className(voice.label) : voice.action;
    return example.state === "conflict" ? `${voice.reviewer}: ${what}` : voice.reviewer;
  });
  return words.length ? bdi([...new Set(words)].join(" · "), { class: "who" }) : null;
}

async function answer(action, label) {
  const rows = chosen.size ? page.rows.filter((e) => chosen.has(e.row)) : page.rows.slice(at, at + 1);
  if (!rows.length) return;
  await alone(async () => {
    await decide(rows.map((example) => answerFor(example, action, label, kindFor(example, action))));
    chosen = new Set();
    if (rows.length === 1 && at < page.rows.length - 1) at += 1;
    await load();
  });
}

function kindFor(example, action) {
  return example.state === "conflict" && action !== "skip" ? "settle" : "decide";
}

async function other() {
  const likely = page.rows.filter((e) => chosen.has(e.row)).map((e) => e.suggested);
  const label = await chooseLabel(likely.length ? likely : [page.rows[at]?.suggested ?? 0]);
  if (label !== null) await answer("relabel", label);
}

async function back(name) {
  await alone(async () => {
    await step(name);
    await load();
  });
}

function choose(rows) {
  chosen = new Set(rows);
  draw();
}

function toggle(place) {
  const { row } = page.rows[place] ?? {};
  if (row === undefined) return;
  if (!chosen.delete(row)) chosen.add(row);
  at = anchor = place;
  draw();
}

function range(from, to) {
  const [low, high] = from < to ? [from, to] : [to, from];
  page.rows.slice(low, high + 1).forEach((example) => chosen.add(example.row));
  at = to;
  draw();
}

function walk(steps, event) {
  const place = Math.max(0, Math.min(page.rows.length - 1, at + steps));
  if (event.shiftKey) return range(anchor, place);
  return walkTo(place);
}

function walkTo(place) {
  at = anchor = place;
  mark();
}

function mark() {
  document.querySelectorAll(".card").forEach((item, place) => item.classList.toggle("at", place === at));
  document.querySelector(".card.at")?.scrollIntoView({ block: "nearest" });
}

function columns() {
  const cards = [...document.querySelectorAll(".card")];
  const second = cards.findIndex((item) => item.offsetTop > cards[0].offsetTop);
  return second < 1 ? cards.length : second;
}

async function turn(pages) {
  const offset = store.offset + pages * PAGE;
  if (offset < 0 || offset >= page.total) return;
  store.offset = offset;
  at = anchor = 0;
  await alone(load);
}

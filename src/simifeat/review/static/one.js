// One by one: the example on the stage, the reason beside it, every decision a key.
import { get } from "./api.js";
import { bdi, byId, h, key, likely, replace, say } from "./dom.js";
import { alone, answerFor, decide, step, WORDS } from "./decide.js";
import { chooseLabel } from "./choose.js";
import { labelled, large, pictureAddress, role, stateBadge, thumbnail } from "./example.js";
import { className, keepPlace, lead, store } from "./store.js";

const ZOOMS = [1, 1.5, 2, 3, 4];
let shown = null;
let zoom = 0;

export async function open() {
  if (store.row !== null) return show(store.row);
  return go("open", null);
}

export async function refresh(rows) {
  if (shown && (rows === null || rows.includes(shown.row))) await show(shown.row);
}

export const keys = {
  k: () => answer("keep"),
  a: () => answer("relabel", shown?.suggested),
  Enter: () => answer("relabel", shown?.suggested),
  l: () => other(),
  d: () => answer("drop"),
  s: () => answer("skip"),
  u: () => back("undo"),
  r: () => back("redo"),
  n: () => go("uncertain", shown?.row),
  j: () => go("forward", shown?.row),
  ArrowRight: () => go("forward", shown?.row),
  p: () => go("back", shown?.row),
  ArrowLeft: () => go("back", shown?.row),
  z: () => magnify(zoom + 1),
};

export async function answer(action, label) {
  if (!shown) return;
  const { row } = shown;
  const kind = shown.state === "conflict" && action !== "skip" ? "settle" : "decide";
  const said = answerFor(shown, action, label, kind);
  await alone(async () => {
    await decide([said]);
    await move("open", row);
  });
}

async function other() {
  if (!shown) return;
  const { row } = shown;
  const near = shown.neighbors.map((neighbor) => neighbor.given);
  const label = await chooseLabel([shown.suggested, ...near, shown.given]);
  if (label !== null && shown?.row === row) await answer("relabel", label);
}

async function back(name) {
  await alone(async () => {
    const rows = await step(name);
    if (rows.length) await show(rows[0]);
  });
}

async function go(how, after) {
  await alone(() => move(how, after));
}

async function move(how, after) {
  const found = await lead(how, after);
  if (found.row === null) return finished(found.total, how);
  return show(found.row);
}

async function show(row) {
  const example = await get(`/api/rows/${row}`, { reviewer: store.reviewer });
  if (store.view !== "one") return;
  if (shown?.row !== row) zoom = 0;
  shown = example;
  store.row = row;
  keepPlace();
  replace(byId("view"), stage(example), panel(example));
  byId("view").dataset.row = row;
  magnify(zoom);
  preload(row);
}

function finished(total, how) {
  if (how !== "open" && shown) return say("There is no other row like that");
  shown = null;
  store.row = null;
  keepPlace();
  delete byId("view").dataset.row;
  const what = total ? "Everything here is decided." : "No row is like that.";
  const next = total
    ? "Take another filter, double-check a sample, or export what you have."
    : "Loosen the filters.";
  replace(byId("view"), h("div", { class: "empty" }, h("h2", {}, what), h("p", {}, next)));
}

// Have the next picture here before it is asked for.
async function preload(row) {
  if (store.about.kind !== "image") return;
  try {
    const next = await lead("open", row);
    if (next.row !== null) new Image().src = pictureAddress(next.row, 1024);
  } catch {
    // then it comes when it is asked for
  }
}

function stage(example) {
  const controls = h(
    "div",
    { class: "zoom" },
    h("button", { type: "button", "aria-label": "Smaller", onclick: () => magnify(zoom - 1) }, "−"),
    h("button", { type: "button", "aria-label": "Larger", onclick: () => magnify(zoom + 1) }, "+"),
  );
  const content = h("div", { class: "content", id: "content" }, ...large(example));
  const attributes = { class: `stage ${store.about.kind}`, "aria-label": "Example", tabindex: "0" };
  return h("section", attributes, h("div", { class: "scroll" }, content), controls);
}

function magnify(wanted) {
  zoom = wanted >= ZOOMS.length ? 0 : Math.max(0, wanted);
  byId("content")?.style.setProperty("--zoom", ZOOMS[zoom]);
  byId("content")?.classList.toggle("zoomed", zoom > 0);
}

function panel(example) {
  return h(
    "section",
    { class: "panel", "aria-label": "Decision" },
    h("p", { class: "id" }, bdi(example.id), stateBadge(example)),
    change(example),
    meter(example),
    actions(example),
    voices(example),
    reason(example),
  );
}

function change(example) {
  return h(
    "p",
    { class: "change" },
    h("span", { class: "side" }, h("small", {}, "given"), labelled(example.given, "given")),
    h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
    h("span", { class: "side" }, h("small", {}, "suggested"), labelled(example.suggested, role(example.suggested, example))),
  );
}

function meter(example) {
  const moved = Math.abs(example.p_now - example.p) >= 0.02;
  const text = `${likely(example.p_now)} likely wrong`;
  return h(
    "div",
    { class: "meter" },
    h("meter", { min: "0", max: "1", value: String(example.p_now), "aria-label": text }),
    h("span", {}, text, moved ? h("span", { class: "faint" }, ` (${likely(example.p)} before your decisions)`) : ""),
  );
}

function actions(example) {
  const settle = example.state === "conflict";
  const suggestion = example.suggested === example.given ? null : className(example.suggested);
  const buttons = [
    button("keep", "K", settle ? "Settle: keep" : "Keep", () => answer("keep")),
    suggestion === null
      ? null
      : button("relabel", "A", ["Accept ", bdi(suggestion)], () => answer("relabel", example.suggested)),
    button("other", "L", "Other label…", other),
    button("drop", "D", "Drop", () => answer("drop")),
    settle ? null : button("skip", "S", "Skip", () => answer("skip")),
  ];
  const moves = [
    button("quiet", "U", "Undo", () => back("undo")),
    button("quiet", "R", "Redo", () => back("redo")),
    button("quiet", "←", "Back", () => go("back", example.row)),
    button("quiet", "→", "Forward", () => go("forward", example.row)),
    button("quiet", "N", "Next uncertain", () => go("uncertain", example.row)),
  ];
  return h("div", { class: "actions" }, h("div", { class: "main" }, ...buttons), h("div", { class: "moves" }, ...moves));
}

export function button(kind, name, content, onclick) {
  return h("button", { type: "button", class: kind, "aria-keyshortcuts": name, onclick }, h("span", {}, content), key(name));
}

function voices(example) {
  if (!example.voices.length) return null;
  const kinds = { decide: "", check: " on double-checking", settle: " to settle it" };
  const items = example.voices.map((voice) =>
    h(
      "li",
      {},
      h("strong", {}, bdi(voice.reviewer)),
      ` ${WORDS[voice.action].toLowerCase()}`,
      voice.label === null ? "" : [": ", bdi(className(voice.label))],
      kinds[voice.kind],
      " ",
      h("time", { datetime: voice.at, class: "faint" }, new Date(voice.at).toLocaleString()),
    ),
  );
  return h("ul", { class: "voices", "aria-label": "Who decided what" }, ...items);
}

export function reason(example) {
  if (!example.neighbors.length) return null;
  const tally = { given: 0, suggested: 0, other: 0 };
  const cards = example.neighbors.map((neighbor) => {
    const kind = role(neighbor.given, example);
    tally[kind] += 1;
    return h(
      "li",
      { class: `neighbor ${kind}` },
      thumbnail(neighbor),
      h("span", { class: "caption" }, labelled(neighbor.given, kind)),
      h("span", { class: "faint" }, `similarity ${neighbor.similarity.toFixed(2)}${neighbor.flagged ? ", flagged, too" : ""}`),
    );
  });
  const n = cards.length;
  const words = [`${tally.given} of the ${n} nearest have the given label`];
  if (example.suggested !== example.given) words.push(`, ${tally.suggested} the suggested one`);
  return h("section", { class: "reason", "aria-label": "Nearest examples" }, h("h2", {}, "Why"), h("p", {}, ...words, "."), h("ul", { class: "neighbors" }, ...cards));
}

// Double-check: a random sample of decided rows once more, without seeing what was decided.
import { get } from "./api.js";
import { bdi, byId, count, h, percent, replace } from "./dom.js";
import { alone, answerFor, decide, step } from "./decide.js";
import { chooseLabel } from "./choose.js";
import { labelled, large, role } from "./example.js";
import { button, reason } from "./one.js";
import { className, store } from "./store.js";

let shown = null;
let share = "0.1";

export const open = () => load();
export async function refresh() {}

export const keys = {
  k: () => answer("keep"),
  a: () => answer("relabel", shown?.suggested),
  Enter: () => answer("relabel", shown?.suggested),
  l: () => other(),
  d: () => answer("drop"),
  s: () => answer("skip"),
  u: () => back("undo"),
  r: () => back("redo"),
};

async function load() {
  const found = await get("/api/check", { reviewer: store.reviewer, share });
  shown = found.row === null ? null : await get(`/api/rows/${found.row}`, { blind: "1" });
  if (store.view !== "check") return;
  replace(byId("view"), shown ? stage(shown) : nothing(found), panel(shown, found));
  if (shown) byId("view").dataset.row = shown.row;
  else delete byId("view").dataset.row;
}

function stage(example) {
  return h("section", { class: `stage ${store.about.kind}`, "aria-label": "Example", tabindex: "0" }, h("div", { class: "scroll" }, h("div", { class: "content" }, ...large(example))));
}

function nothing(found) {
  const text = found.agreements.length ? "The sample is checked." : "Nothing is decided yet, so there is nothing to check.";
  return h("div", { class: "empty" }, h("h2", {}, text), h("p", {}, "Take a larger share, or come back later."));
}

function panel(example, found) {
  return h(
    "section",
    { class: "panel", "aria-label": "Decision" },
    h("p", {}, "A random sample of decided rows once more. What was decided is hidden."),
    shares(found.left),
    example && h("p", { class: "change" }, labelled(example.given, "given"), h("span", { class: "arrow" }, "→"), labelled(example.suggested, role(example.suggested, example))),
    example && actions(example),
    agreement(found.agreements),
    example && reason(example),
  );
}

function shares(left) {
  const options = ["0.05", "0.1", "0.2", "0.5", "1"].map((value) => h("option", { value, selected: value === share }, percent(Number(value))));
  const choose = (event) => {
    share = event.target.value;
    load();
  };
  return h("label", { class: "field" }, h("span", {}, "Share of the decided rows"), h("select", { onchange: choose }, ...options), h("span", { class: "faint" }, `${count(left)} left to check`));
}

function actions(example) {
  return h(
    "div",
    { class: "actions" },
    h(
      "div",
      { class: "main" },
      button("keep", "K", "Keep", () => answer("keep")),
      button("relabel", "A", ["Accept ", bdi(className(example.suggested))], () => answer("relabel", example.suggested)),
      button("other", "L", "Other label…", other),
      button("drop", "D", "Drop", () => answer("drop")),
      button("skip", "S", "Skip", () => answer("skip")),
    ),
    h("div", { class: "moves" }, button("quiet", "U", "Undo", () => back("undo")), button("quiet", "R", "Redo", () => back("redo"))),
  );
}

function agreement(pairs) {
  if (!pairs.length) return null;
  const rows = pairs.map((pair) =>
    h(
      "tr",
      {},
      h("td", {}, bdi(pair.first)),
      h("td", {}, bdi(pair.second)),
      h("td", {}, `${pair.agreed} of ${pair.compared}`),
      h("td", {}, `${percent(pair.agreed / pair.compared)} (${percent(pair.low)}–${percent(pair.high)})`),
      h("td", {}, pair.kappa === null ? "–" : pair.kappa.toFixed(2)),
    ),
  );
  const heads = ["Decided", "Checked", "Agreed", "Share", "Kappa"].map((name) => h("th", { scope: "col" }, name));
  return h("table", { class: "agreement" }, h("caption", {}, "Agreement"), h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

async function answer(action, label) {
  if (!shown) return;
  const said = answerFor(shown, action, label, "check");
  await alone(async () => {
    await decide([said]);
    await load();
  });
}

async function other() {
  if (!shown) return;
  const { row } = shown;
  const label = await chooseLabel([shown.suggested, shown.given]);
  if (label !== null && shown?.row === row) await answer("relabel", label);
}

async function back(name) {
  await alone(async () => {
    await step(name);
    await load();
  });
}

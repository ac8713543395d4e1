// Saying something about rows: one at a time, never about a row that is not on the screen yet.
import { post } from "./api.js";
import { complain, plural, say } from "./dom.js";
import { className, store } from "./store.js";

const NO_LABEL = -1;
let busy = false;

export const WORDS = {
  keep: "Kept",
  relabel: "Relabelled",
  drop: "Dropped",
  skip: "Skipped",
};

export const SIGNS = {
  undecided: "",
  keep: "✓",
  relabel: "→",
  drop: "✕",
  skip: "…",
  conflict: "!",
};

// Runs `action` unless another one is still under way; whether it ran and went well.
export async function alone(action) {
  if (busy) return false;
  busy = true;
  document.body.classList.add("busy");
  try {
    await action();
    return true;
  } catch (error) {
    complain(`Not saved: ${error.message}`);
    return false;
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

// `answers` are [row, action, label, kind]; all of them are one step to undo.
export async function decide(answers) {
  await post("/api/decide", { answers, reviewer: store.reviewer });
  complain("");
  const [[, action, label]] = answers;
  if (answers.length > 1) say(`Decided: ${plural(answers.length, "row")}`);
  else say(action === "relabel" ? `Relabelled: ${className(label)}` : WORDS[action]);
}

// Relabelling to the label that is there already is keeping it.
export function answerFor(example, action, label, kind) {
  const wanted = label ?? example.suggested;
  if (action !== "relabel" || wanted === example.given) {
    return [example.row, action === "relabel" ? "keep" : action, NO_LABEL, kind];
  }
  return [example.row, action, wanted, kind];
}

// Takes back the last thing said, or says it again; the rows that changed.
export async function step(name) {
  const { rows } = await post(`/api/${name}`, { reviewer: store.reviewer });
  const nothing = name === "undo" ? "Nothing to undo" : "Nothing to redo";
  say(rows.length ? `${name === "undo" ? "Undone" : "Redone"}: ${plural(rows.length, "row")}` : nothing);
  return rows;
}

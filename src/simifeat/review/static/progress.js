// How far the review is, and how many errors are expected to be left.
import { get } from "./api.js";
import { byId, count, h, percent, replace } from "./dom.js";
import { apply, drawReviewers } from "./filters.js";
import { SIGNS } from "./decide.js";
import { STATES, store } from "./store.js";

let waiting = 0;
let names = "";

// Ask again soon; many changes at once ask once.
export function update(after = 150) {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    store.progress = await get("/api/progress", { reviewer: store.reviewer });
    draw(store.progress);
  }, after);
}

function draw(found) {
  replace(byId("progress"), bar(found), h("p", {}, ...sentence(found)));
  byId("progress").dataset.seq = found.seq;
  const now = JSON.stringify(found.reviewers.map(([name]) => name));
  if (now !== names) drawReviewers(found.reviewers);
  names = now;
}

function bar(found) {
  const shown = [...STATES.slice(1), "undecided"].filter((state) => found.states[state]);
  const parts = shown.map((state) => {
    const n = found.states[state];
    const word = state === "undecided" ? "open" : state;
    const part = h("span", { class: `part ${state}`, title: `${word}: ${count(n)}` }, n / found.n_flagged > 0.04 ? SIGNS[state] : "");
    part.style.flexGrow = n;
    return part;
  });
  const text = shown.map((state) => `${state === "undecided" ? "open" : state} ${found.states[state]}`).join(", ");
  return h("div", { class: "stack", role: "img", "aria-label": `Decisions: ${text}` }, ...parts);
}

// Conflicts are few and wait for somebody: one press shows them.
function conflicts(n) {
  return h("button", { type: "button", class: "inline", onclick: () => apply({ states: "conflict" }) }, `${count(n)} in conflict`);
}

function sentence(found) {
  const left = found.errors_left;
  const words = [h("strong", {}, `${count(found.n_answered)} of ${count(found.n_flagged)}`), " flags decided"];
  if (found.precision !== null) words.push(` · ${percent(found.precision)} of them were errors`);
  words.push(
    " · about ",
    h("strong", { id: "left" }, count(left.expected)),
    ` errors left in the flags (${count(left.low)}–${count(left.high)})`,
    ` · about ${count(found.errors_unflagged)} in the rows not flagged`,
  );
  if (found.states.conflict) words.push(" · ", conflicts(found.states.conflict));
  if (found.looking.length) words.push(` · also here: ${found.looking.join(", ")}`);
  return words;
}

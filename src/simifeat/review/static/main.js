// Where everything meets: start, keys, views, news from others.
import { get } from "./api.js";
import { bdi, byId, complain, count, h } from "./dom.js";
import * as check from "./check.js";
import { askName, drawName, files, help } from "./dialogs.js";
import * as filters from "./filters.js";
import * as grid from "./grid.js";
import * as one from "./one.js";
import * as progress from "./progress.js";
import { keepPlace, restore, store } from "./store.js";

const VIEWS = { one, grid, check };
const NAMES = { one: "One by one", grid: "Grid", check: "Double-check" };

async function start() {
  restore();
  store.about = await get("/api/about");
  byId("dataset").replaceChildren(bdi(store.about.name), ` · ${count(store.about.n_flagged)} of ${count(store.about.n_rows)} labels flagged`);
  document.title = `simifeat review · ${store.about.name}`;
  byId("who").addEventListener("click", async () => {
    await askName();
    drawName();
    progress.update(0);
  });
  byId("help").addEventListener("click", help);
  byId("export").addEventListener("click", () => files(refreshAll).catch((error) => complain(error.message)));
  grid.onOpen((row) => {
    store.row = row ?? null;
    show("one");
  });
  filters.draw(() => {
    store.row = null;
    store.offset = 0;
    show(store.view === "check" ? "grid" : store.view);
  });
  document.addEventListener("keydown", onKey);
  if (!store.reviewer) await askName();
  drawName();
  progress.update(0);
  await show(store.view);
  listen();
}

async function show(view) {
  store.view = view;
  document.body.dataset.view = view;
  byId("views").replaceChildren(
    ...Object.entries(NAMES).map(([name, text]) =>
      h("button", { type: "button", "aria-pressed": String(name === view), onclick: () => show(name) }, text),
    ),
  );
  keepPlace();
  try {
    await VIEWS[view].open();
  } catch (error) {
    complain(error.message);
  }
}

function refreshAll() {
  progress.update(0);
  VIEWS[store.view].refresh(null);
}

// News from other reviewers, and from this one.
function listen() {
  const source = new EventSource("/api/events");
  let lost = false;
  source.onmessage = (event) => {
    const { rows, by } = JSON.parse(event.data);
    progress.update();
    if (by.some((name) => name !== store.reviewer)) VIEWS[store.view].refresh(rows);
  };
  source.onerror = () => {
    lost = true;
  };
  source.onopen = () => {
    if (lost) refreshAll();
    lost = false;
  };
}

function onKey(event) {
  if (event.repeat && !event.key.startsWith("Arrow")) return;
  if (document.querySelector("dialog[open]")) return;
  const name = nameOf(event);
  const field = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (field) {
    if (event.key === "Escape") field.blur();
    return;
  }
  const pressed = event.target.closest("button, summary, a, input");
  if (pressed && (event.key === "Enter" || event.key === " ")) return;
  const action = actionOf(name);
  if (!action) return;
  event.preventDefault();
  action(event);
}

function nameOf(event) {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.altKey) return "";
  return event.ctrlKey || event.metaKey ? `Control+${event.shiftKey ? "Shift+" : ""}${letter}` : letter;
}

function actionOf(name) {
  const { keys } = VIEWS[store.view];
  if (name === "Control+z") return keys.u;
  if (name === "Control+y" || name === "Control+Shift+z") return keys.r;
  if (name.startsWith("Control+")) return keys[name];
  if (!store.keys && (name.length === 1 || name === "Enter")) return undefined;
  const everywhere = {
    g: () => show(store.view === "grid" ? "one" : "grid"),
    c: () => show("check"),
    "/": () => {
      byId("filters").open = true;
      byId("words").focus();
    },
    f: () => {
      byId("filters").open = true;
      byId("pair").focus();
    },
    e: () => byId("export").click(),
    "?": help,
  };
  return keys[name] ?? everywhere[name];
}

start().catch((error) => complain(`The page cannot start: ${error.message}`));

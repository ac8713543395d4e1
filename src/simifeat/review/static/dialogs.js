// What opens above the page: the name, the keys, the files.
import { get, upload } from "./api.js";
import { bdi, byId, h, key, say } from "./dom.js";
import { rename, store, switchKeys } from "./store.js";

const KEYS = [
  ["K", "keep the given label"],
  ["A or Enter", "accept the suggested label"],
  ["L", "choose another label by typing"],
  ["D", "drop the row"],
  ["S", "skip: no answer"],
  ["U or Ctrl+Z", "undo"],
  ["R or Ctrl+Y", "redo"],
  ["N", "next uncertain row"],
  ["→ or J, ← or P", "forward, back"],
  ["Z", "zoom"],
  ["G", "grid, or one by one"],
  ["C", "double-check"],
  ["/", "search"],
  ["F", "filters; Tab to the next one, Esc to leave"],
  ["E", "export and import"],
  ["In the grid", "arrows to move, Space to choose, Shift+arrows for a range, Ctrl+A for all, Enter to look"],
];

function opened(name, ...content) {
  const dialog = h("dialog", { "aria-label": name, onclose: () => dialog.remove() }, h("h2", {}, name), ...content);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function closing(text = "Close") {
  return h("form", { method: "dialog" }, h("button", {}, text));
}

// Asks until there is a name.
export function askName() {
  return new Promise((resolve) => {
    const input = h("input", { type: "text", maxlength: "40", required: true, autocomplete: "name", "aria-label": "Your name", value: store.reviewer });
    const dialog = opened(
      "Who reviews?",
      h("p", {}, "Your name stands beside what you decide."),
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            const name = input.value.trim();
            if (!name) return;
            rename(name);
            dialog.close();
            resolve();
          },
        },
        input,
        h("button", { class: "primary" }, "Start"),
      ),
    );
    if (!store.reviewer) dialog.addEventListener("cancel", (event) => event.preventDefault());
    else dialog.addEventListener("close", resolve);
    input.focus();
  });
}

export function help() {
  const rows = KEYS.map(([name, text]) => h("tr", {}, h("th", { scope: "row" }, key(name), h("span", { class: "hidden" }, name)), h("td", {}, text)));
  const box = h("input", { type: "checkbox", checked: store.keys, onchange: () => switchKeys(box.checked) });
  opened("Keys", h("table", { class: "keys" }, h("tbody", {}, ...rows)), h("label", {}, box, " Single keys decide"), closing());
}

export async function files(changed) {
  const { exports } = await get("/api/exports");
  const items = exports.map(({ name, title, text, why_not }) =>
    h("li", {}, why_not ? h("span", { class: "faint" }, title) : h("a", { href: `/api/export/${name}`, download: "" }, title), h("br"), h("span", { class: "faint" }, why_not ?? text)),
  );
  const input = h("input", {
    type: "file",
    accept: ".json",
    "aria-label": "Results of Label Studio",
    onchange: async () => {
      try {
        const { added, skipped } = await upload("/api/import/label-studio", input.files[0]);
        say(`${added} decisions added, ${skipped} left out`);
        dialog.close();
        changed();
      } catch (error) {
        problem.textContent = error.message;
      }
    },
  });
  const problem = h("p", { class: "problem", role: "alert" });
  const dialog = opened("Export and import", h("ul", { class: "exports" }, ...items), h("h3", {}, "Import results of Label Studio"), input, problem, closing());
}

export function drawName() {
  byId("who").replaceChildren(bdi(store.reviewer || "Your name"));
}

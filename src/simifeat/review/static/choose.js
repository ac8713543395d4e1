// Choosing a label by typing a few letters of it.
import { bdi, h, replace } from "./dom.js";
import { store } from "./store.js";

const MOST_SHOWN = 50;

// The code of the label chosen, or null. `likely` codes come first while nothing is typed.
export function chooseLabel(likely) {
  return new Promise((resolve) => {
    let matches = [];
    let at = 0;
    const list = h("ul", { id: "labels", role: "listbox", "aria-label": "Labels" });
    const input = h("input", {
      type: "text",
      role: "combobox",
      autocomplete: "off",
      spellcheck: "false",
      "aria-expanded": "true",
      "aria-controls": "labels",
      "aria-label": "Label",
      placeholder: "Type a label…",
      oninput: () => update(),
      onkeydown: (event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
          event.preventDefault();
          mark(at + (event.key === "ArrowDown" ? 1 : -1));
        } else if (event.key === "Enter") {
          event.preventDefault();
          if (matches.length) finish(matches[at]);
        }
      },
    });
    const dialog = h(
      "dialog",
      { class: "choose", "aria-label": "Choose a label", onclose: () => finish(null) },
      input,
      list,
      h("p", { class: "faint" }, "↑ ↓ to move, Enter to choose, Esc to leave"),
    );

    function update() {
      matches = matching(input.value, likely).slice(0, MOST_SHOWN);
      const options = matches.map((code, place) =>
        h("li", { role: "option", id: `label-${place}`, onclick: () => finish(code) }, bdi(store.about.classes[code])),
      );
      replace(list, options.length ? options : [h("li", { class: "faint", role: "option", "aria-disabled": "true" }, "No such label")]);
      mark(0);
    }

    function mark(place) {
      if (!matches.length) return;
      at = (place + matches.length) % matches.length;
      [...list.children].forEach((item, n) => item.setAttribute("aria-selected", String(n === at)));
      list.children[at].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", `label-${at}`);
    }

    function finish(code) {
      dialog.remove();
      resolve(code);
    }

    document.body.append(dialog);
    update();
    dialog.showModal();
    input.focus();
  });
}

// Codes whose label starts with the letters, then those with a word that does, then those that hold
// them anywhere.
function matching(letters, likely) {
  const all = store.about.classes;
  const wanted = letters.trim().toLowerCase();
  if (!wanted) return [...new Set([...likely, ...all.keys()])];
  const found = [[], [], []];
  all.forEach((label, code) => {
    const place = label.toLowerCase().indexOf(wanted);
    if (place === 0) found[0].push(code);
    else if (place > 0) found[/[\s_/.-]/.test(label[place - 1]) ? 1 : 2].push(code);
  });
  return found.flat();
}

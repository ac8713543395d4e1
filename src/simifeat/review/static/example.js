// One example as it looks: a picture, a text, or the cells of a row. Small in the grid and among
// neighbours, large on the stage.
import { address } from "./api.js";
import { bdi, count, h } from "./dom.js";
import { SIGNS } from "./decide.js";
import { className, store } from "./store.js";

const SMALL = 224;
const LARGE = 1024;
const PIXELATED = 128; // up to this size, zooming in is to see the pixels themselves

export const pictureAddress = (row, size) => address(`/api/rows/${row}/picture`, { size });

export function thumbnail(example) {
  if (store.about.kind === "image") return picture(example, SMALL);
  if (!example.snippet) return h("p", { class: "snippet faint" }, "no preview");
  return h("p", { class: "snippet", dir: "auto" }, example.snippet);
}

export function large(example) {
  const parts = [];
  if (store.about.kind === "image") parts.push(picture(example, LARGE));
  if (example.text !== undefined) parts.push(...text(example));
  if (example.fields.length) parts.push(table(example.fields));
  if (!parts.length) {
    parts.push(h("p", { class: "empty" }, "The dataset holds features only; there is nothing to look at."));
  }
  return parts;
}

function picture(example, size) {
  const image = h("img", {
    src: pictureAddress(example.row, size),
    alt: `Example ${example.id}, labelled ${className(example.given)}`,
    decoding: "async",
    onload: () => image.classList.toggle("pixelated", image.naturalWidth <= PIXELATED),
    onerror: () => image.replaceWith(h("p", { class: "snippet faint" }, "This picture cannot be shown")),
  });
  return image;
}

function text(example) {
  const shown = h("div", { class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": "Text" }, example.text);
  if (example.n_characters <= example.text.length) return [shown];
  const note = `The first part of ${count(example.n_characters)} characters.`;
  return [shown, h("p", { class: "faint" }, note)];
}

function table(fields) {
  const rows = fields.map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, bdi(name)), h("td", { dir: "auto" }, value)),
  );
  return h("table", { class: "cells" }, h("tbody", {}, ...rows));
}

// A label with a sign for its role, so that the role is not told by colour alone.
export function labelled(code, role) {
  const signs = { given: "●", suggested: "◆", other: "○" };
  return h("span", { class: `label ${role}` }, h("span", { "aria-hidden": "true" }, signs[role]), " ", bdi(className(code)));
}

export function role(code, example) {
  if (code === example.given) return "given";
  return code === example.suggested ? "suggested" : "other";
}

export function stateBadge(example) {
  if (example.state === "undecided") return null;
  const label = example.label === null ? "" : ` ${className(example.label)}`;
  const words = { keep: "kept", relabel: "relabelled", drop: "dropped", skip: "skipped", conflict: "conflict" };
  return h("span", { class: `state ${example.state}` }, `${SIGNS[example.state]} ${words[example.state]}`, label && bdi(label));
}

// Elements made by hand. Text only ever becomes text: nothing here parses markup, so a label, a
// file name or a document cannot become part of the page.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

// Text of unknown direction, kept from turning what stands around it.
export const bdi = (text, properties = {}) => h("bdi", properties, text);

export const key = (name) => h("kbd", { "aria-hidden": "true" }, name);

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat().filter(Boolean));
}

export const count = (n) => Math.round(n).toLocaleString("en");

// A probability: never "100 %" or "0 %", for nothing is quite certain.
export function likely(p) {
  if (p > 0.9985) return "> 99.8 %";
  return p < 0.0015 ? "< 0.2 %" : percent(p);
}

export function percent(share) {
  return `${(100 * share).toFixed(share > 0.1 && share < 0.985 ? 0 : 1).replace(/\.0$/, "")} %`;
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

let fading = 0;

// Say what happened, to eyes and to screen readers.
export function say(text) {
  const place = byId("said");
  place.textContent = text;
  place.classList.add("fresh");
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove("fresh"), 2500);
}

export function complain(text) {
  const place = byId("trouble");
  place.textContent = text;
  place.hidden = !text;
}

// Requests to the server. A decision counts once it is answered; until then it is tried again under
// the same name, so that it is written down once however often it is sent.
import { complain } from "./dom.js";

const TRIES = 4;

export class Refused extends Error {}

export function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, v]) => v !== "" && v !== null && v !== undefined);
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}

export async function get(path, parameters) {
  return answer(await fetch(address(path, parameters)));
}

export async function post(path, body) {
  const request = { ...body, request: freshName() };
  return tried(() =>
    fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    }),
  );
}

export async function upload(path, file) {
  return answer(await fetch(path, { method: "POST", body: file }));
}

async function tried(send) {
  for (let turn = 1; ; turn += 1) {
    try {
      const found = await answer(await send());
      complain("");
      return found;
    } catch (error) {
      if (error instanceof Refused || turn === TRIES) throw error;
      complain("The server does not answer. This is not saved yet; trying again…");
      await new Promise((resume) => setTimeout(resume, 400 * 2 ** turn));
    }
  }
}

async function answer(response) {
  if (response.ok) return response.json();
  const text = await response.text();
  if (response.status === 503) throw new Error(message(text));
  throw new Refused(message(text));
}

function message(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim() || "the server could not answer";
  }
}

function freshName() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Everything that is shown, as a file.

import { element } from "./elements.js";

const COLUMNS = ["headline", "length", "unit", "budget", "mode", "preset", "fits", "whole_words", "score"];

const rows = (results) => results.flatMap((result) => result.headlines.map((headline) => ({
  ...headline, headline: headline.text, unit: result.unit, budget: result.budget, mode: result.mode,
  preset: result.preset ?? "",
})));

const quoted = (value) => {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function csv(results) {
  const lines = rows(results).map((row) => COLUMNS.map((name) => quoted(row[name])).join(","));
  return `${[COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}

export const json = (results) => `${JSON.stringify(results, null, 2)}\n`;

export function save(name, kind, content) {
  const url = URL.createObjectURL(new Blob([content], { type: `${kind};charset=utf-8` }));
  element("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

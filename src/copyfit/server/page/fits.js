// One block for each length: the headline, its ruler, its counts, and the choices.

import { element } from "./elements.js";
import { marked } from "./words.js";

export const UNITS = {
  char: ["character", "characters"],
  grapheme: ["grapheme", "graphemes"],
  cell: ["cell", "cells"],
  "cell-cjk": ["half-width cell", "half-width cells"],
  byte: ["byte", "bytes"],
  utf16: ["UTF-16 unit", "UTF-16 units"],
  word: ["word", "words"],
  x: ["X weight", "X weights"],
  gsm7: ["SMS septet", "SMS septets"],
};
const MODES = { exact: "exactly", max: "at most", range: "at most", free: "about" };
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const LONG = 32;
const LONGEST = 64;

export const counted = (number, unit) => `${number} ${UNITS[unit][number === 1 ? 0 : 1]}`;

// Return the letters to stand in the cells of a ruler, one a cell, or none where cells are not letters.
function letters(text, unit) {
  if (unit === "char") return [...text.normalize("NFC")];
  if (unit === "grapheme") return [...GRAPHEMES.segment(text)].map((part) => part.segment);
  return [];
}

function ruler(headline, limit, unit) {
  const shown = letters(headline.text, unit);
  const told = shown.length === headline.length ? shown : [];
  const size = Math.max(limit, headline.length);
  const cells = Array.from({ length: size }, (_, place) => {
    const used = place < headline.length;
    const kinds = [used ? (place < limit ? "" : "over") : "free", place === limit - 1 ? "end" : ""];
    return element("i", { className: kinds.join(" ").trim() }, used ? (told[place] ?? "") : "");
  });
  const label = `${headline.length} of ${counted(limit, unit)} used`;
  const made = element("div", { className: "ruler", role: "img", "aria-label": label }, ...cells);
  made.classList.toggle("long", size > LONG);
  made.classList.toggle("fine", size > LONGEST || !told.length);
  made.style.setProperty("--limit", size);
  return made;
}

function counts(headline, unit) {
  const pairs = Object.entries(headline.counts).map(([name, number]) =>
    element("div", { className: name === unit ? "asked" : "" },
      element("dt", {}, UNITS[name][number === 1 ? 0 : 1]), element("dd", {}, `${number}`)));
  return element("dl", { className: "counts" }, ...pairs);
}

const parts = (headline, story) =>
  marked(headline.text, story).map(({ text, told }) => (told ? element("mark", {}, text) : text));

function legend(result) {
  const least = result.min === undefined ? MODES[result.mode] : `${result.min} to`;
  const made = element("legend", {}, element("b", {}, `${least} ${counted(result.budget, result.unit)}`));
  if (result.truncated) made.append(" · the story is longer than the model reads");
  return made;
}

function choices(result, number, chosen, choose) {
  const rows = result.headlines.map((headline, rank) =>
    element("li", {}, element("label", {},
      element("input", {
        type: "radio", name: `choice-${number}`, checked: rank === chosen, onchange: () => choose(rank),
      }),
      element("span", {}, headline.text),
      element("span", {}, `${headline.length}`))));
  return element("ul", { className: "choices", "aria-label": "Choices" }, ...rows);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Cannot copy here";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// Return the block of one result. `told` is asked to show what was chosen elsewhere too.
export function fit(result, number, story, told) {
  const block = element("fieldset", { className: "fit" });
  if (result.error) {
    block.append(element("p", { className: "unfit" }, result.error));
    return block;
  }
  const show = (chosen) => {
    const headline = result.headlines[chosen];
    const button = element("button", { type: "button", onclick: () => copy(headline.text, button) }, "Copy");
    button.setAttribute("aria-label", `Copy: ${headline.text}`);
    const notFit = headline.fits ? [] : [element("p", { className: "unfit" },
      `This one is ${counted(headline.length, result.unit)}: no headline meets the length.`)];
    block.replaceChildren(
      legend(result),
      element("div", { className: "lead" }, element("h2", {}, ...parts(headline, story)), button),
      ruler(headline, result.budget, result.unit),
      counts(headline, result.unit),
      ...notFit,
      ...(result.headlines.length > 1 ? [choices(result, number, chosen, choose)] : []),
    );
    told(number, chosen);
  };
  let current = 0;
  const choose = (chosen) => {
    current = chosen;
    show(chosen);
    block.querySelector("input:checked").focus();
  };
  block.addEventListener("focusin", () => told(number, current));
  show(current);
  return block;
}

// Where a headline will stand: it looks the same everywhere and fits differently.

import { element } from "./elements.js";

const LINES = 155;
const WIDE = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60" +
    "\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]", "u");
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const beginning = (story) => (story.length > LINES ? `${story.slice(0, LINES).trimEnd()} …` : story);

const card = (kind, ...contents) => element("div", { className: `card ${kind}` }, ...contents);

const PLACES = {
  search: (text, story) => card("search", element("small", {}, "example.org › news"),
    element("b", {}, text), element("small", {}, beginning(story))),
  push: (text, story) => card("push", element("b", {}, text), element("small", {}, beginning(story))),
  ad: (text, story) => card("ad", element("em", {}, "Ad"), element("small", {}, "example.org"),
    element("b", {}, text), element("small", {}, beginning(story))),
  column: (text, story, width) => {
    const made = card("column", element("b", {}, text), element("p", {}, story.slice(0, 600)));
    // As wide as so many digits of the headline's own type.
    made.style.width = `calc(${width} * 0.86rem + 2.8rem)`;
    return made;
  },
  cells: (text) => card("grid", ...[...GRAPHEMES.segment(text)].map(({ segment }) =>
    element("i", { className: WIDE.test(segment) ? "wide" : "" }, segment))),
};

export function preview(place, text, story, width) {
  return PLACES[place](text, story, width);
}

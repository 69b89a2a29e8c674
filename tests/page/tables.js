// node tables.js TABLES CASES: what the page makes of texts and pieces without a model, for Python to compare.

import { readFile } from "node:fs/promises";

const [page, tables, cases] = process.argv.slice(2);
const { Tokenizer, normalise } = await import(`${page}/offline/tokenizer.js`);
const { Counting } = await import(`${page}/offline/counting.js`);
const { Words } = await import(`${page}/offline/words.js`);

const known = JSON.parse(await readFile(tables, "utf8"));
const { texts, written, ends } = JSON.parse(await readFile(cases, "utf8"));
const tokenizer = new Tokenizer(known.source);
const counting = new Counting(known);
const words = new Words(known);

process.stdout.write(JSON.stringify({
  ids: texts.map((text) => tokenizer.encode(normalise(text))),
  counts: written.map((pieces) => ({ text: counting.text(pieces), counts: counting.counts(pieces) })),
  ends: ends.map(([text, source]) => words.endsWhole(text, source)),
}));

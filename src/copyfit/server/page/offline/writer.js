// From a question to its answer, as the service gives it; needs the runtime, the graphs and their tables.

import { Counting } from "./counting.js";
import { Layouts } from "./layout.js";
import { Search } from "./search.js";
import { Tokenizer, normalise } from "./tokenizer.js";
import { Words } from "./words.js";

const FIRST_PIECE = 3;
const NUM_BEAMS = 5;
const POOL = 4;
const EMPTY = "the text must not be empty; give an article to write a headline for";

export class Writer {
  #tables;
  #tokenizer;
  #words;
  #counting;
  #layouts;
  #search;

  constructor(tables, runtime, start, advance) {
    this.#tables = tables;
    this.#tokenizer = new Tokenizer(tables.source);
    this.#words = new Words(tables);
    this.#counting = new Counting(tables);
    this.#layouts = new Layouts(tables);
    this.#search = new Search(runtime, start, advance);
  }

  static async open(runtime, folder) {
    const fetched = async (name) => new Uint8Array(await (await fetch(`${folder}/${name}`)).arrayBuffer());
    const session = async (name) => runtime.InferenceSession.create(await fetched(name));
    const tables = await (await fetch(`${folder}/tables.json`)).json();
    return new Writer(tables, runtime, await session("start.onnx"), await session("advance.onnx"));
  }

  get presets() {
    return this.#tables.presets;
  }

  encode(text) {
    return this.#tokenizer.encode(normalise(text));
  }

  async write(question, wanted) {
    const begun = performance.now();
    const preset = this.presets.find(({ name }) => name === question.preset);
    const { mode } = preset ?? question;
    const results = [];
    for (const length of preset ? [preset.limit] : question.lengths) {
      results.push(await this.#result({ text: question.text, length, mode, preset, count: question.candidates }, wanted));
    }
    const headlines = results.reduce((sum, result) => sum + result.headlines.length, 0);
    const usage = { texts: 1, headlines, milliseconds: Math.round(performance.now() - begun) };
    return { model: this.#tables.name, results, usage };
  }

  async #result({ text, length, mode, preset, count }, wanted) {
    const source = normalise(text);
    const ids = this.#tokenizer.encode(source);
    const result = {
      index: 0, budget: length, unit: "char", mode, preset: preset?.name ?? null, headlines: [],
      truncated: ids.length > this.#tables.longestSource, model: this.#tables.name, error: source ? null : EMPTY,
    };
    const plan = this.#layouts.plan(length, mode);
    if (result.error || !plan) return result;
    const beams = Math.max(NUM_BEAMS, count);
    const rules = this.#layouts.rules(plan, { beams, keep: Math.max(beams, POOL * count) });
    const read = this.#tokenizer.shorten(ids, this.#tables.longestSource);
    const rows = await this.#search.run(read, plan.aims, rules, wanted);
    const found = rows.flatMap((row, place) => row.map((each) => this.#headline(each, plan.aims[place], source)));
    const fits = (headline) => (mode === "exact" ? headline.length === length : headline.length <= length);
    result.headlines = best(found, plan.aims.length > 1, count).map((line) => ({ ...line, fits: fits(line) }));
    return result;
  }

  #headline({ tokens, score, spent }, aim, source) {
    const pieces = tokens.map((token) => token - FIRST_PIECE);
    const text = this.#counting.text(pieces);
    const counts = this.#counting.counts(pieces);
    const length = [...text.normalize("NFC")].length;
    if (length !== spent) throw new Error(`${text} was to be ${spent} characters, it is ${length}`);
    return { text, length, whole_words: this.#words.endsWhole(text, source), score, aim, counts };
  }
}

// Whole last words first, then by score; scores of different budgets compare per character.
function best(found, several, count) {
  const worth = ({ score, length }) => (several ? score / Math.max(length, 1) : score);
  const sorted = found.toSorted((one, other) => other.whole_words - one.whole_words || worth(other) - worth(one));
  const distinct = new Map();
  for (const headline of sorted) if (!distinct.has(headline.text)) distinct.set(headline.text, headline);
  return [...distinct.values()].slice(0, count);
}

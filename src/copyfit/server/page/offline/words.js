// Whether a headline ends in a whole word: one of the story, or one that the model's headlines often had.

const HYPHENS = /[-\u2010\u2011]/u;
const OUTSIDE = /[^\p{L}\p{N}\p{M}'’]+/u;
const EDGES = /^['’]+|['’]+$/gu;
const POSSESSIVE = /['’]s$/iu;

export class Words {
  #known;
  #folds;
  #unspaced;

  constructor({ words, folds, unspaced }) {
    this.#known = new Set(words);
    this.#folds = new Map(Object.entries(folds));
    this.#unspaced = new RegExp(`^[${unspaced}]$`, "u");
  }

  endsWhole(text, source) {
    const last = [...text].at(-1);
    if (last === undefined || !/[\p{L}\p{M}]/u.test(last) || this.#unspaced.test(last)) return true;
    const word = this.of(text).at(-1) ?? "";
    return this.#known.has(word) || this.of(source).includes(word);
  }

  of(text) {
    return text.split(" ").filter(Boolean).flatMap((token) => this.#ofToken(token));
  }

  #ofToken(token) {
    if (/^[\p{L}\p{N}]+$/u.test(token)) return [this.#fold(token)];
    return token.split(HYPHENS).at(-1).split(OUTSIDE).filter(Boolean)
      .map((part) => part.replace(EDGES, "").replace(POSSESSIVE, "")).filter(Boolean)
      .map((part) => this.#fold(part));
  }

  #fold(word) {
    const letters = [...word];
    if (letters.length === 1) return word;
    return letters.map((letter) => this.#folds.get(letter) ?? letter.toLowerCase()).join("");
  }
}

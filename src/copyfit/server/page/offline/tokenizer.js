// A story as the ids that the model reads: the same as in Python, byte-pair encoding over UTF-8 bytes.

const LETTER = "[[\\p{L}\\p{M}]--[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー]]";
const RUNS = new RegExp([
  ` ?${LETTER}+(?:['’]${LETTER}+)*`,
  " ?\\p{Script=Han}+",
  " ?\\p{Script=Hiragana}+",
  " ?[\\p{Script=Katakana}ー]+",
  " ?\\p{N}+",
  " ?[^\\p{White_Space}\\p{L}\\p{M}\\p{N}]+",
  "\\p{White_Space}",
].join("|"), "gv");
const WHITE = /[\p{White_Space}\x1c-\x1f]+/u;

export function normalise(text) {
  return text.toWellFormed().normalize("NFC").split(WHITE).filter(Boolean).join(" ");
}

// Every byte has a character that stands for it: itself where it can be seen, one from U+0100 on otherwise.
function alphabet() {
  const seen = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(seen(byte) ? byte : next++));
}

export class Tokenizer {
  #letters = alphabet();
  #bytes = new TextEncoder();
  #words = new Map();
  #ids;
  #ranks;
  #ending;

  constructor({ vocab, merges, ending }) {
    this.#ids = new Map(Object.entries(vocab));
    this.#ranks = new Map(merges.map((pair, rank) => [pair.join(" "), rank]));
    this.#ending = ending;
  }

  encode(text) {
    const words = text ? text.split(" ") : [];
    return [...words.flatMap((word) => this.#word(word)), ...this.#ending];
  }

  // What a model reads of a story that is too long: its beginning, and the ending.
  shorten(ids, longest) {
    if (ids.length <= longest) return ids;
    return [...ids.slice(0, longest - this.#ending.length), ...this.#ending];
  }

  #word(word) {
    if (!this.#words.has(word)) {
      this.#words.set(word, (` ${word}`.match(RUNS) ?? []).flatMap((run) => this.#merged(run)));
    }
    return this.#words.get(word);
  }

  #merged(run) {
    let parts = [...this.#bytes.encode(run)].map((byte) => this.#letters[byte]);
    for (;;) {
      const ranks = parts.slice(1).map((part, place) => this.#ranks.get(`${parts[place]} ${part}`) ?? Infinity);
      const best = Math.min(...ranks);
      if (best === Infinity) return parts.map((part) => this.#ids.get(part));
      const place = ranks.indexOf(best);
      parts = [...parts.slice(0, place), parts[place] + parts[place + 1], ...parts.slice(place + 2)];
    }
  }
}

// Which words of a headline stand in the story.

const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });

const known = (word) => word.toLowerCase().normalize("NFC");

export function wordsOf(text) {
  const words = [...WORDS.segment(text)].filter((part) => part.isWordLike);
  return new Set(words.map((part) => known(part.segment)));
}

// Return the headline as parts, each with whether the story has it; together they are the headline.
export function marked(headline, story) {
  return [...WORDS.segment(headline)].map((part) => ({
    text: part.segment,
    told: Boolean(part.isWordLike) && story.has(known(part.segment)),
  }));
}

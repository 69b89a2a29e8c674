// From the fields of the page to a question, or to what is wrong with a field.

export const LONGEST = 500;
export const MOST_LENGTHS = 8;

export class Mistake extends Error {}

export function lengthsOf(typed) {
  const parts = typed.split(/[\s,;]+/).filter(Boolean);
  if (!parts.length) throw new Mistake("Give a length, such as 50.");
  if (parts.length > MOST_LENGTHS) throw new Mistake(`Give at most ${MOST_LENGTHS} lengths.`);
  return parts.map((part) => {
    const length = /^\d{1,9}$/.test(part) ? Number(part) : 0;
    if (length < 1 || length > LONGEST) throw new Mistake(`A length is a whole number from 1 to ${LONGEST}.`);
    return length;
  });
}

export function questionOf(fields) {
  const question = {
    text: fields.text.toWellFormed?.() ?? fields.text,
    candidates: Math.min(Math.max(Math.round(Number(fields.candidates)) || 1, 1), 10),
  };
  if (fields.preset) question.preset = fields.preset;
  else Object.assign(question, { lengths: lengthsOf(fields.lengths), unit: fields.unit, mode: fields.mode });
  const required = fields.require.split(",").map((word) => word.trim()).filter(Boolean);
  if (required.length) question.require = required;
  if (fields.start.trim()) question.start = fields.start;
  return question;
}

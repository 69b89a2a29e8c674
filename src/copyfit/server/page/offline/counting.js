// The count of a headline in every unit, added up over the pieces that it is made of.

export class Counting {
  #tables;

  constructor(tables) {
    this.#tables = tables;
  }

  // The text of pieces; where pieces bring their spaces, the first one's is not written.
  text(pieces) {
    const text = pieces.map((piece) => this.#tables.pieces[piece]).join("");
    return this.#tables.prefixed ? text.replace(/^ /, "") : text;
  }

  counts(pieces) {
    const { costs, prefixed, septets, units } = this.#tables;
    const added = (table) => pieces.reduce((sum, piece) => sum + table[piece], 0) - (prefixed && pieces.length ? 1 : 0);
    const inside = pieces.every((piece) => septets[piece] !== null);
    const special = {
      word: () => this.text(pieces).split(" ").filter(Boolean).length,
      gsm7: () => (inside ? added(septets) : Math.ceil((16 * added(costs.utf16)) / 7)),
    };
    return Object.fromEntries(units.map((unit) => [unit, special[unit]?.() ?? added(costs[unit])]));
  }
}

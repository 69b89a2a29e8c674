// The rules of a search as the graphs take them: for each length a part of the tables that Python made.

const LEAST_SHARE = 0.7;
const TOLD = 4;

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

export class Layouts {
  #tables;
  #arrays;

  constructor(tables) {
    const { layout } = tables;
    this.#tables = layout;
    this.#arrays = {
      cost: new Int16Array(bytesOf(layout.cost)),
      nextState: new Int32Array(bytesOf(layout.nextState)),
      bonus: new Float32Array(bytesOf(layout.bonus)),
      classOf: new BigInt64Array(bytesOf(layout.classOf)),
      trainedCost: new Float32Array(bytesOf(layout.trainedCost)),
      textHash: new BigInt64Array(bytesOf(layout.textHash)),
      tight: new Int16Array(bytesOf(layout.tight)),
      loose: new Int16Array(bytesOf(layout.loose)),
    };
  }

  // Return what is searched for a wish: bounds that some text can meet, and the budgets to tell the model.
  plan(length, mode) {
    const floor = mode === "exact" ? length : 1;
    const bounds = { floor, limit: length, aims: mode === "exact" ? [length] : aims(length) };
    if (this.#steps(bounds, length) <= this.#tables.maxSteps[length]) return bounds;
    let nearest = length;
    while (nearest && this.#steps({ floor: nearest }, nearest) >= this.#tables.unreachable) nearest -= 1;
    return nearest ? { floor: nearest, limit: nearest, aims: [nearest], maxSteps: length } : null;
  }

  // Return the rules by name, each as [type, numbers, sizes].
  rules({ floor, limit, aims: told, maxSteps = limit }, { beams, keep }) {
    const { states, classes, tokens, start } = this.#tables;
    const rows = told.length;
    const steps = this.#tables.maxSteps[maxSteps];
    const each = (value) => ["int64", new BigInt64Array(rows).fill(BigInt(value)), [rows]];
    const range = (size) => ["int64", BigInt64Array.from({ length: size }, (_, number) => BigInt(number)), [size]];
    return {
      "rules.cost": ["int16", this.#arrays.cost, [states, classes]],
      "rules.next_state": ["int32", this.#arrays.nextState, [states, classes]],
      "rules.steps": ["int16", this.#left(floor, limit), [states, limit + 2]],
      "rules.bonus": ["float32", this.#arrays.bonus, [states]],
      "rules.classes": ["int64", repeated(this.#arrays.classOf, rows), [rows, tokens]],
      "rules.start": each(start),
      "rules.floor": each(floor),
      "rules.limit": each(limit),
      "rules.max_steps": each(steps),
      "rules.scale": ["float32", new Float32Array(rows).fill(1), [rows]],
      "rules.normalised": ["bool", new Uint8Array(rows), [rows]],
      "rules.prefix": ["int64", new BigInt64Array(rows), [rows, 1]],
      "rules.trained_cost": ["float32", this.#arrays.trainedCost, [tokens]],
      "rules.text_hash": ["int64", this.#arrays.textHash, [tokens, 2]],
      "rules.penalty": ["float32", new Float32Array(1), []],
      "rules.before": range(1),
      "rules.fresh": ["bool", new Uint8Array(1), []],
      "rules.beams": range(beams),
      "rules.kept": range(keep),
      "rules.tokens": range(steps),
    };
  }

  #table(floor) {
    return floor <= 1 ? this.#arrays.loose : this.#arrays.tight;
  }

  #steps({ floor }, left) {
    const width = this.#table(floor).length / this.#tables.states;
    return this.#table(floor)[this.#tables.start * width + left];
  }

  #left(floor, limit) {
    const { states, unreachable } = this.#tables;
    const table = this.#table(floor);
    const width = table.length / states;
    const part = new Int16Array(states * (limit + 2)).fill(unreachable);
    for (let state = 0; state < states; state += 1) {
      part.set(table.subarray(state * width, state * width + limit + 1), state * (limit + 2));
    }
    return part;
  }
}

function aims(most) {
  const least = Math.max(1, Math.ceil(LEAST_SHARE * most));
  const told = Array.from({ length: TOLD }, (_, number) => Math.round(least + ((most - least) * number) / (TOLD - 1)));
  return [...new Set(told)].sort((one, other) => one - other);
}

function repeated(row, rows) {
  const all = new BigInt64Array(row.length * rows);
  for (let number = 0; number < rows; number += 1) all.set(row, number * row.length);
  return all;
}

// The search, as in Python: one graph reads the story and begins, the other writes one token more.

const FOUND = ["finished.tokens", "finished.score", "finished.spent", "finished.rank"];

const LOT = 16;

export class Search {
  #runtime;
  #start;
  #advance;

  constructor(runtime, start, advance) {
    this.#runtime = runtime;
    this.#start = start;
    this.#advance = advance;
  }

  // Return the finished texts of each row, as ids; `wanted` is asked before each step.
  async run(source, aims, rules, wanted) {
    const fixed = this.#tensors(rules);
    let made = await run(this.#start, { ...fixed, ...this.#tensors(sources(source, aims)) });
    Object.assign(fixed, taken(made, "memory."));
    const history = new History(this.#runtime, taken(made, "entry.", true));
    let state = made;
    const steps = rules["rules.tokens"][2][0];
    for (let step = 0; step <= steps; step += 1) {
      await wanted();
      history.widen(Math.min(steps, LOT * (Math.floor(step / LOT) + 1)));
      made = await run(this.#advance, { ...fixed, ...state, ...history.tensors });
      state = taken(made, "next.", true);
      if (state["finished.done"].data.every(Boolean)) break;
      history.write(step, taken(made, "entry.", true));
    }
    return read(FOUND.map((name) => state[name]));
  }

  #tensors(values) {
    const made = ([type, numbers, sizes]) => new this.#runtime.Tensor(type, numbers, sizes);
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, made(value)]));
  }
}

// The past of all hypotheses, [rows, heads, steps, ...]: written once and never moved, with room for some steps.
class History {
  #runtime;

  constructor(runtime, entry) {
    this.#runtime = runtime;
    this.tensors = Object.fromEntries(Object.entries(entry).map(([name, { dims: [rows, heads, ...rest] }]) =>
      [name, new runtime.Tensor("float32", new Float32Array(0), [rows, heads, 0, ...rest])]));
  }

  widen(steps) {
    for (const [name, { data, dims: [rows, heads, before, ...rest] }] of Object.entries(this.tensors)) {
      if (before >= steps) continue;
      const size = product(rest);
      const wider = new Float32Array(rows * heads * steps * size);
      for (let block = 0; block < rows * heads; block += 1) {
        wider.set(data.subarray(block * before * size, (block + 1) * before * size), block * steps * size);
      }
      this.tensors[name] = new this.#runtime.Tensor("float32", wider, [rows, heads, steps, ...rest]);
    }
  }

  write(step, entry) {
    for (const [name, { data, dims: [rows, heads, steps, ...rest] }] of Object.entries(this.tensors)) {
      const size = product(rest);
      for (let block = 0; block < rows * heads; block += 1) {
        const part = entry[name].data.subarray(block * size, (block + 1) * size);
        data.set(part, (block * steps + step) * size);
      }
    }
  }
}

const product = (sizes) => sizes.reduce((whole, size) => whole * size, 1);

// Every row reads the one story, and is told a budget of its own.
const sources = (source, aims) => ({
  "source.tokens": ["int64", BigInt64Array.from(source, BigInt), [1, source.length]],
  "source.lengths": ["int64", BigInt64Array.of(BigInt(source.length)), [1]],
  "source.reads": ["int64", new BigInt64Array(aims.length), [aims.length]],
  "source.budget": ["float32", Float32Array.from(aims), [aims.length]],
});

const run = (graph, tensors) => graph.run(Object.fromEntries(graph.inputNames.map((name) => [name, tensors[name]])));

// The tensors whose names begin with a prefix, which is cut off where it only says what they are.
function taken(tensors, prefix, cut = false) {
  return Object.fromEntries(Object.entries(tensors).filter(([name]) => name.startsWith(prefix))
    .map(([name, tensor]) => [cut ? name.slice(prefix.length) : name, tensor]));
}

function read([tokens, score, spent, rank]) {
  const [rows, kept, places] = tokens.dims;
  return Array.from({ length: rows }, (_, row) => Array.from({ length: kept }, (__, place) => row * kept + place)
    .filter((place) => Number.isFinite(rank.data[place]))
    .map((place) => ({
      tokens: [...tokens.data.subarray(place * places, (place + 1) * places)].map(Number).filter(Boolean),
      score: score.data[place],
      spent: Number(spent.data[place]),
    })));
}

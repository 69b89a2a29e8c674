// The search, as in Python: one graph reads the story and begins, the other writes one token more.

const FOUND = ["finished.tokens", "finished.score", "finished.spent", "finished.rank"];

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
    const tensors = this.#tensors({
      ...rules,
      source: ["int64", BigInt64Array.from(aims.flatMap(() => source), BigInt), [aims.length, source.length]],
      source_lengths: ["int64", new BigInt64Array(aims.length).fill(BigInt(source.length)), [aims.length]],
      budget: ["float32", Float32Array.from(aims), [aims.length]],
    });
    let state = await this.#run(this.#start, tensors);
    const kept = { ...tensors, ...Object.fromEntries(Object.entries(state).filter(([name]) => name.startsWith("memory."))) };
    for (let step = 0; step <= rules["rules.tokens"][2][0]; step += 1) {
      await wanted();
      state = await this.#run(this.#advance, { ...kept, ...state });
      if (state["finished.done"].data.every(Boolean)) break;
    }
    return read(FOUND.map((name) => state[name]));
  }

  #tensors(values) {
    const made = ([type, numbers, sizes]) => new this.#runtime.Tensor(type, numbers, sizes);
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, made(value)]));
  }

  async #run(graph, tensors) {
    const made = await graph.run(Object.fromEntries(graph.inputNames.map((name) => [name, tensors[name]])));
    return Object.fromEntries(Object.entries(made).map(([name, tensor]) => [name.replace(/^next\./, ""), tensor]));
  }
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

// The same as the service elsewhere, in a worker of this page: no text leaves the machine.

import { Mistake } from "../question.js";

export class OfflineService {
  #worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  #waiting = new Map();
  #last = 0;

  constructor() {
    this.#worker.onmessage = ({ data: { number, made, problem } }) => {
      const { resolve, reject } = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (problem) reject(Object.assign(new Mistake(problem.message), { name: problem.name }));
      else resolve(made);
    };
  }

  presets() {
    return this.ask("presets");
  }

  write(question) {
    return this.ask("write", question);
  }

  ask(task, given) {
    this.#last += 1;
    const number = this.#last;
    this.#worker.postMessage({ number, task, given });
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }
}

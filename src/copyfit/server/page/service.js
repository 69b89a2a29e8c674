// What the page asks of the service that it came from.

export class Refusal extends Error {
  constructor(status, message, field) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

const SILENT = "The service does not answer. Is it running?";

export class Service {
  #key = "";
  #asking = new AbortController();

  set key(value) {
    this.#key = value.trim();
  }

  async presets() {
    return (await this.#send("v1/presets", {})).presets;
  }

  // Each question takes the place of the one before, whose work stops.
  async write(question) {
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    const body = JSON.stringify(question);
    return this.#send("v1/headlines", { method: "POST", body, signal });
  }

  async #send(path, options) {
    const headers = { "Content-Type": "application/json" };
    if (this.#key) headers.Authorization = `Bearer ${this.#key}`;
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (problem) {
      throw problem.name === "AbortError" ? problem : new Refusal(0, SILENT);
    }
    if (response.ok) return response.json();
    if (response.status === 429) {
      await pause(Number(response.headers.get("Retry-After") ?? 1), options.signal);
      return this.#send(path, options);
    }
    const { error } = await response.json().catch(() => ({ error: { message: SILENT } }));
    throw new Refusal(response.status, error.message, error.field);
  }
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

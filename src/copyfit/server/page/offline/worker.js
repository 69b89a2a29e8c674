// Writes beside the page, so that the page never waits. The newest question ends the one before.

import * as runtime from "../../runtime/ort.wasm.min.mjs";
import { Writer } from "./writer.js";

runtime.env.wasm.wasmPaths = new URL("../../runtime/", import.meta.url).href;
runtime.env.wasm.numThreads = 1;
const opening = Writer.open(runtime, new URL("../../model", import.meta.url).href);
const { port1, port2 } = new MessageChannel();
let newest = 0;

// Let messages in between two steps of a search.
const turn = () => new Promise((resolve) => {
  port1.onmessage = resolve;
  port2.postMessage(null);
});

const TASKS = {
  presets: (writer) => writer.presets,
  encode: (writer, texts) => texts.map((text) => writer.encode(text)),
  write: (writer, question, number) => writer.write(question, async () => {
    await turn();
    if (number < newest) throw new DOMException("another question came", "AbortError");
  }),
};

self.onmessage = async ({ data: { number, task, given } }) => {
  if (task === "write") newest = number;
  try {
    postMessage({ number, made: await TASKS[task](await opening, given, number) });
  } catch (problem) {
    postMessage({ number, problem: { name: problem.name, message: problem.message } });
  }
};

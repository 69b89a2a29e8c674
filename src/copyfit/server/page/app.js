// The page: what is typed and moved becomes a question; what comes back becomes headlines.

import { element } from "./elements.js";
import { csv, json, save } from "./exports.js";
import { counted, fit } from "./fits.js";
import { preview } from "./previews.js";
import { Mistake, lengthsOf, questionOf } from "./question.js";
import { Refusal, Service } from "./service.js";
import { wordsOf } from "./words.js";

const PAUSE = 180;
const EXAMPLE =
  "On Monday at noon, a small school in Holm opens a garden for forty children, after two years of work by " +
  "parents and teachers. The mayor, who came with a spade, says that the town will pay for water and seeds " +
  "until next summer.";

const $ = (id) => document.getElementById(id);
const FIELDS = ["text", "lengths", "preset", "unit", "mode", "candidates", "require", "start"];
const offline = document.documentElement.dataset.offline !== undefined;
const service = offline ? new (await import("./offline/service.js")).OfflineService() : new Service();
let presets = [];
let results = [];
let chosen = [];
let shown = 0;
let timer;

function fields() {
  return Object.fromEntries(FIELDS.map((name) => [name, $(name).value]));
}

function say(message) {
  $("status").textContent = message;
}

function complain(message, field) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
  $("lengths").setAttribute("aria-invalid", field === "lengths" ? "true" : "false");
}

function stage() {
  const result = results[shown];
  const ready = Boolean(result?.headlines.length);
  $("previews").hidden = !ready;
  if (!ready) return;
  const place = $("place").value;
  $("width-field").hidden = place !== "column";
  $("width-told").textContent = `${$("width").value} digits wide`;
  const { text } = result.headlines[chosen[shown] ?? 0];
  $("stage").replaceChildren(preview(place, text, $("text").value, Number($("width").value)));
}

function show(answer) {
  const story = wordsOf($("text").value);
  results = answer.results;
  chosen = results.map(() => 0);
  shown = 0;
  const told = (number, rank) => {
    chosen[number] = rank;
    shown = number;
    stage();
  };
  $("fits").replaceChildren(...results.map((result, number) => fit(result, number, story, told)));
  shown = 0;
  stage();
  const { headlines, milliseconds } = answer.usage;
  say(`${headlines} ${headlines === 1 ? "headline" : "headlines"} in ${milliseconds} ms, by ${answer.model}`);
  for (const id of ["csv", "json"]) $(id).disabled = !headlines;
}

function clear() {
  results = [];
  $("fits").replaceChildren();
  $("fits").classList.remove("waiting");
  stage();
  for (const id of ["csv", "json"]) $(id).disabled = true;
  say("Paste a story and its headlines appear here.");
}

function refuse(problem) {
  if (problem.name === "AbortError") return;
  if (problem.status === 401) $("key-field").hidden = false;
  if (!(problem instanceof Refusal || problem instanceof Mistake)) throw problem;
  complain(problem.message, problem instanceof Mistake ? "lengths" : problem.field?.split(".")[0]);
  say("");
}

async function write() {
  complain("");
  if (!$("text").value.trim()) {
    clear();
    return;
  }
  $("fits").classList.add("waiting");
  try {
    show(await service.write(questionOf(fields())));
    $("fits").classList.remove("waiting");
  } catch (problem) {
    refuse(problem);
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(write, PAUSE);
}

function tellLength() {
  const preset = presets.find(({ name }) => name === $("preset").value);
  for (const id of ["lengths", "slider", "unit", "mode"]) $(id).disabled = Boolean(preset);
  $("preset-note").textContent = preset ? `${counted(preset.limit, preset.unit)}. ${preset.note}` : "";
  try {
    const lengths = preset ? [preset.limit] : lengthsOf($("lengths").value);
    $("asked").textContent = `${lengths.join(", ")} ${preset ? preset.unit : $("unit").value}`;
  } catch {
    $("asked").textContent = "";
  }
  const { length } = $("text").value.trim();
  $("story-size").textContent = length ? `${length.toLocaleString("en")} characters` : "";
}

async function listPresets() {
  presets = await service.presets();
  const named = ({ name, limit, unit }) =>
    element("option", { value: name }, `${name.replaceAll("-", " ")}: ${counted(limit, unit)}`);
  $("preset").replaceChildren($("preset").options[0], ...presets.map(named));
}

function listen() {
  $("desk").addEventListener("submit", (event) => event.preventDefault());
  $("desk").addEventListener("input", (event) => {
    if (event.target.id === "slider") $("lengths").value = $("slider").value;
    if (event.target.id === "lengths") $("slider").value = parseInt($("lengths").value, 10) || $("slider").value;
    if (event.target.id === "key") service.key = $("key").value;
    tellLength();
    soon();
  });
  $("key").addEventListener("change", () => listPresets().catch(refuse));
  $("example").addEventListener("click", () => {
    $("text").value = EXAMPLE;
    tellLength();
    write();
  });
  for (const id of ["place", "width"]) $(id).addEventListener("input", stage);
  $("csv").addEventListener("click", () => save("headlines.csv", "text/csv", csv(results)));
  $("json").addEventListener("click", () => save("headlines.json", "application/json", json(results)));
}

// Without a service only the model's own unit is there, and nothing can be required.
function takeAway() {
  for (const option of [...$("unit").options].slice(1)) option.remove();
  for (const hidden of [$("desk").querySelector("details"), document.querySelector("footer a")]) hidden.hidden = true;
  $("story-note").hidden = false;
}

if (offline) takeAway();
listen();
tellLength();
listPresets().catch(refuse);

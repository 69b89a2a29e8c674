// What a person does on the page of the service at URL, and at KEYED, which wants a key.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { SIZES, launch, open } from "./browser.js";

const { URL: SERVICE, KEYED, KEY, STORY } = process.env;
let browser;

before(async () => { browser = await launch(); });
after(() => browser.close());

async function visit(body, { url = SERVICE, size = SIZES.light } = {}) {
  const page = await open(browser, url, size);
  try {
    await body(page);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
}

async function asked(question) {
  const response = await fetch(`${SERVICE}/v1/headlines`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question),
  });
  return (await response.json()).results;
}

const headings = (page) => page.locator(".fit h2").allTextContents();

// Wait until the headlines are those that the service writes for a question.
async function shows(page, question) {
  const expected = (await asked({ text: STORY, candidates: 3, unit: "char", mode: "exact", ...question }))
    .map((result) => result.headlines[0].text);
  await page.waitForFunction((texts) => JSON.stringify(
    [...document.querySelectorAll(".fit h2")].map((heading) => heading.textContent)) === JSON.stringify(texts),
  expected);
  return expected;
}

async function paste(page, text) {
  await page.evaluate((value) => navigator.clipboard.writeText(value), text);
  await page.focus("#text");
  await page.keyboard.press("Control+V");
}

test("a pasted story gets the headline that the service writes", () => visit(async (page) => {
  await paste(page, STORY);
  await shows(page, { lengths: [50] });
  assert.match(await page.textContent("#status"), /^3 headlines in \d+ ms, by /);
}));

test("headlines appear as the slider moves, by keyboard too", () => visit(async (page) => {
  await paste(page, STORY);
  await page.focus("#slider");
  for (let step = 0; step < 9; step += 1) await page.keyboard.press("ArrowLeft");
  assert.equal(await page.inputValue("#lengths"), "41");
  await shows(page, { lengths: [41] });
  assert.equal(await page.locator(".ruler i").count(), 41);
}));

test("several lengths can be typed, each with its ruler and its true counts", () => visit(async (page) => {
  await paste(page, STORY);
  await page.fill("#lengths", "30, 50, 75");
  await shows(page, { lengths: [30, 50, 75] });
  const results = await asked({ text: STORY, lengths: [30, 50, 75], candidates: 3 });
  const labels = await page.locator(".ruler").evaluateAll((all) => all.map((each) => each.ariaLabel));
  assert.deepEqual(labels, [30, 50, 75].map((length) => `${length} of ${length} characters used`));
  const counts = await page.locator(".counts").evaluateAll(
    (all) => all.map((each) => [...each.querySelectorAll("dd")].map((count) => Number(count.textContent))));
  assert.deepEqual(counts, results.map((result) => Object.values(result.headlines[0].counts)));
  const letters = await page.locator(".ruler").first().locator("i").allTextContents();
  assert.equal(letters.join(""), results[0].headlines[0].text);
}));

test("a platform brings its length, its unit and its note", () => visit(async (page) => {
  await paste(page, STORY);
  await page.selectOption("#preset", "chat-title");
  await shows(page, { preset: "chat-title", unit: undefined, mode: undefined });
  assert.equal(await page.isDisabled("#slider"), true);
  assert.match(await page.textContent("#preset-note"), /^36 characters\. /);
  await page.selectOption("#preset", "");
  assert.equal(await page.isDisabled("#slider"), false);
  await shows(page, { lengths: [50] });
}));

test("a choice among candidates takes the place of the headline, by arrow keys", () => visit(async (page) => {
  await paste(page, STORY);
  await shows(page, { lengths: [50] });
  const [result] = await asked({ text: STORY, lengths: [50], candidates: 3 });
  await page.focus(".choices input:checked");
  await page.keyboard.press("ArrowDown");
  assert.deepEqual(await headings(page), [result.headlines[1].text]);
  assert.equal(await page.textContent("#stage b"), result.headlines[1].text);
  assert.equal(await page.evaluate(() => document.activeElement.checked), true);
}));

test("copying takes the headline and nothing else", () => visit(async (page) => {
  await paste(page, STORY);
  const [text] = await shows(page, { lengths: [50] });
  await page.getByRole("button", { name: /^Copy/ }).click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
}));

test("words of the story are marked, and markup in a story stays text", () => visit(async (page) => {
  const story = `<img src=x onerror="document.title='broken'"> ${STORY}`;
  await paste(page, story);
  await page.waitForSelector(".fit h2");
  const words = new Set(story.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  for (const marked of await page.locator(".fit mark").allTextContents()) {
    assert.ok(words.has(marked.toLowerCase()), marked);
  }
  for (const place of ["search", "push", "ad", "column", "cells"]) {
    await page.selectOption("#place", place);
    assert.equal(await page.locator("#stage img").count(), 0);
  }
  assert.equal(await page.title(), "copyfit: headlines that fit");
}));

test("a column is as wide as it is asked to be", () => visit(async (page) => {
  await paste(page, STORY);
  await page.waitForSelector(".fit h2");
  await page.selectOption("#place", "column");
  const width = async () => (await page.locator(".column").boundingBox()).width;
  const before = await width();
  await page.focus("#width");
  await page.keyboard.press("ArrowRight");
  assert.ok(await width() > before);
}));

test("all that is shown can be taken along as CSV and as JSON", () => visit(async (page) => {
  await paste(page, STORY);
  await page.fill("#lengths", "30, 50");
  await shows(page, { lengths: [30, 50] });
  const results = await asked({ text: STORY, lengths: [30, 50], candidates: 3 });
  const saved = async (id) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(id)]);
    return readFile(await download.path(), "utf8");
  };
  const lines = (await saved("#csv")).trimEnd().split("\r\n");
  assert.equal(lines.length, 1 + results.flatMap((result) => result.headlines).length);
  assert.ok(lines[0].startsWith("headline,length,unit,budget"));
  const texts = (found) => found.map((result) => result.headlines.map(({ text }) => text));
  assert.deepEqual(texts(JSON.parse(await saved("#json"))), texts(results));
}));

test("what cannot be is told, and mended", () => visit(async (page) => {
  await paste(page, STORY);
  await page.fill("#lengths", "30, many");
  await page.getByRole("alert").getByText("A length is a whole number from 1 to 500.").waitFor();
  assert.equal(await page.getAttribute("#lengths", "aria-invalid"), "true");
  await page.fill("#lengths", "30");
  await shows(page, { lengths: [30] });
  assert.equal(await page.isHidden("#problem"), true);
  await page.locator("summary").click();
  await page.fill("#start", "Ωmega");
  await page.getByText("no headline meets these wishes").waitFor();
  await page.fill("#text", "");
  await page.getByText("Paste a story").first().waitFor();
  assert.equal(await page.isDisabled("#csv"), true);
}));

test("a service that is gone is told", async () => {
  const page = await open(browser, SERVICE);
  await page.route("**/v1/headlines", (route) => route.abort());
  await page.fill("#text", STORY);
  await page.getByRole("alert").getByText("The service does not answer.").waitFor();
  await page.context().close();
});

test("a full service is asked again", () => visit(async (page) => {
  let refusals = 0;
  await page.route("**/v1/headlines", (route) => {
    refusals += 1;
    return refusals > 2 ? route.continue() : route.fulfill({ status: 429, headers: { "Retry-After": "0" } });
  });
  await page.fill("#text", STORY);
  await shows(page, { lengths: [50] });
  assert.equal(refusals, 3);
  page.faults.splice(0);
}));

test("a key is asked for where one is needed", async () => {
  const page = await open(browser, KEYED);
  await page.getByLabel("API key").fill(KEY);
  await page.fill("#text", STORY);
  await page.waitForSelector(".fit h2");
  await page.locator("#preset option", { hasText: "chat title" }).waitFor({ state: "attached" });
  await page.context().close();
});

test("on a phone nothing is wider than the screen", () => visit(async (page) => {
  await page.fill("#text", STORY);
  await page.waitForSelector(".fit h2");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
}, { size: SIZES.phone }));

test("every control has a name, and what changes is announced", () => visit(async (page) => {
  await page.fill("#text", STORY);
  await page.waitForSelector(".fit h2");
  const nameless = await page.locator("button, input, select, textarea").evaluateAll((all) => all
    .filter((each) => !(each.labels?.length || each.ariaLabel || each.textContent.trim())).map((each) => each.outerHTML));
  assert.deepEqual(nameless, []);
  assert.equal(await page.getByRole("status").count(), 1);
}));

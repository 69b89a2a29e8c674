// The page without a service, at URL: EXPECTED holds what Python writes for the same wishes.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { launch, open } from "./browser.js";

const { URL: SITE, EXPECTED } = process.env;
const { story, wishes } = JSON.parse(await readFile(EXPECTED, "utf8"));
let browser;

before(async () => { browser = await launch(); });
after(() => browser.close());

async function write(page, { lengths, mode, preset }) {
  await page.fill("#text", "");
  await page.waitForFunction(() => !document.querySelector(".fit"));
  if (preset) await page.selectOption("#preset", preset);
  else {
    await page.selectOption("#preset", "");
    await page.fill("#lengths", lengths.join(", "));
    await page.selectOption("#mode", mode);
  }
  await page.fill("#text", story);
  await page.waitForSelector(".fit", { timeout: 60000 });
  await page.waitForSelector("#fits:not(.waiting)");
}

test("the page writes the same headlines as Python, with the same counts, and asks nobody", async () => {
  const page = await open(browser, SITE);
  for (const wish of wishes) {
    await write(page, wish);
    const found = await page.locator(".fit").evaluateAll((all) => all.map((each) => ({
      headlines: [...each.querySelectorAll(".choices label span:first-of-type")].map((line) => line.textContent),
      counts: [...each.querySelectorAll(".counts dd")].map((count) => Number(count.textContent)),
    })));
    assert.deepEqual(found, wish.expected);
  }
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("it goes on writing without a network, and the slider ends what it was writing", async () => {
  const page = await open(browser, SITE);
  await page.locator("#preset option").nth(1).waitFor({ state: "attached" });
  await page.context().setOffline(true);
  await page.fill("#text", story);
  await page.focus("#slider");
  for (let step = 0; step < 12; step += 1) await page.keyboard.press("ArrowLeft");
  await page.locator(".ruler[aria-label^='38 of 38']").waitFor({ timeout: 60000 });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

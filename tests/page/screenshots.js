// node screenshots.js URL FOLDER: the page in light, in dark and on a phone, as docs/ shows it.

import { SIZES, launch, open } from "./browser.js";

const [url, folder] = process.argv.slice(2);
const browser = await launch();
for (const [name, place] of [["light", "search"], ["dark", "column"], ["phone", "push"]]) {
  const page = await open(browser, url, SIZES[name]);
  await page.fill("#lengths", name === "phone" ? "40" : "30, 50");
  await page.click("#example");
  await page.waitForSelector(".fit");
  await page.waitForSelector("#fits:not(.waiting)");
  await page.selectOption("#place", place);
  await page.screenshot({ path: `${folder}/page-${name}.png`, fullPage: true });
}
await browser.close();

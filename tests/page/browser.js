// Chromium as the system has it, allowed to speak to the service and to nothing else.

import { chromium } from "playwright-core";

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export const SIZES = {
  light: { viewport: { width: 1280, height: 900 } },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
};

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });

// Open the page; `faults` collects whatever the console complains of and every request to another host.
export async function open(browser, url, options = SIZES.light) {
  const context = await browser.newContext({ ...options, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  page.on("request", (request) => request.url().startsWith(url) || request.url().startsWith("blob:")
    || page.faults.push(request.url()));
  await page.goto(url);
  return page;
}

// SPDX-License-Identifier: Apache-2.0
//
// The built documentation site in a browser that has no network: node site_in_browser.mjs SITE CHROMIUM
// prints a line for each complaint and ends with 3 if there is one (1 is a crash of its own). See run_site.
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../../web/package.json", import.meta.url))("@playwright/test");
const [site, executablePath] = process.argv.slice(2);
const complaints = [];

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ offline: true, colorScheme: "light", viewport: { width: 390, height: 844 } });
context.setDefaultTimeout(120_000); // also on a busy machine
const page = await context.newPage();
page.on("request", (request) => {
  if (!/^(file|blob|data):/.test(request.url())) complaints.push(`${page.url()} asks for ${request.url()}`);
});
page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));

const names = readdirSync(site, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".html") && entry.name !== "404.html")
  .map((entry) => relative(site, join(entry.parentPath ?? entry.path, entry.name)));
for (const name of names) {
  await page.goto(pathToFileURL(join(site, name)).href);
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (beyond > 0) complaints.push(`${name}: ${beyond} pixels wider than a phone`);
}

await page.setViewportSize({ width: 1440, height: 900 });
await page.goto(pathToFileURL(join(site, "index.html")).href);
try {
  await page.click(".md-search__input");
  await page.keyboard.type("overflow");
  await page.waitForSelector(".md-search-result__item a[href*='overflow.html']", { timeout: 60_000 });
} catch (error) {
  complaints.push(`search: no page on overflow: ${error.message.split("\n")[0]}`);
}
await page.keyboard.press("Escape");

const scheme = () => page.evaluate(() => document.body.getAttribute("data-md-color-scheme"));
const before = await scheme();
await page.click("label[for=__palette_2]");
if (before !== "default" || (await scheme()) !== "slate") complaints.push(`colours: from ${before} to ${await scheme()}`);
await browser.close();
for (const complaint of complaints) console.log(complaint);
process.exit(complaints.length ? 3 : 0);

// SPDX-License-Identifier: Apache-2.0
//
// Pictures for the documents, from a report that the program wrote: tools/make_pictures runs this.
import { expect, test } from "@playwright/test";

const { PLUMB_PICTURES: directory, PLUMB_REPORT: report } = process.env;

// What to show of which view: the part of the page, the address, keys to press.
const kPictures: Record<string, { part?: string; view: string; keys?: string[]; size?: [number, number] }> = {
  page: { view: "theme=light", size: [1280, 800] },
  page_dark: { view: "theme=dark", keys: ["c"], size: [1280, 800] },
  headline: { part: "#headline", view: "theme=light" },
  findings: { part: "#side", view: "theme=light", size: [1280, 760] },
  plot: { part: "#plot-card", view: "theme=light", keys: ["c"] },
  whatif: { part: "#plot-card", view: "theme=light&limits=float32.rel_euclid:0.3" },
  graph: { part: "#graph-card", view: "theme=light&pane=graph", size: [1280, 900] },
  table: { part: "#table-card", view: "theme=light&pane=table&show=fail,near", size: [1280, 760] },
  operator: { part: "#side", view: "theme=light", keys: ["c"], size: [1280, 2150] },
};

for (const [name, { part, view, keys, size }] of Object.entries(kPictures))
  test(name, async ({ page }) => {
    await page.setViewportSize({ width: size?.[0] ?? 1280, height: size?.[1] ?? 800 });
    await page.goto(`file://${report}#${view}`);
    await page.waitForSelector("body[data-ready]");
    for (const key of keys ?? []) await page.keyboard.press(key);
    await page.mouse.move(0, 0);
    await page.waitForTimeout(400);
    const path = `${directory}/${name}.png`;
    if (part) await page.locator(part).screenshot({ path });
    else await page.screenshot({ path });
    expect(path).toBeTruthy();
  });

// SPDX-License-Identifier: Apache-2.0
//
// Pictures of reports in all sizes and themes, to look at: of the made-up ones, or of those in a directory.
//   PLUMB_SHOTS=DIR [PLUMB_FROM=DIR] [PLUMB_ONLY=small,clean] [PLUMB_SIZES=390x844] [PLUMB_THEMES=dark]
//   [PLUMB_HASH=op=NAME] npx playwright test shots
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "@playwright/test";
import { kMade } from "../tests/make.ts";
import { open } from "./open.ts";

const { PLUMB_SHOTS: directory, PLUMB_FROM: from, PLUMB_HASH: hash } = process.env;
const all = from
  ? readdirSync(from).flatMap((file) => (file.endsWith(".html") ? [file.slice(0, -5)] : []))
  : Object.keys(kMade);
const only = process.env.PLUMB_ONLY?.split(",") ?? all;
const sizes = (process.env.PLUMB_SIZES ?? "1440x900,1024x768,390x844")
  .split(",")
  .map((text) => text.split("x").map(Number));
const themes = (process.env.PLUMB_THEMES ?? "light,dark").split(",");

for (const name of only)
  for (const [width, height] of sizes)
    for (const theme of themes)
      test(`${name} ${width} ${theme}`, async ({ page }) => {
        await page.setViewportSize({ width, height });
        await open(page, `file://${resolve(from ?? "tests/made", name)}.html#theme=${theme}${hash ? `&${hash}` : ""}`);
        await page.waitForTimeout(250);
        await page.screenshot({ path: `${directory}/${name}-${width}-${theme}.png`, fullPage: width < 960 });
      });

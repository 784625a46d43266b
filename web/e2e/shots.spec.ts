// SPDX-License-Identifier: Apache-2.0
//
// Pictures of all made-up reports in all sizes, to look at: PLUMB_SHOTS=DIR npx playwright test shots
import { test } from "@playwright/test";
import { kMade } from "../tests/make.ts";

const directory = process.env.PLUMB_SHOTS;
const only = process.env.PLUMB_ONLY?.split(",") ?? Object.keys(kMade);
const sizes = (process.env.PLUMB_SIZES ?? "1440x900,1024x768,390x844")
  .split(",")
  .map((text) => text.split("x").map(Number));
const themes = (process.env.PLUMB_THEMES ?? "light,dark").split(",");

for (const name of only)
  for (const [width, height] of sizes)
    for (const theme of themes)
      test(`${name} ${width} ${theme}`, async ({ page }) => {
        await page.setViewportSize({ width, height });
        await page.goto(
          `file://${process.cwd()}/tests/made/${name}.html#theme=${theme}${process.env.PLUMB_HASH ?? ""}`,
        );
        await page.waitForSelector("body[data-ready]");
        await page.waitForTimeout(250);
        await page.screenshot({ path: `${directory}/${name}-${width}-${theme}.png`, fullPage: width < 960 });
      });

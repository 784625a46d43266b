// SPDX-License-Identifier: Apache-2.0
//
// Figures of large reports, printed and not asserted: how long until it is ready, how long a frame takes.
import { made, open, test, type Inside } from "./open.ts";

for (const name of ["large", "huge"])
  test(`${name}: ready, and frames while panning`, async ({ watched: page }) => {
    await open(page, made(name));
    const ready = await page.evaluate(() => document.body.dataset.ready);
    const pan = async () =>
      page.evaluate(async () => {
        const { graph } = (window as unknown as { plumb: Inside }).plumb;
        graph.frames.length = 0;
        for (let i = 0; i < 100; i++) {
          graph.panBy(Math.cos(i / 9) * 14, Math.sin(i / 9) * 14);
          await new Promise((done) => requestAnimationFrame(done));
        }
        const frames = [...graph.frames].sort((a, b) => a - b);
        return { p50: frames[frames.length >> 1], p95: frames[Math.floor(frames.length * 0.95)], most: frames.at(-1) };
      });
    const near = await pan();
    await page.keyboard.press("0");
    await page.waitForTimeout(300);
    const far = await pan();
    console.log(name, `ready ${ready} ms; panning near`, JSON.stringify(near), "whole", JSON.stringify(far));
  });

// SPDX-License-Identifier: Apache-2.0
//
// The page in a real browser: every way in which somebody uses it.
import { readFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { address, type Inside, made, nodePosition, open, plotPosition, rowOf, rowsShown, test } from "./open.ts";

const kCulprit = "model/layers.7/transpose"; // of medium

test("the headline names verdict, culprit and cause", async ({ watched: page }) => {
  await open(page, made("medium"));
  await expect(page.locator("#verdict")).toHaveText(/FAIL/);
  await expect(page.locator("#headline h1")).toHaveText(`${kCulprit} is to blame: narrower data type: float16`);
  await expect(page.locator("#tile-outputs")).toContainText("1 of 1 differs");
  await expect(page.locator("#tile-coverage")).toContainText("98.9 %");
  await expect(page.locator("article.finding.first")).toContainText("plumb isolate RESULT.json");
});

test("a clean result and one with nothing to compare say so", async ({ watched: page }) => {
  await open(page, made("clean"));
  await expect(page.locator("#headline h1")).toHaveText("All 12 tensors agree");
  await expect(page.locator("#findings")).toContainText("Nothing to explain");
  await open(page, made("nothing"));
  await expect(page.locator("#headline h1")).toHaveText("No pair of tensors could be compared");
  await expect(page.locator("#headline")).toContainText("42 tensors are missing in golden");
  await expect(page.locator("#plot")).toContainText("No number to draw");
  await expect(rowsShown(page).first()).toHaveAttribute("data-verdict", "not_compared");
});

test("filter: words, exclusion, verdicts; nothing is hidden unasked", async ({ watched: page }) => {
  await open(page, made("medium"));
  await expect(page.locator("#count")).toHaveText("294 rows");
  await page.fill("#filter", "layers.7/ -softmax");
  await expect(page.locator("#count")).toHaveText("13 of 294 rows");
  await address(page).toContain("q=layers.7/ -softmax");
  await page.fill("#filter", "verdict:not_compared");
  await expect(page.locator("#count")).toHaveText("3 of 294 rows");
  await page.fill("#filter", "");
  await page.click('[data-show="pass"]');
  await expect(page.locator("#count")).toHaveText("195 of 294 rows");
  await page.click('[data-show="pass"]');
  await expect(page.locator("#count")).toHaveText("294 rows");
  await page.fill("#filter", "no such operator");
  await expect(page.locator("#count")).toHaveText("0 of 294 rows");
});

test("sort: worst first, then best, then as executed", async ({ watched: page }) => {
  await open(page, made("medium"));
  const title = page.locator('[data-column="rel_euclid"]');
  const column = Number(await title.getAttribute("aria-colindex"));
  const values = () =>
    page.locator("#table .tr:not(.hidden)").evaluateAll(
      (rows, at) =>
        rows
          .map((row) => [
            Number(row.getAttribute("aria-rowindex")),
            Number(row.querySelectorAll(".td")[at - 1].textContent),
          ])
          .sort((a, b) => a[0] - b[0])
          .slice(0, 5)
          .map(([, value]) => value),
      column,
    );
  await title.click();
  await expect(title).toHaveAttribute("aria-sort", "descending");
  await page.locator("#table").evaluate((table) => (table.scrollTop = 0));
  await expect.poll(async () => (await values())[0]).toBeGreaterThan(0.13);
  const down = await values();
  expect(down).toEqual([...down].sort((a, b) => b - a));
  await title.click();
  await expect.poll(async () => (await values())[0]).toBeLessThan(0.001);
  await title.click();
  await expect(title).toHaveAttribute("aria-sort", "none");
  await expect(rowOf(page, "model/layers.0/ln1")).toBeVisible();
});

test("what is selected in the graph is found in table, plot and panel", async ({ watched: page }) => {
  await open(page, made("medium"));
  const at = await nodePosition(page, kCulprit);
  await page.mouse.click(at.x, at.y);
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
  await expect(rowOf(page, kCulprit)).toHaveAttribute("aria-selected", "true");
  await expect(rowOf(page, kCulprit)).toBeInViewport();
  await address(page).toContain(`op=${kCulprit}`);
  await page.waitForSelector("#heat");
  // And from the plot.
  const other = "model/layers.10/up";
  const there = await plotPosition(page, other);
  await page.mouse.click(there.x, there.y);
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", other);
  await expect(rowOf(page, other)).toHaveAttribute("aria-selected", "true");
  const node = await nodePosition(page, other);
  const box = (await page.locator("#graph").boundingBox())!;
  expect(node.x > box.x && node.x < box.x + box.width && node.y > box.y && node.y < box.y + box.height).toBe(true);
});

test("search goes from match to match", async ({ watched: page }) => {
  await open(page, made("medium"));
  await page.keyboard.press("/");
  await page.keyboard.type("softmax");
  await page.keyboard.press("Enter");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.0/softmax");
  await page.keyboard.press("Enter");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.1/softmax");
  await page.keyboard.press("Escape");
  await expect(page.locator("#count")).toHaveText("294 rows");
});

test("a deep link shows the same view", async ({ watched: page }) => {
  await open(page, `${made("medium")}#op=${encodeURIComponent(kCulprit)}`);
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
  await expect(rowOf(page, kCulprit)).toHaveAttribute("aria-selected", "true");
  await page.selectOption("#metric", "sqnr_db");
  await page.fill("#filter", "layers.7");
  await page.click('#pane [data-value="table"]');
  await page.click('[data-column="cosine"]');
  await address(page).toContain("sort=-cosine");
  await address(page).toContain("metric=sqnr_db");
  const link = page.url();
  await open(page, link);
  await expect(page.locator("#metric")).toHaveValue("sqnr_db");
  await expect(page.locator("#filter")).toHaveValue("layers.7");
  await expect(page.locator("#graph-card")).toBeHidden();
  await expect(page.locator('[data-column="cosine"]')).toHaveAttribute("aria-sort", "descending");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
});

test("keys alone lead through everything", async ({ watched: page }) => {
  await open(page, made("medium"));
  await page.keyboard.press("n");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
  await page.keyboard.press("n");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.7/scores");
  await page.keyboard.press("t");
  await expect(page.locator("#trace-path")).toContainText("1 step up");
  await expect(page.locator("#trace-path li").last()).toContainText(kCulprit);
  await page.keyboard.press("p");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
  await page.keyboard.press("Escape");
  await expect(page.locator("#findings")).toBeVisible();
  await page.keyboard.press("c");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
  // Along an edge of the graph, then down the table.
  await page.locator("canvas.scene").focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.7/scores");
  await page.locator("#table").focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.7/softmax");
  await page.locator("#plot").focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.7/context");
  await page.keyboard.press("3");
  await expect(page.locator("#graph-card")).toBeHidden();
  await page.keyboard.press("1");
  await expect(page.locator("#graph-card")).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.locator("#help")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.locator("#help")).toBeHidden();
  await expect(page.locator("#announce")).toContainText("model/layers.7/context");
});

test("dark and light, by the system and by hand", async ({ watched: page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, made("small"));
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  const dark = await ground();
  await page.click("#theme");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  expect(await ground()).not.toBe(dark);
  await address(page).toContain("theme=light");
});

test("the scrubber changes the slice and not the layout", async ({ watched: page }) => {
  await open(page, made("transformer"));
  await expect(page.locator("#count")).toHaveText("672 rows");
  const before = await nodePosition(page, "model/layers.2/v");
  await page.locator("#scrub-step").focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#count")).toHaveText("168 rows");
  await expect(page.locator('[data-show="fail"]')).toBeHidden(); // the first step is good
  await page.keyboard.press("ArrowRight");
  await expect(page.locator('[data-show="fail"]')).toContainText("50");
  expect(await nodePosition(page, "model/layers.2/v")).toEqual(before);
  await page.locator("#table").focus();
  await page.keyboard.press("}");
  await address(page).toContain("rank=0");
  await expect(page.locator('[data-show="fail"]')).toBeHidden(); // rank 0 is good
  await page.keyboard.press("]");
  await address(page).toContain("step=2");
});

test("a narrow table begins with the number that decides, and shows that there is more", async ({ watched: page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, made("medium"));
  await expect(page.locator(".th").nth(1)).toHaveClass(/num/);
  await expect(page.locator("#table-card")).toHaveClass(/more/);
  await page.locator("#table").evaluate((table) => (table.scrollLeft = table.scrollWidth));
  await expect(page.locator("#table-card")).not.toHaveClass(/more/);
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect(page.locator(".th").nth(1)).toHaveText("Verdict");
});

test("slices are told: where the error is, in columns, and under the plot", async ({ watched: page }) => {
  await open(page, made("transformer"));
  await expect(page.locator("#headline")).toContainText(/Where: (step|token)s 1 to 3 of rank 1/);
  await expect(page.locator('[data-column="rank"]')).toHaveText("Rank");
  const stretches = await page.evaluate(() => (window as unknown as { plumb: Inside }).plumb.plot.slices());
  expect(stretches.length).toBe(8);
  expect(stretches[7]).toMatch(/ 3, rank 1$/);
  await open(page, made("samples"));
  await expect(page.locator('[data-column="step"]')).toHaveText("Sample");
  await page.fill("#filter", "layers.0/q");
  await expect(rowsShown(page).nth(1)).toContainText("dog.jpg");
});

test("from failure to failure through all steps", async ({ watched: page }) => {
  await open(page, made("transformer"));
  const selected = () => page.evaluate(() => (window as unknown as { plumb: Inside }).plumb.model.selected());
  let last = -1;
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("n");
    const now = await selected();
    expect(now).toBeGreaterThan(last);
    last = now;
  }
  await address(page).toContain(`row=${last}`);
});

test("samples have names, and accuracy its block", async ({ watched: page }) => {
  await open(page, made("samples"));
  await expect(page.locator("#accuracy")).toContainText("top-1");
  await expect(page.locator("#accuracy")).toContainText("dog.jpg");
  await page.locator("#accuracy button", { hasText: "dog.jpg" }).click();
  await address(page).toContain("step=1");
  await expect(page.locator("#scrub output").first()).toHaveText("dog.jpg");
});

test("against a baseline: broken, fixed, unchanged", async ({ watched: page }) => {
  await open(page, made("baseline"));
  await expect(page.locator("#tile-baseline")).toContainText("1 worse, 1 better");
  await expect(page.locator("#baseline")).toContainText("0.09");
  await page.click("#diff");
  await address(page).toContain("diff=1");
  await expect(page.locator(".legend")).toContainText("broken");
  await page.click('[data-column="change"]');
  await page.click('[data-column="change"]');
  await page.locator("#table").evaluate((table) => (table.scrollTop = 0));
  await expect(page.locator('#table .tr[aria-rowindex="2"]')).toContainText("broken");
});

test("what-if limits recolour, are marked hypothetical, and can be saved", async ({ watched: page }) => {
  await open(page, made("medium"));
  const grip = page.locator(".limit-grip");
  const box = (await grip.boundingBox())!;
  const plot = (await page.locator("#plot").boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, plot.y + 16, { steps: 5 });
  await page.mouse.up();
  await expect(page.locator(".hypothetical")).toContainText("HYPOTHETICAL");
  await expect(page.locator("#verdict")).toHaveText(/FAIL/); // the run's verdict stays
  await address(page).toContain("limits=float32.rel_euclid:");
  const download = page.waitForEvent("download");
  await page.click("#toml");
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text).toContain("[limits.float32]");
  expect(text).toContain("# was 0.001");
  // By keys, downwards: more fail.
  await page.click("#reset-limits");
  await expect(page.locator(".hypothetical")).toBeHidden();
  await page.locator(".limit-grip").focus();
  for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowDown");
  await expect(page.locator("#what-if")).toContainText(/would fail/);
  const fails = await page.locator('[data-show="fail"]').textContent();
  expect(Number(fails!.replace(/\D/g, ""))).toBeGreaterThan(190);
});

test("drag in the plot zooms", async ({ watched: page }) => {
  await open(page, made("medium"));
  const plot = (await page.locator("#plot .u-over").boundingBox())!;
  await page.mouse.move(plot.x + 100, plot.y + 40);
  await page.mouse.down();
  await page.mouse.move(plot.x + 300, plot.y + 50, { steps: 4 });
  await page.mouse.up();
  await address(page).toContain("zoom=");
  await page.click("#unzoom");
  await address(page).not.toContain("zoom=");
});

test("blocks instead of operators", async ({ watched: page }) => {
  await open(page, made("medium"));
  await page.selectOption("#depth", "1");
  await address(page).toContain("graph=1");
  await page.keyboard.press("n");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", kCulprit);
});

test("hostile names stay text", async ({ watched: page }) => {
  await open(page, made("hostile"));
  expect(await page.title()).not.toContain("owned");
  const names = await page
    .locator("#table .td.first .name")
    .evaluateAll((cells) => cells.map((cell) => `${cell.textContent} ${(cell as HTMLElement).title}`));
  expect(names.join("")).toContain("<script>document.title='owned'</script>");
  expect(names.join("")).not.toMatch(/[\u202e\u200b\u2066\n]/);
  expect(await page.locator("#app script, #app img").count()).toBe(0);
  // 500 characters: short here, whole on demand.
  await page.keyboard.press("n");
  await expect(page.locator("#panel details.full")).toContainText("508 characters");
  await page.click("#panel details.full summary");
  await expect(page.locator("#panel details.full bdi")).toHaveText(/^long\/(very_){100}end$/);
  for (let i = 0; i < 28; i++) await page.keyboard.press("n");
  // A link to each of them finds it again.
  const ops = await page.evaluate(() => {
    const { model } = (window as unknown as { plumb: { model: { report: { name(row: number): string } } } }).plumb;
    return Array.from({ length: 14 }, (_, row) => model.report.name(row));
  });
  for (const op of ops.filter((name) => !/[\ud800-\udfff]/.test(name))) {
    await open(page, `${made("hostile")}#op=${encodeURIComponent(op)}`);
    expect(await page.locator("#panel h2").getAttribute("data-op")).toBe(op);
    expect(await page.title()).not.toContain("owned");
  }
});

test("without a graph the table has the room", async ({ watched: page }) => {
  await open(page, made("flat"));
  await expect(page.locator("#graph-card")).toHaveCount(0);
  await expect(rowsShown(page).first()).toBeVisible();
  await page.keyboard.press("n");
  await expect(page.locator("#panel h2")).toBeVisible();
});

for (const [width, height] of [
  [1440, 900],
  [1024, 768],
  [390, 844],
])
  test(`nothing sticks out at ${width} × ${height}`, async ({ watched: page }) => {
    await page.setViewportSize({ width, height });
    for (const name of ["small", "medium", "transformer", "clean", "nothing", "hostile", "baseline", "samples"]) {
      await open(page, made(name));
      await page.keyboard.press("n");
      const out = await page.evaluate(() => {
        const wide = document.documentElement.clientWidth;
        const inside = (element: Element) =>
          element.closest("#table, .crumbs, .command code, .legend, dialog, .off-screen");
        return [...document.querySelectorAll("#app *")]
          .filter(
            (element) =>
              !inside(element) &&
              element.checkVisibility() &&
              element.getClientRects().length > 0 &&
              element.getBoundingClientRect().right > wide + 1,
          )
          .map((element) => `${element.tagName}.${element.className}#${element.id}`);
      });
      expect(out, name).toEqual([]);
      // No text is wider than its place.
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>("#headline *, #side *, .tools *, #filters *")]
          .filter((e) => e.checkVisibility() && e.getClientRects().length > 0 && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
          .filter((e) => getComputedStyle(e).display !== "inline" && !e.closest("canvas, .crumbs, .legend, input, select"))
          .map((e) => `${e.tagName}.${e.className}#${e.id} ${e.textContent?.slice(0, 40)}`),
      );
      expect(cut, name).toEqual([]);
      // No column of the table is cut: one ends where the table does.
      const edges = await page.evaluate(() => {
        const table = document.getElementById("table")!;
        const end = table.getBoundingClientRect().left + table.clientWidth;
        return [...table.querySelectorAll(".th")].map((th) => {
          const { left, right } = th.getBoundingClientRect();
          return left < end - 2 && right > end + 2 ? th.textContent : "";
        });
      });
      expect(edges.filter((text) => text !== ""), name).toEqual([]);
      // No part is squeezed to nothing.
      for (const [part, least] of [
        ["#plot", name === "nothing" ? 20 : 80], // a sentence
        ["#graph", 150],
        ["#table", 70],
        ["#side", 100],
      ] as const)
        expect((await page.locator(part).boundingBox())?.height ?? 0, `${name} ${part}`).toBeGreaterThan(least);
    }
  });

test("only what is in the window is in the document", async ({ watched: page }) => {
  await open(page, made("large"));
  expect(await page.locator("#table .tr").count()).toBeLessThan(80);
  await expect(page.locator("#table")).toHaveAttribute("aria-rowcount", "5001");
  await page.locator("#table").focus();
  await page.keyboard.press("End");
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "model/layers.357/q");
  await expect(rowOf(page, "model/layers.357/q")).toBeInViewport();
});

test("print: what is worth a look, on white, on paper's width", async ({ watched: page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, made("medium"));
  const fails = Number(await page.locator('[data-show="fail"] span').last().textContent());
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  expect(await rowsShown(page).count()).toBeGreaterThanOrEqual(fails);
  expect(await page.locator('#table .tr:not(.hidden)[data-verdict="pass"]').count()).toBeLessThan(20); // near a limit
  await expect(page.locator("#count")).toContainText("more are not printed");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  for (const part of ["#headline", "#side", "#plot canvas", "#graph canvas", "#table-card"])
    expect((await page.locator(part).first().boundingBox())!.width).toBeLessThanOrEqual(701);
  const dark = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>("#graph canvas.scene")!;
    return canvas.getContext("2d")!.getImageData(2, 2, 1, 1).data[0] < 128;
  });
  expect(dark).toBe(false);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: "screen" });
  await expect(page.locator("#count")).toHaveText("294 rows");
});

test("a filter that nothing matches says so, and leads back", async ({ watched: page }) => {
  await open(page, made("medium"));
  await page.fill("#filter", "layers.0/*");
  await expect(page.locator("#table .empty")).toContainText("No row matches layers.0/*");
  await page.getByRole("button", { name: "try *layers.0/*" }).click();
  await expect(page.locator("#count")).toHaveText("14 of 294 rows");
  await page.fill("#filter", "no such operator");
  await page.getByRole("button", { name: "show all rows" }).click();
  await expect(page.locator("#count")).toHaveText("294 rows");
  await expect(page.locator("#table .empty")).toBeHidden();
});

test("what is known of the run opens inside the page", async ({ watched: page }) => {
  for (const width of [1440, 1024, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await open(page, made("medium"));
    await page.locator(".notes summary").click();
    await expect(page.locator(".notes dl")).toContainText("profile");
    const box = (await page.locator(".notes > div").boundingBox())!;
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(width);
    expect(await page.evaluate(() => document.scrollingElement!.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  }
});

// SPDX-License-Identifier: Apache-2.0
//
// Reports that the program wrote (tests/web/run_web makes them, with the same result as JSON beside
// each): the page says what the result says.
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { clean } from "../src/text.ts";
import { address, type Inside, nodePosition, open, rowOf, rowsShown, test } from "./open.ts";

const directory = process.env.PLUMB_REPORTS;
const names = directory
  ? readdirSync(directory)
      .filter((file) => file.endsWith(".html"))
      .map((file) => file.replace(/\.html$/, ""))
  : [];
const page_ = (name: string) => `file://${directory}/${name}.html`;

interface Row {
  target: { operator: string } | null;
  golden: { operator: string } | null;
  verdict: string;
  step: number | null;
  rank: number | null;
  metrics: Record<string, number | string | null>;
}
interface Result {
  summary: {
    verdict: string;
    rows: number;
    fail: number;
    not_compared: number;
    suspicious: number;
    inconclusive: number;
    pass: number;
  };
  rows: Row[];
  findings: { operator: string | null; next: string | null; evidence: { text: string }[] }[];
  graph?: { nodes: unknown[] };
  baseline?: { tensors: { worse: boolean }[] };
}
const resultOf = (name: string) => JSON.parse(readFileSync(`${directory}/${name}.json`, "utf8")) as Result;
const nameOf = (row: Row) => row.target?.operator ?? row.golden?.operator ?? "";

test("the program wrote reports", () =>
  expect(names).toEqual(expect.arrayContaining(["clean", "broken", "baseline", "graph", "fused", "ranks", "hostile"])));

for (const name of names)
  test(`${name}: the page says what the result says`, async ({ watched: page }) => {
    const result = resultOf(name);
    await open(page, page_(name));
    await expect(page.locator("#verdict")).toHaveAttribute("data-verdict", result.summary.verdict);
    await expect(page.locator("#count")).toHaveText(`${result.summary.rows} rows`);
    const chips: Record<string, number> = {
      fail: result.summary.fail,
      near: result.summary.suspicious,
      open: result.summary.inconclusive,
      pass: result.summary.pass - result.summary.suspicious,
      absent: result.summary.not_compared,
    };
    for (const [key, count] of Object.entries(chips))
      expect(
        Number((await page.locator(`[data-show="${key}"] span:last-child`).textContent())!.replace(/\D/g, "")),
        key,
      ).toBe(count);
    // Every row with its numbers, in order.
    const shown = await page.evaluate(() => {
      const { model } = (
        window as unknown as {
          plumb: Inside & {
            model: {
              report: {
                rows: number;
                metric(name: string): ArrayLike<number>;
                verdict: ArrayLike<number>;
                step: ArrayLike<number>;
                rank: ArrayLike<number>;
              };
            };
          };
        }
      ).plumb;
      const { report } = model;
      const error = report.metric("rel_euclid");
      return Array.from({ length: report.rows }, (_, row) => ({
        name: report.name(row),
        verdict: ["pass", "fail", "inconclusive", "not_compared"][report.verdict[row]],
        step: report.step[row],
        rank: report.rank[row],
        error: Number.isNaN(error[row]) ? "none" : String(error[row]),
      }));
    });
    expect(shown).toEqual(
      result.rows.map((row) => {
        const error = row.metrics.rel_euclid;
        return {
          name: nameOf(row),
          verdict: row.verdict,
          step: row.step ?? -1,
          rank: row.rank ?? -1,
          error:
            error === undefined || error === null || error === "nan"
              ? "none"
              : error === "inf"
                ? "Infinity"
                : String(error),
        };
      }),
    );
    for (const [i, finding] of result.findings.entries()) {
      const article = page.locator("#findings article").nth(i);
      if (finding.operator) await expect(article).toHaveAttribute("data-finding", finding.operator);
      if (finding.next) await expect(article.locator("code")).toHaveText(clean(finding.next));
      await expect(article.locator("li")).toHaveCount(finding.evidence.length);
    }
    if (result.graph && result.graph.nodes.length > 0) await expect(page.locator("#graph canvas.scene")).toBeVisible();
    // To every failure by keys; each has a panel that says something.
    const failing = result.rows.filter((row) => row.verdict === "fail");
    for (let i = 0; i < Math.min(6, failing.length); i++) {
      await page.keyboard.press("n");
      const op = await page.locator("#panel h2").getAttribute("data-op");
      expect(failing.map(nameOf)).toContain(op);
      await expect(page.locator("#panel")).toContainText("Both sides");
      await expect(page.locator("#panel")).toHaveAttribute("data-details", /yes|no/);
    }
    // And in the three sizes.
    for (const [width, height] of [
      [1024, 768],
      [390, 844],
    ]) {
      await page.setViewportSize({ width, height });
      await page.waitForTimeout(100);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    }
  });

test("names of a hostile result stay text", async ({ watched: page }) => {
  const ops = [...new Set(resultOf("hostile").rows.map(nameOf))];
  for (const op of ops) {
    await open(page, `${page_("hostile")}#op=${encodeURIComponent(op)}`);
    expect(await page.locator("#panel h2").getAttribute("data-op")).toBe(op);
    expect(await page.title()).not.toBe("owned");
    expect(await page.locator("#app script, #app img").count()).toBe(0);
    const text = (await page.locator("#app").innerText()) + (await page.title());
    expect(text).not.toMatch(/[\u202e\u200b\u2066\u001b\u0007]/);
  }
});

test("from the graph to the table, with histograms", async ({ watched: page }) => {
  await open(page, page_("graph"));
  const result = resultOf("graph");
  const bad = nameOf(result.rows.find((row) => row.verdict === "fail")!);
  await page.keyboard.press("n");
  await page.keyboard.press("0");
  const at = await nodePosition(page, bad);
  await page.keyboard.press("Escape");
  await page.mouse.click(at.x, at.y);
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", bad);
  await expect(rowOf(page, bad).first()).toBeVisible();
  await address(page).toContain(`op=${bad}`);
  await expect(page.locator("#panel figure canvas").first()).toBeVisible();
});

test("a TorchAir dump has the graph beside it, with operators as they were fused", async ({ watched: page }) => {
  const { graph, rows } = resultOf("fused");
  expect((graph!.nodes as { name: string }[]).map((node) => node.name)).toEqual([
    "Conv2D_1Relu_2",
    "ReduceMean_3",
    "MatMul_4",
    "Softmax_5",
  ]);
  await open(page, page_("fused"));
  await page.keyboard.press("0");
  const bad = nameOf(rows.find((row) => row.verdict === "fail")!);
  const at = await nodePosition(page, bad);
  await page.mouse.click(at.x, at.y);
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", bad);
});

test("a result without rows does not point at the table", async ({ watched: page }) => {
  await open(page, page_("empty"));
  await expect(page.locator("#findings")).toContainText("No tensor was found on either side");
});

test("several ranks have a slider", async ({ watched: page }) => {
  const result = resultOf("ranks");
  const ranks = [...new Set(result.rows.map((row) => row.rank).filter((rank) => rank !== null))];
  expect(ranks.length).toBeGreaterThan(1);
  await open(page, page_("ranks"));
  await page.locator("#scrub-rank").focus();
  await page.keyboard.press("ArrowRight");
  const of = result.rows.filter((row) => row.rank === Math.min(...ranks) || row.rank === null).length;
  await expect(page.locator("#count")).toHaveText(`${of} rows`);
});

test("a baseline colours by change", async ({ watched: page }) => {
  await open(page, page_("baseline"));
  const worse = resultOf("baseline").baseline!.tensors.filter((tensor) => tensor.worse).length;
  expect(worse).toBeGreaterThan(0);
  await expect(page.locator("#tile-baseline")).toContainText(`${worse} worse`);
  await page.keyboard.press("d");
  await page.fill("#filter", "verdict:fail");
  await expect(rowsShown(page).first()).toContainText("broken");
});

test("a fusion is tied to the operators it was made from", async ({ watched: page }) => {
  await open(page, `${page_("graph")}#op=conv1relu1`);
  const bundle = page.locator("#bundle");
  await expect(bundle.locator("ul").first().locator("li")).toHaveText(["conv1relu1"]);
  await expect(bundle.locator("ul").last().locator("li")).toHaveText(["conv1", "bn1", "relu1"]);
  await expect(bundle.locator("path")).toHaveCount(3);
  await bundle.getByRole("button", { name: "bn1" }).click(); // inside: golden alone has it
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "bn1");
  await expect(bundle.locator("ul").first().locator("li")).toHaveText(["conv1relu1"]);
  // Without a graph what was paired tells.
  await open(page, `${page_("fused")}#op=Conv2D_1Relu_2`);
  await expect(bundle.locator("ul").last().locator("li")).toHaveCount(2);
  await open(page, `${page_("graph")}#op=pool1`);
  await expect(page.locator("#panel h2")).toHaveAttribute("data-op", "pool1");
  await expect(bundle).toHaveCount(0);
});

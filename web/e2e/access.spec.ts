// SPDX-License-Identifier: Apache-2.0
//
// The page for everybody: what a screen reader is told, what is left without colours, what goes to the clipboard;
// and what it may do to its readers, which is nothing.
import { expect, type Page } from "@playwright/test";
import { address, type Inside, made, open, rowsShown, test } from "./open.ts";

test("only its own script may run, and nothing may be loaded", async ({ page }) => {
  await open(page, made("medium"));
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
  expect(policy).toMatch(/default-src 'none'/);
  expect(policy).toMatch(/script-src 'sha256-[A-Za-z0-9+/]{43}='/);
  expect(policy).not.toMatch(/script-src[^;]*(unsafe|\*|http|data:)/);
  // Tried from inside: neither a script nor a request nor a picture gets through.
  const sent: string[] = []; // not what the policy stopped before it left
  page.on("request", (request) => /^https?:/.test(request.url()) && sent.push(request.url()));
  page.on("requestfailed", (request) => request.failure()?.errorText === "csp" && sent.splice(sent.indexOf(request.url()), 1));
  const tried = await page.evaluate(async () => {
    const violations: string[] = [];
    addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.owned = 1";
    document.body.append(script);
    const picture = document.createElement("img");
    picture.src = "https://example.invalid/x.png";
    document.body.append(picture);
    const fetched = await fetch("https://example.invalid/").then(
      () => "loaded",
      () => "refused",
    );
    await new Promise((done) => setTimeout(done, 100));
    return { violations, fetched, owned: "owned" in window };
  });
  expect(tried.owned).toBe(false);
  expect(tried.fetched).toBe("refused");
  expect(tried.violations.sort()).toEqual(["connect-src", "img-src", "script-src-elem"]);
  expect(sent).toEqual([]);
});

test("the summary to copy says verdict, culprit, cause and the next command", async ({ watched: page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, made("medium"));
  await page.getByRole("button", { name: "copy a summary for mail or chat" }).click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toContain(`FAIL: ${await page.locator("#headline h1").textContent()}`);
  expect(text).toMatch(/\noutputs [^\n]*; layers [^\n]*; coverage /);
  expect(text).toContain(`\nnext: ${await page.locator("article.finding.first code").textContent()}`);
});

test("the copy button gives the next command", async ({ watched: page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, made("medium"));
  const first = page.locator("article.finding.first");
  const command = await first.locator("code").textContent();
  await first.locator("button.copy").click();
  await expect(first.locator("button.copy")).toHaveText("copied ✓");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command);
  await expect(first.locator("button.copy")).toHaveText("copy");
});

test("the minimap leads to another place", async ({ watched: page }) => {
  await open(page, made("large"));
  const map = page.locator("#minimap");
  await expect(map).toBeVisible();
  const box = (await map.boundingBox())!;
  const at = () =>
    page.evaluate(() => (window as unknown as { plumb: Inside }).plumb.graph.positionOf(0)) as Promise<{ x: number }>;
  await page.mouse.click(box.x + 4, box.y + 4);
  const left = await at();
  await page.mouse.click(box.x + box.width - 4, box.y + 4);
  const right = await at();
  expect(right.x).toBeLessThan(left.x - 100); // the view went right, the first operator left
  await page.keyboard.press("0"); // all of it in view: the map stays where it is
  expect(await map.boundingBox()).toEqual(box);
});

test("a screen reader is told parts, rows and what is selected", async ({ watched: page }) => {
  await open(page, made("medium"));
  await expect(page.getByRole("heading", { level: 1 })).toContainText("is to blame");
  await expect(page.getByRole("main")).toBeVisible();
  const grid = page.getByRole("grid", { name: "rows of the comparison" });
  await expect(grid).toHaveAttribute("aria-rowcount", "295");
  await expect(grid.getByRole("columnheader").first()).toHaveText(/Operator/);
  await expect(grid.getByRole("row").nth(1)).toHaveAttribute("aria-rowindex", /\d+/);
  await expect(page.getByRole("tablist")).toBeVisible();
  await page.getByRole("tab", { name: "Operator" }).click();
  await expect(page.getByRole("tab", { name: "Operator" })).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("tabpanel")).toBeVisible();
  await expect(page.locator("canvas.scene")).toHaveAttribute("aria-label", /\S/);
  await expect(page.locator("#announce")).toHaveAttribute("aria-live", "polite");
  await page.keyboard.press("n");
  await expect(page.locator("#announce")).toHaveText(/: fail$/);
  // Whatever can be pressed has a name, and no id stands twice.
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button, input, select, [role=slider]")]
      .filter((e) => e.getClientRects().length > 0)
      .filter((e) => !(e.textContent?.trim() || e.getAttribute("aria-label") || e.title || (e as HTMLInputElement).labels?.length))
      .map((e) => e.outerHTML.slice(0, 120)),
  );
  expect(nameless).toEqual([]);
  const twice = await page.evaluate(() => {
    const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
    return ids.filter((id, i) => ids.indexOf(id) !== i);
  });
  expect(twice).toEqual([]);
});

test("rows carry operator and verdict", async ({ watched: page }) => {
  await open(page, made("medium"));
  expect(await page.evaluate(() => Number(document.body.dataset.ready))).toBeGreaterThan(0);
  const rows = await rowsShown(page).evaluateAll((all) =>
    all.map((row) => [(row as HTMLElement).dataset.op, (row as HTMLElement).dataset.verdict]),
  );
  expect(rows.length).toBeGreaterThan(5);
  for (const [op, verdict] of rows) {
    expect(op).toMatch(/^model\//);
    expect(["pass", "fail", "inconclusive", "not_compared"]).toContain(verdict);
  }
});

// Pixels of a part, as the eye of somebody sees them.
async function pixels(page: Page, selector: string): Promise<Uint8ClampedArray> {
  const png = (await page.locator(selector).first().screenshot()).toString("base64");
  const values = await page.context().newPage().then(async (blank) => {
    const got = await blank.evaluate(async (data) => {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const canvas = new OffscreenCanvas(16, 16);
      const context = canvas.getContext("2d")!;
      context.drawImage(image, 0, 0, 16, 16);
      return Array.from(context.getImageData(0, 0, 16, 16).data);
    }, png);
    await blank.close();
    return got;
  });
  return Uint8ClampedArray.from(values);
}

const kEyes = ["protanopia", "deuteranopia", "tritanopia", "achromatopsia"] as const;
for (const theme of ["light", "dark"])
  test(`marks differ for every eye, ${theme}`, async ({ watched: page }) => {
    await open(page, `${made("medium")}#theme=${theme}`);
    const session = await page.context().newCDPSession(page);
    for (const type of ["none", ...kEyes] as const) {
      await session.send("Emulation.setEmulatedVisionDeficiency", { type });
      const marks = ["fail", "near", "pass", "absent"];
      const seen = new Map<string, Uint8ClampedArray>();
      for (const mark of marks) seen.set(mark, await pixels(page, `.legend .mark.${mark}`));
      for (const a of marks)
        for (const b of marks.slice(marks.indexOf(a) + 1)) {
          const [x, y] = [seen.get(a)!, seen.get(b)!];
          let apart = 0;
          for (let i = 0; i < x.length; i += 4) {
            const light = (p: Uint8ClampedArray) => 0.3 * p[i] + 0.59 * p[i + 1] + 0.11 * p[i + 2];
            apart += Math.abs(light(x) - light(y)) > 24 ? 1 : 0;
          }
          expect(apart, `${type}: ${a} and ${b}`).toBeGreaterThan(16); // of 256 places, by lightness alone
        }
    }
  });

test("a trace is told in the panel and kept in the address", async ({ watched: page }) => {
  await open(page, `${made("medium")}#op=model/layers.8/scores`);
  await page.click("#trace");
  await address(page).toContain("trace=1");
  await expect(page.locator("#trace-path li").last()).toContainText("model/layers.7/transpose");
  await expect(page.locator("#trace-path li").last()).toContainText("origin");
});

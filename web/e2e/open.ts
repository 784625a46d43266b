// SPDX-License-Identifier: Apache-2.0
//
// Opens a report from disk and holds every test to the same: no error on the console, no request to
// anywhere, no sideways scrolling of the page.
import { expect, type Page, test as base } from "@playwright/test";

export const test = base.extend<{ watched: Page }>({
  watched: async ({ page }, use) => {
    const troubles: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") troubles.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) troubles.push(`request: ${request.url()}`);
    });
    page.on("dialog", (dialog) => {
      troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await use(page);
    expect(troubles).toEqual([]);
  },
});

export const made = (name: string) => `file://${process.cwd()}/tests/made/${name}.html`;

export async function open(page: Page, url: string): Promise<void> {
  await page.goto("about:blank"); // only another document is loaded anew
  await page.goto(url);
  await page.waitForSelector("body[data-ready]");
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(sideways).toBeLessThanOrEqual(0);
}

// The view as the address has it, once it has caught up.
export const address = (page: Page) => expect.poll(() => decodeURIComponent(new URL(page.url()).hash.slice(1)));

export const rowsShown = (page: Page) => page.locator("#table .tr:not(.hidden)");
export const rowOf = (page: Page, op: string) => page.locator(`#table .tr:not(.hidden)[data-op="${op}"]`);

// What the page knows of itself, for positions on canvases.
export interface Inside {
  model: {
    report: { name(row: number): string; rowsOf(name: string): number[] };
    nodeOf(row: number, graph: number): number;
    selected(): number;
    marks: number[];
  };
  graph: {
    positionOf(node: number): { x: number; y: number };
    frames: number[];
    panBy(x: number, y: number): void;
    zoomBy(f: number): void;
    fit(): void;
  };
  plot: { positionOf(row: number): { x: number; y: number } | null; slices(): string[] };
}

export async function nodePosition(page: Page, op: string): Promise<{ x: number; y: number }> {
  return page.evaluate((name) => {
    const { model, graph } = (window as unknown as { plumb: Inside }).plumb;
    return graph.positionOf(model.nodeOf(model.report.rowsOf(name)[0], 0));
  }, op);
}

export async function plotPosition(page: Page, op: string): Promise<{ x: number; y: number }> {
  return page.evaluate((name) => {
    const { model, plot } = (window as unknown as { plumb: Inside }).plumb;
    return plot.positionOf(model.report.rowsOf(name)[0])!;
  }, op);
}

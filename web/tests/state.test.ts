// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { hashOf, kStart, type View, viewOf } from "../src/state.ts";

describe("the address", () => {
  test("the start is empty", () => expect(hashOf(kStart)).toBe(""));
  test("#op=NAME selects an operator and shows it", () => {
    expect(viewOf("#op=model/layers.0/q")).toEqual({ ...kStart, op: "model/layers.0/q", tab: "operator" });
  });
  test("reads back what it wrote", () => {
    const view: View = {
      op: 'a&b=c#d/é"<',
      slot: "output:0",
      row: 7,
      step: 3,
      rank: 0,
      metric: "sqnr_db",
      zoom: [1, 20.5],
      q: "conv* -pool",
      marks: ["fail", "near"],
      sort: "-cosine",
      columns: "all",
      pane: "graph",
      graph: 1,
      camera: [10, 20, 0.5],
      tab: "findings",
      trace: true,
      diff: true,
      limits: [
        ["float32.rel_euclid", 0.002],
        ["cosine", 0.99],
      ],
      theme: "dark",
    };
    expect(viewOf(`#${hashOf(view)}`)).toEqual(view);
  });
  test.each([
    ["nonsense", "#&&=&%%%&x", {}],
    ["steps that are none", "#step=abc&rank=1.5", {}],
    ["half a zoom", "#zoom=1", {}],
    ["numbers that are none", "#at=1~x~2&limits=cosine:x,:3,rel:", {}],
    ["an unknown pane", "#pane=cellar", {}],
    ["a broken escape", "#op=%E0%A4%A", { op: "%E0%A4%A", tab: "operator" }],
    ["a negative graph", "#graph=-3", {}],
  ])("%s", (_name, hash, expected) => expect(viewOf(hash)).toEqual({ ...kStart, ...expected }));
  test("half of a pair in a name does not throw", () => expect(hashOf({ ...kStart, op: "\ud800x" })).toContain("op="));
});

// SPDX-License-Identifier: Apache-2.0
//
// Pieces of the page that compute: sorting, thickness of edges, traces, unpacking.
import { describe, expect, test } from "vitest";
import { heatColour } from "../src/charts.ts";
import { bytesFromBase64, viewsOf } from "../src/data.ts";
import { edgeLevel } from "../src/paint.ts";
import type { Model } from "../src/model.ts";
import { placesAlong } from "../src/plot.ts";
import type { Graph, Report } from "../src/report.ts";
import { worse } from "../src/report.ts";
import { heightsOf } from "../src/scrub.ts";
import { placesOf, runsOf, slowPart, stretchesOf } from "../src/slices.ts";
import { sortRows } from "../src/table.ts";
import { neighboursOf, traceToOrigin } from "../src/trace.ts";
import { packColumns } from "./pack.ts";

describe("sortRows", () => {
  const values = [3, NaN, 1, 3, NaN, 2];
  const rows = Int32Array.from(values.keys());
  test("ascending, undefined last, equal ones in order", () =>
    expect([...sortRows(rows, (r) => values[r], 1)]).toEqual([2, 5, 0, 3, 1, 4]));
  test("descending, undefined last, equal ones in order", () =>
    expect([...sortRows(rows, (r) => values[r], -1)]).toEqual([0, 3, 5, 2, 1, 4]));
  test("infinities are numbers", () =>
    expect([...sortRows(Int32Array.of(0, 1, 2), (r) => [Infinity, 0, -Infinity][r], 1)]).toEqual([2, 1, 0]));
  test("texts", () => expect([...sortRows(Int32Array.of(0, 1, 2), (r) => ["b", "a", "b"][r], -1)]).toEqual([0, 2, 1]));
  test("nothing", () => expect([...sortRows(new Int32Array(0), () => 0, 1)]).toEqual([]));
});

describe("edges", () => {
  test.each([
    ["unknown", NaN, 0],
    ["none", 0, 0],
    ["far below the limit", 1e-5, 0],
    ["well below", 1e-3, 1],
    ["just below", 0.025, 2],
    ["at the limit", 0.03, 3],
    ["infinite", Infinity, 6],
  ])("%s", (_name, error, level) => expect(edgeLevel(error, 0.03)).toBe(level));
  test("more error is never thinner", () => {
    let last = 0;
    for (let e = 1e-6; e < 1e3; e *= 1.1) {
      const level = edgeLevel(e, 0.03);
      expect(level).toBeGreaterThanOrEqual(last);
      last = level;
    }
  });
});

describe("trace to origin", () => {
  // 0 → 1 → 3, 2 → 3 → 4; 3 → 0 would be a cycle.
  const graph = {
    nodes: 5,
    edges: 5,
    from: [0, 1, 2, 3, 3],
    to: [1, 3, 3, 4, 0],
    error: new Float64Array(5).fill(NaN),
  } as unknown as Graph;
  const walk = (errors: number[], role: number[], start = 4) =>
    traceToOrigin(graph, neighboursOf(graph), start, (i) => errors[i], role, 0.01).nodes;
  const none = [0, 0, 0, 0, 0];
  test("follows the larger error", () => expect(walk([0, 0.02, 0.5, 0.5, 0.5], none)).toEqual([4, 3, 2]));
  test("stops where the inputs are good", () => expect(walk([0.001, 0.5, 0.001, 0.5, 0.5], none)).toEqual([4, 3, 1]));
  test("stops at who introduces it", () => expect(walk([0.5, 0.5, 0, 0.5, 0.5], [0, 1, 0, 2, 2])).toEqual([4, 3, 1]));
  test("prefers who introduces it", () => expect(walk([0, 0.02, 0.5, 0.5, 0.5], [0, 1, 0, 2, 2])).toEqual([4, 3, 1]));
  test("ends in a cycle", () => expect(walk([0.5, 0.5, 0, 0.5, 0.5], none)).toEqual([4, 3, 1, 0]));
  test("a healthy operator has no trace", () => expect(walk([0, 0, 0, 0, 0], none)).toEqual([4]));
});

describe("unpacking", () => {
  test("columns of all types read back", () => {
    const data = new Map([
      ["a", { type: "u8" as const, values: [1, 2, 255] }],
      ["b", { type: "f64" as const, values: [0.1, NaN, -Infinity] }],
      ["c", { type: "text" as const, values: ["x", "", "x"] }],
      ["d", { type: "f32" as const, values: [0.5] }],
      ["e", { type: "i32" as const, values: [-1, 7] }],
    ]);
    const packed = packColumns({ rows: 3 } as never, data as never);
    const views = viewsOf(packed.head, new Uint8Array(packed.columns).buffer);
    expect([...views.get("a")!]).toEqual([1, 2, 255]);
    expect([...views.get("b")!]).toEqual([0.1, NaN, -Infinity]);
    expect(Array.from(views.get("c")!, (i) => packed.texts[i])).toEqual(["x", "", "x"]);
    expect([...views.get("d")!, ...views.get("e")!]).toEqual([0.5, -1, 7]);
  });
  test("an unknown type is an error", () => {
    expect(() =>
      viewsOf({ columns: [{ name: "a", type: "f16", count: 1, offset: 0 }] } as never, new ArrayBuffer(8)),
    ).toThrow("unknown type");
  });
  test("base64 with line ends", () => expect([...bytesFromBase64("AQID\n")]).toEqual([1, 2, 3]));
});

test("heat: more error is always further from the ground", () => {
  for (const dark of [false, true]) {
    const light = (level: number) => heatColour(level, dark).reduce((a, b) => a + b, 0);
    const ground = light(0);
    for (let level = 8; level < 64; level += 8) expect(Math.abs(light(level) - ground)).toBeGreaterThan(0);
    expect(Math.abs(light(63) - ground)).toBeGreaterThan(250);
  }
});

test("of several marks fail shows first, and what was not compared is not hidden by a pass", () => {
  const order = [2, 3, 1, 4, 0, 5]; // fail, inconclusive, near, not compared, pass, unknown
  for (let i = 0; i + 1 < order.length; i++) expect(worse(order[i], order[i + 1])).toBe(true);
});

describe("heights of slices", () => {
  const of = (...errors: number[]) => [...heightsOf(Float64Array.from(errors))].map((height) => Math.round(height * 100));
  test("on a log scale from the least to the most", () => expect(of(0.001, 0.1, 0.01)).toEqual([0, 100, 50]));
  test("alike is the same", () => expect(of(0.1, 0.12, 0.2)).toEqual([100, 100, 100]));
  test("nothing known, infinite", () => expect(of(0, 1, Infinity)).toEqual([0, 100, 100]));
  test("no error at all", () => expect(of(0, 0)).toEqual([0, 0]));
});

describe("slices along the rows", () => {
  const report = {
    step: [0, 0, 1, 1, 0, 1],
    rank: [0, 0, 0, 0, 1, 1],
    head: { run: { scenario: "torchair" } },
  } as unknown as Report;
  const model = { report, steps: [0, 1], ranks: [0, 1] } as unknown as Model;
  test("where one ends and the next begins", () =>
    expect(stretchesOf(model, [0, 1, 2, 3, 4, 5])).toMatchObject([
      { from: 0, to: 1, label: "token 0, rank 0", parts: ["token 0", "rank 0"] },
      { from: 2, to: 3, label: "token 1, rank 0" },
      { from: 4, to: 4, label: "token 0, rank 1" },
      { from: 5, to: 5, label: "token 1, rank 1" },
    ]));
  test("one slice needs no name", () => expect(stretchesOf(model, [0, 1])).toMatchObject([{ from: 0, to: 1, label: "" }]));
  test("no rows", () => expect(stretchesOf(model, [])).toEqual([]));
  test("the part that changes less often, and its runs", () => {
    const stretches = stretchesOf(model, [0, 1, 2, 3, 4, 5]);
    expect(slowPart(stretches)).toBe(1);
    expect(runsOf(stretches, 1)).toEqual([
      { from: 0, to: 3, text: "rank 0" },
      { from: 4, to: 5, text: "rank 1" },
    ]);
  });
});

describe("slices in words", () => {
  const of = (rows: [step: number, rank: number][], samples?: string[]) => {
    const [step, rank] = [0, 1].map((k) => rows.map((row) => row[k]));
    const report = { step, rank, head: { run: { scenario: "torchair" }, samples } } as unknown as Report;
    return placesOf({ report, steps: [0, 1, 2, 3, 4, 5], ranks: [0, 1, 2] } as unknown as Model, [...rows.keys()]);
  };
  test.each<[string, [number, number][], string]>([
    ["one", [[3, 1]], "token 3 of rank 1"],
    ["a stretch", [[5, 1], [3, 1], [4, 1]], "tokens 3 to 5 of rank 1"],
    ["two and one", [[0, 0], [1, 0], [4, 0]], "tokens 0, 1, 4 of rank 0"],
    ["ranks alike", [[2, 0], [2, 1], [2, 2]], "token 2 of ranks 0 to 2"],
    ["ranks unlike", [[2, 0], [3, 1]], "token 2 of rank 0; token 3 of rank 1"],
    ["all of them", [0, 1, 2, 3, 4, 5].map((step) => [step, 2]), "all tokens of rank 2"],
    ["no rank known", [[1, -1], [2, -1]], "tokens 1, 2"],
  ])("%s", (_name, rows, words) => expect(of(rows)).toBe(words));
  test("samples by name", () => expect(of([[0, -1], [1, -1]], ["cat", "dog"])).toBe("samples cat, dog"));
});

describe("places under the axis", () => {
  test("all where names fit", () => expect(placesAlong(-0.5, 3.5, 80)).toEqual([-0, 1, 2, 3]));
  test("few where they do not", () => expect(placesAlong(-0.5, 60, 10)).toEqual([-0, 10, 20, 30, 40, 50, 60]));
  test("as many as have room", () => {
    for (const pitch of [0.01, 0.3, 2, 30]) {
      const places = placesAlong(0, 900 / pitch, pitch);
      expect((places[1] - places[0]) * pitch).toBeGreaterThanOrEqual(56);
      expect(places.length).toBeGreaterThan(5);
    }
  });
});

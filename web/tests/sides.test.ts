// SPDX-License-Identifier: Apache-2.0
//
// Which operators of the two sides belong together, what the plot has room for, and which columns come first.
import { describe, expect, test } from "vitest";
import { columnsOf } from "../src/columns.ts";
import { Model } from "../src/model.ts";
import { Partners } from "../src/ribbons.ts";
import { State } from "../src/state.ts";
import { type Row, smallReport } from "./small_report.ts";

const modelOf = (rows: Row[]) => new Model(smallReport(rows), new State(""));

describe("operators that belong together", () => {
  const partners = new Partners(
    smallReport([
      { op: "fused", golden: "conv", slot: "input:0" },
      { op: "fused", golden: "relu" },
      { op: "pool", golden: "relu", slot: "input:0", goldenSlot: "output:0" },
      { op: "pool", golden: "pool" },
      { op: "cast", golden: "data" },
      { op: "data", golden: "data" },
      { op: "only_target", golden: "" },
    ]),
  );
  test("several of golden in one", () =>
    expect(partners.around("fused", "relu")).toEqual({
      targets: ["fused"],
      goldens: ["conv", "relu"],
      links: [
        [0, 0],
        [0, 1],
      ],
      hidden: 0,
    }));
  test("from an operator of golden", () =>
    expect(partners.around("", "conv")).toMatchObject({ targets: ["fused"], goldens: ["conv", "relu"] }));
  test("several of the target for one", () =>
    expect(partners.around("cast", "data")).toMatchObject({ targets: ["cast", "data"], goldens: ["data"] }));
  test("one to one; who made an input is no partner", () => expect(partners.around("pool", "pool")).toBeNull());
  test("no partner at all", () => expect(partners.around("only_target", "")).toBeNull());
  test("many are counted", () => {
    const rows = Array.from({ length: 9 }, (_, i) => ({ op: "all", golden: `part${i}` }));
    expect(new Partners(smallReport(rows)).around("all", "part0")).toMatchObject({ hidden: 3 });
  });
});

describe("the plot", () => {
  test("has no room for what was left out by design", () =>
    expect([...modelOf([{ excused: true, verdict: 3 }, {}, { slot: "input:0" }, { verdict: 3 }]).plotted()]).toEqual([1, 3]));
  test("unless there is nothing else", () =>
    expect([...modelOf([{ excused: true, verdict: 3 }]).plotted()]).toEqual([0]));
});

describe("the row that shows", () => {
  const shown = (rows: Row[]) => modelOf(rows).worstOf(rows.map((_, i) => i));
  test("what was left out on purpose hides nothing that passes", () =>
    expect(shown([{ excused: true, verdict: 3, slot: "input:0" }, {}])).toBe(1));
  test("what is missing does", () => expect(shown([{}, { verdict: 3 }])).toBe(1));
  test("a failure before all", () => expect(shown([{ verdict: 3 }, { verdict: 1 }, { excused: true, verdict: 3 }])).toBe(1));
});

describe("columns", () => {
  const keys = (rows: Row[]) => columnsOf(modelOf(rows)).map(({ key }) => key);
  test("the metric that most rows break comes first", () => {
    const rows = [{ verdict: 1, reasons: "limit:rel_euclid" }, {}];
    expect(keys(rows).filter((key) => ["cosine", "rel_euclid"].includes(key))).toEqual(["rel_euclid", "cosine"]);
    expect(keys([{}]).filter((key) => ["cosine", "rel_euclid"].includes(key))).toEqual(["cosine", "rel_euclid"]);
  });
  test("a single step or rank needs none", () => {
    expect(keys([{ step: 0, rank: 0 }])).not.toContain("step");
    expect(keys([{ step: 0 }, { step: 1, rank: 0 }, { rank: 1 }])).toEqual(expect.arrayContaining(["step", "rank"]));
  });
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { holds, isNear, Limits, marksUnder, tomlOf } from "../src/judge.ts";
import { Mark } from "../src/report.ts";
import { kLimits, type Row, smallReport } from "./small_report.ts";

describe("holds", () => {
  test.each([
    ["at least, equal", ">=", 0.5, 0.5, true],
    ["above, equal", ">", 0.5, 0.5, false],
    ["at most, over", "<=", 0.5, 0.6, false],
    ["below, equal", "<", 0.5, 0.5, false],
    ["within, under one", "within", 0.02, 0.985, true],
    ["within, too far", "within", 0.02, 1.03, false],
    ["never for NaN", "<=", 0.5, NaN, false],
  ])("%s", (_name, operation, bound, value, expected) => expect(holds(operation, bound, value)).toBe(expected));
});

describe("near the limit", () => {
  test.each([
    ["cosine at half the gap", "cosine", ">=", 0.99, 0.996, false],
    ["cosine within twice the gap", "cosine", ">=", 0.99, 0.994, true],
    ["decibels within 6", "sqnr_db", ">=", 20, 25, true],
    ["decibels beyond 6", "sqnr_db", ">=", 20, 27, false],
    ["error over half", "rel_euclid", "<=", 0.03, 0.02, true],
    ["error under half", "rel_euclid", "<=", 0.03, 0.01, false],
  ])("%s", (_name, metric, operation, bound, value, expected) =>
    expect(isNear({ metric, operation, value: bound, dtype: null }, bound, value)).toBe(expected),
  );
});

describe("what-if", () => {
  const marks = (row: Row, moved: [string, number][]) => {
    const report = smallReport([row]);
    return marksUnder(report, new Limits(report), new Map(moved))[0];
  };
  test.each<[string, Row, [string, number][], number]>([
    ["nothing moved: as judged", { verdict: 1, reasons: "limit:rel_euclid", rel_euclid: 0.5 }, [], Mark.fail],
    [
      "looser: a failing row passes",
      { verdict: 1, reasons: "limit:rel_euclid", rel_euclid: 0.01 },
      [["float32.rel_euclid", 0.1]],
      Mark.pass,
    ],
    [
      "just inside: near",
      { verdict: 1, reasons: "limit:rel_euclid", rel_euclid: 0.01 },
      [["float32.rel_euclid", 0.012]],
      Mark.near,
    ],
    ["tighter: a passing row fails", { rel_euclid: 0.0005 }, [["float32.rel_euclid", 0.0001]], Mark.fail],
    [
      "another limit is broken still",
      { verdict: 1, reasons: "limit:cosine, limit:rel_euclid", rel_euclid: 0.01, cosine: 0.9 },
      [["float32.rel_euclid", 0.1]],
      Mark.fail,
    ],
    [
      "NaN is no matter of limits",
      { verdict: 1, reasons: "nan_only_in_target", rel_euclid: NaN },
      [["float32.rel_euclid", 10]],
      Mark.fail,
    ],
    ["not compared stays", { verdict: 3, reasons: "no_golden" }, [["float32.rel_euclid", 10]], Mark.absent],
    [
      "inconclusive stays",
      { verdict: 2, reasons: "undefined:cosine", rel_euclid: 0.0001 },
      [["float32.rel_euclid", 10]],
      Mark.open,
    ],
    [
      "a limit of another type",
      { verdict: 1, reasons: "limit:rel_euclid", rel_euclid: 0.01 },
      [["rel_euclid", 0.1]],
      Mark.fail,
    ],
    ["a dump that widened float16 to float32", { rel_euclid: 0.02 }, [["rel_euclid", 0.001]], Mark.fail],
  ])("%s", (_name, row, moved, expected) => expect(marks(row, moved)).toBe(expected));

  test("a row is judged by the table that explains its verdict", () => {
    const report = smallReport([{ rel_euclid: 0.0005 }, { rel_euclid: 0.02 }, { dtype: "float16", rel_euclid: 0.02 }]);
    const limits = new Limits(report);
    const bound = (row: number) => limits.of(row).find(({ metric }) => metric === "rel_euclid")?.value;
    expect([0, 1, 2].map(bound)).toEqual([0.001, 0.03, 0.03]);
    expect(limits.on("rel_euclid", [0, 1, 2]).map(({ value }) => value)).toEqual([0.03, 0.001]);
  });

  test("the profile to save has all tables, moved limits marked", () => {
    const text = tomlOf(smallReport([{}], kLimits), new Map([["float32.rel_euclid", 0.002]]));
    expect(text).toContain('[limits]\ncosine = ">= 0.999"\nrel_euclid = "<= 0.03"\n');
    expect(text).toContain('[limits.float32]\nrel_euclid = "<= 0.002"  # was 0.001\n');
    expect(text).toContain("hypothetical");
  });
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { rowFilter } from "../src/filter.ts";
import { Mark } from "../src/report.ts";
import { smallReport } from "./small_report.ts";

const report = smallReport([
  { op: "conv1", type: "Conv", verdict: 1, reasons: "limit:cosine" },
  { op: "conv10", type: "Conv" },
  { op: "pool1", type: "MaxPool", verdict: 3, reasons: "no_golden" },
  { op: "fc 1", golden: "dense", type: "Gemm", verdict: 1, reasons: "nan_only_in_target, limit:rel_euclid" },
]);
const marks = [Mark.fail, Mark.pass, Mark.absent, Mark.fail];

describe("filter", () => {
  test.each<[string, string, number[]]>([
    ["nothing typed: everything, not compared included", "", [0, 1, 2, 3]],
    ["part of a name", "conv1", [0, 1]],
    ["any case", "CONV", [0, 1]],
    ["a pattern is the whole name", "conv?", [0]],
    ["exclusion", "-conv*", [2, 3]],
    ["a minus alone is nothing yet", "-", [0, 1, 2, 3]],
    ["words have to match all", "conv -conv10", [0]],
    ["by type", "type:*pool", [2]],
    ["by verdict", "verdict:fail", [0, 3]],
    ["not by verdict", "-verdict:fail", [1, 2]],
    ["not_compared as the result says it", "verdict:not_compared", [2]],
    ["by any of its reasons", "reason:limit:*", [0, 3]],
    ["quoted blanks", '"fc 1"', [3]],
    ["by golden's name", "golden:dense", [3]],
    ["golden's names count", "dense", [3]],
    ["signs of expressions are plain", "conv1(", []],
    ["unknown fields are parts of names", "x:y", []],
  ])("%s", (_name, text, expected) => {
    const filter = rowFilter(report, marks, text);
    expect([0, 1, 2, 3].filter(filter)).toEqual(expected);
  });
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { Head } from "../src/data.ts";
import { causeOf, culpritOf, suspectsOf } from "../src/words.ts";

describe("causes in words", () => {
  test.each([
    ["operator", "constructor", "the operator computes something else (constructor)"],
    ["__proto__", null, "__proto__"],
    ["operator", null, "the operator computes something else"],
    ["operator", "channel:27", "the operator computes something else: only in channel 27"],
    ["operator", "missing:Relu", "Relu is missing"],
    ["operator", "attribute:epsilon", "its attribute epsilon differs"],
    ["precision_mode", "cast:float16", "narrower data type: float16"],
    ["transform", "stale:scope:a", "its output is that of scope:a"],
    ["transform", "channels_reversed", "channels in reverse order"],
    ["transform", "negated", "all values have the other sign"],
    ["transform", "affine_per_channel", "each channel has a scale and an offset of its own"],
    ["transform", "offset:0.5", "moved by 0.5"],
    ["transform", "shift:2,-1", "moved along axis 2 by -1"],
    ["transform", "affine:2,0.5", "scaled by 2, then moved by 0.5"],
    ["transform", "scale:1.35", "scaled by 1.35"],
    ["weights", "scale:1.03", "other weights: scaled by 1.03"],
    ["quantization", "levels:15", "quantization: 15 levels"],
    ["quantization", "stage:both", "quantization and conversion together lose accuracy"],
    ["calibration_set", "size:1", "calibration set: 1 sample"],
    ["calibration_clipping", "saturated:-0.3,0.25", "calibration range too small: values cut to -0.3 … 0.25"],
    ["operator", "among:a,b,c", "the operator computes something else"],
    ["fusion", "conv + bn", "wrong fusion (conv + bn)"],
  ])("%s %s", (cause, detail, expected) => expect(causeOf({ cause, detail })).toBe(expected));
});

describe("a stretch that nobody compared", () => {
  test.each([
    [null, "among:a,b,c", ["a", "b", "c"]],
    ["a", "among:a,b,c", []],
    [null, "levels:15", []],
    [null, null, []],
  ])("%s %s", (operator, detail, expected) => expect(suspectsOf({ operator, detail })).toEqual(expected));

  test("is what the headline names", () => {
    const stretch = { cause: "unknown", detail: "among:a,b", operator: null };
    const head = { findings: [stretch, { cause: "operator", detail: null, operator: "c" }] };
    expect(culpritOf(head as unknown as Head)).toBe(stretch);
  });
});

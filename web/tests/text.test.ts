// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { clean, number, percent, plain, portion, share, shellQuoted, shorten } from "../src/text.ts";

describe("clean", () => {
  test.each([
    ["nothing to do", "conv1/Relu:0", "conv1/Relu:0"],
    ["markup stays text", "<b>&amp;</b>", "<b>&amp;</b>"],
    ["a new line", "a\nb", "a\\x0ab"],
    ["escape sequences", "\u001b[31m", "\\x1b[31m"],
    ["text turned around", "a\u202eb", "a\\u202eb"],
    ["isolates", "\u2066a\u2069", "\\u2066a\\u2069"],
    ["no width", "a\u200bb\ufeff", "a\\u200bb\\ufeff"],
    ["half of a pair", "\ud800x\udc00", "\\ud800x\\udc00"],
    ["whole pairs stay", "😀", "😀"],
    ["tags nobody sees", "\u{e0041}", "\\u{e0041}"],
    ["other scripts stay", "שלום 漢字", "שלום 漢字"],
  ])("%s", (_name, text, expected) => expect(clean(text)).toBe(expected));
});

describe("plain", () => {
  test.each([
    ["thousands", "0.4 of it its own: 1.33e+03 times", "0.4 of it its own: 1,330 times"],
    ["millions", "5e+06 times", "5,000,000 times"],
    ["small numbers stay", "2.5e-07, 1e-3", "2.5e-07, 1e-3"],
    ["very large ones, too", "3.4e+38 is the largest", "3.4e+38 is the largest"],
    ["names are no numbers", "conv1.5e+03 and a/1e+03b", "conv1.5e+03 and a/1e+03b"],
    ["nothing hides in it", "a\u202eb", "a\\u202eb"],
  ])("%s", (_name, text, expected) => expect(plain(text)).toBe(expected));
});

describe("shorten", () => {
  test.each([
    ["short enough", "abc", 3, "abc"],
    ["the end tells more", "abcdefghij", 5, "a…hij"],
    ["pairs are not cut", "😀😀😀😀", 3, "😀…😀"],
  ])("%s", (_name, text, most, expected) => expect(shorten(text, most)).toBe(expected));
  test("never longer than asked", () => {
    for (let most = 3; most < 40; most++) expect(Array.from(shorten("x".repeat(500), most)).length).toBe(most);
  });
});

describe("numbers", () => {
  test.each([
    ["undefined", NaN, "–"],
    ["infinite", -Infinity, "-inf"],
    ["zero", 0, "0"],
    ["whole", 1234567, "1234567"],
    ["short", 0.0134, "0.0134"],
    ["rounded", 0.123456, "0.1235"],
    ["small", 2.5e-7, "2.5e-7"],
    ["large", 3.14159e12, "3.142e12"],
    ["negative", -0.5, "-0.5"],
  ])("%s", (_name, value, expected) => expect(number(value)).toBe(expected));
  test.each([
    ["far from one", 0.5, "0.5"],
    ["one", 1, "1"],
    ["near one", 0.99998765, "0.999988"],
    ["very near one", 1 - 2e-11, "0.99999999998"],
  ])("share: %s", (_name, value, expected) => expect(share(value)).toBe(expected));
  test.each([
    ["all", 1, "100 %"],
    ["never rounded up to all", 0.9999, "99.9 %"],
    ["exact tenths stay", 0.987, "98.7 %"],
    ["none", 0, "0 %"],
  ])("percent: %s", (_name, value, expected) => expect(percent(value)).toBe(expected));

  test.each([
    [1, 1, "1 of 1"],
    [2 / 3, 9, "6 of 9"],
    [0.9, 10, "90 %"],
    [1, 0, "100 %"],
  ])("portion: %s of %s", (value, of, expected) => expect(portion(value, of)).toBe(expected));
});

test.each([
  ["plain", "npu/dump-1.npz", "npu/dump-1.npz"],
  ["blanks", "my dump", "'my dump'"],
  ["quotes", "it's", "'it'\\''s'"],
  ["commands", "$(reboot);`id`", "'$(reboot);`id`'"],
  ["nothing", "", "''"],
])("shellQuoted: %s", (_name, text, expected) => expect(shellQuoted(text)).toBe(expected));

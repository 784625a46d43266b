// SPDX-License-Identifier: Apache-2.0
//
// The filter that is typed above the table: words that all have to match. A word is part of a name (or
// a pattern with * and ?), `type:Conv*`, `reason:nan*`, `slot:output*` or `verdict:fail`; with - in
// front it excludes. Nothing is hidden that the words do not exclude.
import { kMarks, type Report } from "./report.ts";

interface Word {
  exclude: boolean;
  field: string; // "" for names and types
  matches(text: string): boolean;
}

const kFields = ["type", "reason", "slot", "verdict", "op", "golden"];

// Words are split at blanks; "quoted text" is one word.
export function parseFilter(text: string): Word[] {
  const words: Word[] = [];
  for (const match of text.matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gu)) {
    const [whole, minus, field, quoted, plain] = match;
    if (whole === "-") continue; // somebody is still typing
    const known = field !== undefined && kFields.includes(field);
    const pattern = quoted ?? (known || field === undefined ? plain : `${field}:${plain}`);
    if (pattern === "") continue;
    words.push({ exclude: minus === "-", field: known ? field : "", matches: matcher(pattern) });
  }
  return words;
}

function matcher(pattern: string): (text: string) => boolean {
  const lower = pattern.toLowerCase();
  if (!/[*?]/.test(lower)) return (text) => text.toLowerCase().includes(lower);
  const source = lower.replace(/[\\^$.*+?()[\]{}|/-]/g, (c) => (c === "*" ? ".*" : c === "?" ? "." : `\\${c}`));
  const expression = new RegExp(`^${source}$`, "su");
  return (text) => expression.test(text.toLowerCase());
}

// Whether a row matches all words; `marks` is how rows show now.
export function rowFilter(report: Report, marks: ArrayLike<number>, text: string): (row: number) => boolean {
  const words = parseFilter(text);
  if (words.length === 0) return () => true;
  const textsOf = (row: number, field: string): string[] => {
    switch (field) {
      case "type":
        return [report.text("row.target.type", row), report.text("row.golden.type", row)];
      case "reason":
        return report.reasons(row);
      case "slot":
        return [report.slot(row)];
      case "verdict":
        return [kMarks[marks[row]].key, kMarks[marks[row]].label, kMarks[marks[row]].verdict];
      case "golden":
        return [report.text("row.golden.operator", row)];
      case "op":
        return [report.name(row)];
      default:
        return [report.name(row), report.text("row.golden.operator", row), report.type(row)];
    }
  };
  return (row) => words.every(({ field, exclude, matches }) => textsOf(row, field).some(matches) !== exclude);
}

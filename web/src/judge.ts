// SPDX-License-Identifier: Apache-2.0
//
// What-if limits: how rows would show if some limits of the profile were others. Only limits that were
// moved are judged anew; everything else the program decided stays as it is. The page calls all of
// this hypothetical: the verdict of the run is the program's.
import type { Limit } from "./data.ts";
import { Mark, type Report } from "./report.ts";
import { number } from "./text.ts";

// Moved limits by key, see keyOf.
export type Moved = ReadonlyMap<string, number>;
export const keyOf = (limit: Pick<Limit, "metric" | "dtype">): string =>
  limit.dtype ? `${limit.dtype}.${limit.metric}` : limit.metric;

// A signal-to-noise ratio of 20 dB is a relative error of 0.1.
export const errorAtRatio = (decibels: number): number => 10 ** (-decibels / 20);

export function holds(operation: string, bound: number, value: number): boolean {
  switch (operation) {
    case ">=":
      return value >= bound;
    case ">":
      return value > bound;
    case "<=":
      return value <= bound;
    case "<":
      return value < bound;
    default:
      return Math.abs(value - 1) <= bound; // within
  }
}

// Within a factor of two of a limit that holds; 6 dB for decibels.
export function isNear(limit: Limit, bound: number, value: number): boolean {
  if (limit.operation === "within") return Math.abs(value - 1) > bound / 2;
  if (limit.operation.startsWith("<")) return value > bound / 2;
  if (limit.metric.endsWith("_db")) return value < bound + 6.02;
  return bound < 1 ? 1 - value > (1 - bound) / 2 : value < bound;
}

const kWide = new Set(["float32", "float64", "double", "float"]);
const kWhole = /^(u?int\d+|bool)$/;

// The tables of a profile that may have judged a row, the most probable first: by the types that the
// row records. What a dump widened to float32 is judged by the narrower type's table.
function tablesFor(target: string, golden: string): (string | null)[] {
  if (kWhole.test(target) && kWhole.test(golden)) return ["integer", null];
  const tables: (string | null)[] = [];
  const types = [target, golden];
  if (types.includes("bfloat16")) tables.push("bfloat16");
  if (types.includes("float16")) tables.push("float16");
  if (types.every((type) => kWide.has(type))) tables.push("float32", "float16", "bfloat16");
  return [...tables, null];
}

// The limits that a row was judged by. Of the tables that its types allow the first that agrees with
// what the row says about its broken limits.
export class Limits {
  readonly all: Limit[];
  private readonly tables = new Map<string | null, Limit[]>();
  private readonly byTypes = new Map<string, Limit[][]>();
  private readonly values = new Map<string, ArrayLike<number>>();

  constructor(private readonly report: Report) {
    this.all = report.head.profile.limits;
    for (const limit of this.all) {
      const table = limit.dtype ?? null;
      this.tables.set(table, [...(this.tables.get(table) ?? []), limit]);
      this.values.set(limit.metric, report.metric(limit.metric));
    }
  }

  of(row: number): Limit[] {
    const target = this.report.text("row.target.dtype", row);
    const golden = this.report.text("row.golden.dtype", row);
    const key = `${target}|${golden}`;
    let choices = this.byTypes.get(key);
    if (!choices) {
      choices = [];
      for (const table of tablesFor(target, golden)) {
        const limits = this.tables.get(table);
        if (limits) choices.push(limits);
      }
      this.byTypes.set(key, choices);
    }
    const limits = choices.length > 1 ? (choices.find((each) => this.agrees(row, each)) ?? choices[0]) : choices[0];
    const outputs = this.report.output[row] ? this.tables.get("output") : undefined;
    return outputs ? [...(limits ?? []), ...outputs] : (limits ?? []);
  }

  // All limits on one metric that some of the rows were judged by.
  on(metric: string, rows: ArrayLike<number>): Limit[] {
    const wanted = this.all.filter((limit) => limit.metric === metric);
    if (wanted.length <= 1) return wanted;
    const used = new Set<Limit>();
    for (let i = 0; i < rows.length && used.size < wanted.length; i++) {
      if (this.report.verdict[rows[i]] === 3) continue;
      for (const limit of this.of(rows[i])) if (limit.metric === metric) used.add(limit);
    }
    return wanted.filter((limit) => used.has(limit));
  }

  value(metric: string, row: number): number {
    return this.values.get(metric)?.[row] ?? NaN;
  }

  private agrees(row: number, limits: Limit[]): boolean {
    const reasons = this.report.text("row.reasons", row);
    return limits.every((limit) => {
      const value = this.value(limit.metric, row);
      if (Number.isNaN(value)) return true;
      return holds(limit.operation, limit.value, value) !== reasons.includes(`limit:${limit.metric}`);
    });
  }
}

// How every row shows under the moved limits.
export function marksUnder(report: Report, limits: Limits, moved: Moved): Uint8Array {
  const marks = new Uint8Array(report.rows);
  for (let row = 0; row < report.rows; row++) {
    const mark = report.mark(row);
    marks[row] = moved.size === 0 || mark === Mark.absent ? mark : markUnder(report, limits, moved, row, mark);
  }
  return marks;
}

function markUnder(report: Report, limits: Limits, moved: Moved, row: number, mark: Mark): Mark {
  const judged = limits.of(row).filter((limit) => moved.has(keyOf(limit)));
  if (judged.length === 0) return mark;
  let near = false;
  for (const limit of judged) {
    const bound = moved.get(keyOf(limit))!;
    const value = limits.value(limit.metric, row);
    if (Number.isNaN(value)) continue;
    if (!holds(limit.operation, bound, value)) return Mark.fail;
    near ||= isNear(limit, bound, value);
  }
  const again = new Set(judged.map((limit) => `limit:${limit.metric}`));
  if (mark === Mark.fail && report.reasons(row).some((reason) => !again.has(reason))) return Mark.fail;
  if (mark === Mark.open) return mark;
  if (mark === Mark.near && report.reasons(row).length > 0) return mark;
  return near ? Mark.near : Mark.pass;
}

// A profile file with the moved limits in it.
export function tomlOf(report: Report, moved: Moved): string {
  const { name, limits } = report.head.profile;
  const lines = [
    "# SPDX-License-Identifier: Apache-2.0",
    `# Limits tried out on a report page: hypothetical until a run is judged by them (--profile FILE).`,
    `summary = "profile ${name.replace(/[^\w .-]/g, "_")} with ${moved.size} limits moved"`,
  ];
  const tables = [...new Set(limits.map((limit) => limit.dtype ?? null))];
  for (const table of tables) {
    lines.push("", table ? `[limits.${table}]` : "[limits]");
    for (const limit of limits) {
      if ((limit.dtype ?? null) !== table) continue;
      const bound = moved.get(keyOf(limit)) ?? limit.value;
      const note = moved.has(keyOf(limit)) ? `  # was ${number(limit.value)}` : "";
      lines.push(`${limit.metric} = "${limit.operation} ${bound}"${note}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

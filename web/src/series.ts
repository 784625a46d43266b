// SPDX-License-Identifier: Apache-2.0
//
// The numbers behind the plot: one value per row in order of execution, and the limits on the same
// scale. What has no number but a verdict (NaN, another shape) still gets a place.
import type { Limit } from "./data.ts";
import { errorAtRatio, keyOf } from "./judge.ts";
import type { Model } from "./model.ts";
import { Mark } from "./report.ts";
import { number } from "./text.ts";

export interface Line {
  key: string; // of the limit, for what-if; "" if it cannot be moved here
  label: string;
  bound: number; // on the scale of the plot
  start: number; // what the profile says, on the same scale
  limit: Limit;
}
export interface Series {
  metric: string;
  rows: Int32Array;
  values: Float64Array; // on the scale of the plot, never NaN where `placed`
  placed: Uint8Array; // 0: nothing to draw
  exact: boolean; // some have no error at all: they lie at the bottom of a log scale
  log: boolean;
  worseUp: boolean; // larger is worse
  low: number;
  high: number;
  worst: number; // place of the worst value, -1 if none
  lines: Line[];
}

// What the plot can show; the first that the report has is the start.
export function plottable(model: Model): string[] {
  const has = (name: string) => model.report.has(`metric.${name}`);
  const first = [has("rel_euclid") && "rel_euclid", has("sqnr_db") && "sqnr_db", has("cosine") && "one_minus_cosine"];
  const others = model.report.head.metrics
    .filter(({ name, better }) => better !== "none" && !["rel_euclid", "sqnr_db", "cosine"].includes(name) && has(name))
    .map(({ name }) => name);
  return [...first.filter((name) => name !== false), ...others];
}

const baseOf = (metric: string) => (metric === "one_minus_cosine" ? "cosine" : metric);
// From a value of the metric to the scale of the plot, and back.
export const onScale = (metric: string, value: number) => (metric === "one_minus_cosine" ? 1 - value : value);

export function betterOf(model: Model, metric: string): string {
  if (metric === "one_minus_cosine") return "lower";
  return model.report.head.metrics.find(({ name }) => name === metric)?.better ?? "lower";
}

export function seriesOf(model: Model, metric: string): Series {
  const rows = model.plotted();
  const column = model.report.metric(baseOf(metric));
  const better = betterOf(model, metric);
  const log = better === "lower";
  const worseUp = better !== "higher";
  const raw = Float64Array.from(rows, (row) => {
    const value = onScale(metric, column[row]);
    return metric === "one_minus_cosine" ? Math.max(0, value) : value;
  });
  const lines = linesOf(model, metric, rows);
  const [low, high] = rangeOf(raw, lines, log);
  const placed = new Uint8Array(rows.length);
  const values = new Float64Array(rows.length);
  let worst = -1;
  let exact = false;
  for (let i = 0; i < rows.length; i++) {
    const value = raw[i];
    const failed = model.marks[rows[i]] === Mark.fail;
    if (Number.isNaN(value) && !failed) continue;
    placed[i] = 1;
    exact ||= log && value === 0;
    values[i] = Number.isNaN(value) ? (worseUp ? high : low) : Math.min(high, Math.max(low, value));
    if (!Number.isNaN(value) && (worst < 0 || (worseUp ? value > raw[worst] : value < raw[worst]))) worst = i;
  }
  return { metric, rows, values, placed, exact, log, worseUp, low, high, worst, lines };
}

// Where only the signal-to-noise ratio is limited, this is where its limit lies.
function equivalentLines(model: Model, rows: Int32Array): Line[] {
  return model.limits.on("sqnr_db", rows).map((limit) => {
    const bound = errorAtRatio(model.moved.get(keyOf(limit)) ?? limit.value);
    return { key: "", bound, start: bound, limit, label: `${number(limit.value)} dB = ${number(bound)}` };
  });
}

function linesOf(model: Model, metric: string, rows: Int32Array): Line[] {
  const limits = model.limits.on(baseOf(metric), rows);
  if (limits.length === 0 && metric === "rel_euclid") return equivalentLines(model, rows);
  return limits.flatMap((limit) => {
    if (limit.operation === "within") return [];
    const key = keyOf(limit);
    const bound = onScale(metric, model.moved.get(key) ?? limit.value);
    const start = onScale(metric, limit.value);
    return [{ key, bound, start, limit, label: limit.dtype && limits.length > 1 ? limit.dtype : "limit" }];
  });
}

function rangeOf(values: Float64Array, lines: Line[], log: boolean): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  const take = (value: number) => {
    if (!Number.isFinite(value) || (log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  values.forEach(take);
  lines.forEach(({ start }) => take(start));
  // Limits that were moved stay in sight; inside the range they change nothing.
  const wide = (from: number, to: number): [number, number] => [
    Math.min(from, ...lines.map(({ bound }) => bound).filter((bound) => !log || bound > 0)),
    Math.max(to, ...lines.map(({ bound }) => bound)),
  ];
  if (low > high) return log ? wide(1e-6, 1) : wide(0, 1);
  if (log) return wide(10 ** Math.floor(Math.log10(low / 2)), 10 ** Math.ceil(Math.log10(high * 1.5)));
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return wide(low - room, high + room);
}

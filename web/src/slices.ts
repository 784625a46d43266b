// SPDX-License-Identifier: Apache-2.0
//
// Slices of a run: its steps, which are tokens or samples of some, and its ranks. What they are called,
// and where in the order of rows one ends and the next begins.
import type { Model } from "./model.ts";
import type { Report } from "./report.ts";
import { clean, shorten } from "./text.ts";

export function stepWord(report: Report): "sample" | "token" | "step" {
  const { samples, run } = report.head;
  if (samples && samples.length > 0) return "sample";
  return /torchair|ge-vs-fx|token/.test(run.scenario) ? "token" : "step";
}

export const titled = (word: string): string => word[0].toUpperCase() + word.slice(1);

export function stepName(report: Report, step: number, most = 28): string {
  return shorten(clean(report.head.samples?.[step] ?? `${stepWord(report)} ${step}`), most);
}

// "token 2, rank 1": what of it varies in the run, and is known of the row.
export const placeOf = (model: Model, row: number): string => partsOf(model, row).join(", ");

function partsOf(model: Model, row: number): string[] {
  const { report } = model;
  const parts: string[] = [];
  if (model.steps.length > 1 && report.step[row] >= 0) {
    const name = stepName(report, report.step[row]);
    const word = stepWord(report);
    parts.push(name.startsWith(word) ? name : `${word} ${name}`);
  }
  if (model.ranks.length > 1 && report.rank[row] >= 0) parts.push(`rank ${report.rank[row]}`);
  return parts;
}

// "tokens 3 to 5 of rank 1": the slices of some rows.
export function placesOf(model: Model, rows: number[]): string {
  const { report } = model;
  const stepsOf = new Map<number, Set<number>>();
  for (const row of rows)
    stepsOf.set(report.rank[row], (stepsOf.get(report.rank[row]) ?? new Set()).add(report.step[row]));
  const groups = new Map<string, number[]>(); // ranks by their steps in words
  for (const [rank, steps] of stepsOf) {
    const words = stepsInWords(model, [...steps].sort((a, b) => a - b));
    groups.set(words, [...(groups.get(words) ?? []), rank]);
  }
  const parts = [...groups].map(([steps, ranks]) => {
    const of = model.ranks.length > 1 && ranks[0] >= 0 ? ranged("rank", ranks) : "";
    return [steps, of].filter((word) => word !== "").join(" of ");
  });
  return parts.slice(0, 2).join("; ") + (parts.length > 2 ? ` and ${parts.length - 2} more` : "");
}

function stepsInWords(model: Model, steps: number[]): string {
  if (model.steps.length < 2 || steps[0] < 0) return "";
  const word = stepWord(model.report);
  if (steps.length === model.steps.length && steps.length > 1) return `all ${word}s`;
  if (!model.report.head.samples?.length) return ranged(word, steps);
  const names = steps.slice(0, 3).map((step) => stepName(model.report, step));
  return `${word}${steps.length > 1 ? "s" : ""} ${names.join(", ")}${steps.length > 3 ? ` and ${steps.length - 3} more` : ""}`;
}

// "rank 1", "ranks 0, 2", "ranks 3 to 7".
export function ranged(word: string, values: number[]): string {
  if (values.length === 1) return `${word} ${values[0]}`;
  const runs: [number, number][] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last && value === last[1] + 1) last[1] = value;
    else runs.push([value, value]);
  }
  const texts = runs.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a} to ${b}`));
  return `${word}s ${texts.slice(0, 4).join(", ")}${texts.length > 4 ? ", ..." : ""}`;
}

export interface Stretch {
  from: number; // places among the rows
  to: number;
  label: string; // "" where there is one slice only
  parts: string[]; // of the label: step and rank
}

// Rows in a row that belong to one slice.
export function stretchesOf(model: Model, rows: ArrayLike<number>): Stretch[] {
  const { step, rank } = model.report;
  const all: Stretch[] = [];
  for (let i = 0; i < rows.length; i++) {
    const isNew = i === 0 || step[rows[i]] !== step[rows[i - 1]] || rank[rows[i]] !== rank[rows[i - 1]];
    const parts = isNew ? partsOf(model, rows[i]) : [];
    if (isNew) all.push({ from: i, to: i, label: parts.join(", "), parts });
    all[all.length - 1].to = i;
  }
  return all.length > 1 ? all : all.map((one) => ({ ...one, label: "", parts: [] }));
}

// Neighbours that share a part of their names, as one.
export function runsOf(stretches: Stretch[], part: number): { from: number; to: number; text: string }[] {
  const runs: { from: number; to: number; text: string }[] = [];
  for (const { from, to, parts } of stretches) {
    const text = parts[part] ?? "";
    if (runs.length === 0 || runs[runs.length - 1].text !== text) runs.push({ from, to, text });
    runs[runs.length - 1].to = to;
  }
  return runs;
}

// Which part of the names changes less often: 0 or 1.
export const slowPart = (stretches: Stretch[]): number =>
  runsOf(stretches, 0).length < runsOf(stretches, 1).length ? 0 : 1;

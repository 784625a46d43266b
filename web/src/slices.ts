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
export function placeOf(model: Model, row: number): string {
  const { report } = model;
  const parts: string[] = [];
  if (model.steps.length > 1 && report.step[row] >= 0) {
    const name = stepName(report, report.step[row]);
    const word = stepWord(report);
    parts.push(name.startsWith(word) ? name : `${word} ${name}`);
  }
  if (model.ranks.length > 1 && report.rank[row] >= 0) parts.push(`rank ${report.rank[row]}`);
  return parts.join(", ");
}

export interface Stretch {
  from: number; // places among the rows
  to: number;
  label: string; // "" where there is one slice only
}

// Rows in a row that belong to one slice.
export function stretchesOf(model: Model, rows: ArrayLike<number>): Stretch[] {
  const { step, rank } = model.report;
  const all: Stretch[] = [];
  for (let i = 0; i < rows.length; i++) {
    const isNew = i === 0 || step[rows[i]] !== step[rows[i - 1]] || rank[rows[i]] !== rank[rows[i - 1]];
    if (isNew) all.push({ from: i, to: i, label: placeOf(model, rows[i]) });
    all[all.length - 1].to = i;
  }
  return all.length > 1 ? all : all.map((one) => ({ ...one, label: "" }));
}

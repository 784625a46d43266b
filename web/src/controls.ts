// SPDX-License-Identifier: Apache-2.0
//
// What keys and buttons do beyond single parts: from failure to failure, from slice to slice, to the
// culprit.
import { byId } from "./dom.ts";
import type { GraphView } from "./graph.ts";
import type { Action } from "./keys.ts";
import type { Model } from "./model.ts";
import { kMarks } from "./report.ts";
import type { View } from "./state.ts";
import { clean, shorten } from "./text.ts";
import { toggleTheme } from "./theme.ts";
import { culpritOf } from "./words.ts";

function goToFailure(model: Model, by: 1 | -1): void {
  const rows = model.failures();
  if (rows.length === 0) return;
  const now = model.selected();
  const after = by > 0 ? rows.find((row) => row > now) : rows.findLast((row) => row < now && now >= 0);
  model.select(after ?? (by > 0 ? rows[0] : rows[rows.length - 1]));
}

function moveSlice(model: Model, key: "step" | "rank", by: number): void {
  const values = key === "step" ? model.steps : model.ranks;
  if (values.length < 2) return;
  const now = model.state.view[key];
  const next = Math.min(values.length - 1, Math.max(-1, (now === null ? -1 : values.indexOf(now)) + by));
  model.state.set({ [key]: next < 0 ? null : values[next] });
}

function showCulprit(model: Model, graph: GraphView | null): void {
  const culprit = culpritOf(model.report.head);
  const rows = culprit?.operator ? model.report.rowsOf(culprit.operator) : [];
  if (rows.length > 0) model.select(model.worstOf(rows));
  graph?.showCulprit();
}

// Every key that works everywhere, as the help lists them.
export function actionsOf(model: Model, graph: GraphView | null): Action[] {
  const { state, report } = model;
  const pane = (name: View["pane"]) => graph && state.set({ pane: name });
  return [
    { keys: ["n"], shown: "n", what: "next failure", run: () => goToFailure(model, 1) },
    { keys: ["p"], shown: "p", what: "previous failure", run: () => goToFailure(model, -1) },
    { keys: ["c"], shown: "c", what: "the operator to blame", run: () => showCulprit(model, graph) },
    {
      keys: ["t"],
      shown: "t",
      what: "trace the error of the selected operator to its origin",
      run: () => state.set({ trace: !state.view.trace }),
    },
    { keys: ["/", "f"], shown: "/ f", what: "filter rows and operators", run: () => byId("filter").focus() },
    { keys: ["0"], shown: "0", what: "whole graph", run: () => graph?.fit() },
    { keys: ["1"], shown: "1", what: "graph and table", run: () => pane("split") },
    { keys: ["2"], shown: "2", what: "graph alone", run: () => pane("graph") },
    { keys: ["3"], shown: "3", what: "table alone", run: () => pane("table") },
    { keys: ["w"], shown: "w", what: "Why: the findings", run: () => state.set({ tab: "findings" }) },
    { keys: ["o"], shown: "o", what: "operator", run: () => state.set({ tab: "operator" }) },
    { keys: ["["], shown: "[", what: "previous step, token or sample", run: () => moveSlice(model, "step", -1) },
    { keys: ["]"], shown: "]", what: "next step, token or sample", run: () => moveSlice(model, "step", 1) },
    { keys: ["{"], shown: "{", what: "previous rank", run: () => moveSlice(model, "rank", -1) },
    { keys: ["}"], shown: "}", what: "next rank", run: () => moveSlice(model, "rank", 1) },
    {
      keys: ["d"],
      shown: "d",
      what: "colour by change against the baseline",
      run: () => report.head.baseline && state.set({ diff: !state.view.diff }),
    },
    { keys: ["T"], shown: "T", what: "dark or light", run: () => toggleTheme(state) },
    { keys: ["Escape"], shown: "Esc", what: "select nothing", run: () => model.select(-1) },
  ];
}

export function wireButtons(model: Model, graph: GraphView | null): void {
  const { state } = model;
  byId("tab-findings").addEventListener("click", () => state.set({ tab: "findings" }));
  byId("tab-operator").addEventListener("click", () => state.set({ tab: "operator" }));
  const click = (id: string, run: () => void) => document.getElementById(id)?.addEventListener("click", run);
  click("next", () => goToFailure(model, 1));
  click("previous", () => goToFailure(model, -1));
  click("to-culprit", () => showCulprit(model, graph));
  const failures = model.failures().length > 0;
  for (const id of ["next", "previous"]) document.getElementById(id)?.classList.toggle("hidden", !failures);
  document.getElementById("to-culprit")?.classList.toggle(
    "hidden",
    model.report.head.findings.every(({ operator }) => !operator),
  );
  for (const button of document.querySelectorAll<HTMLElement>("#pane button"))
    button.addEventListener("click", () => state.set({ pane: button.dataset.value as View["pane"] }));
  const depth = document.getElementById("depth") as HTMLSelectElement | null;
  if (depth) depth.value = String(Math.min(state.view.graph, model.report.graphs.length - 1));
  depth?.addEventListener("change", () => state.set({ graph: Number(depth.value) }));
}

// For screen readers.
export function announce(model: Model): void {
  const row = model.selected();
  byId("announce").textContent =
    row < 0 ? "nothing selected" : `${shorten(clean(model.report.name(row)), 120)}: ${kMarks[model.marks[row]].label}`;
}

// SPDX-License-Identifier: Apache-2.0
//
// Puts the page together: unpack, build the parts, connect them.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { load } from "./data.ts";
import { byId, h } from "./dom.ts";
import { drawFindings } from "./findings.ts";
import { GraphView } from "./graph.ts";
import { drawHeadline, markBadge } from "./headline.ts";
import { type Action, Keys } from "./keys.ts";
import { Model } from "./model.ts";
import { Panel } from "./panel.ts";
import { Plot } from "./plot.ts";
import { kChanges, kMarks, Report } from "./report.ts";
import { drawScrubbers } from "./scrub.ts";
import { State } from "./state.ts";
import { Table } from "./table.ts";
import { clean, shorten } from "./text.ts";
import { toggleTheme, watchTheme } from "./theme.ts";
import { drawWhatIf } from "./whatif.ts";
import { culpritOf } from "./words.ts";

function skeleton(hasGraph: boolean, depths: string[]): void {
  const segments = (id: string, items: [string, string][]) =>
    h("span", { class: "segments", role: "group", id }, ...items.map(([key, label]) => h("button", { type: "button", "data-value": key }, label)));
  const depth = h("select", { id: "depth", "aria-label": "how far the graph is collapsed" }, ...depths.map((label, i) => h("option", { value: i }, clean(label))));
  byId("app").replaceChildren(
    h("header", { id: "headline", class: "card" }),
    h("main", { id: "main" }, h("div", { id: "scrub", class: "card", role: "group", "aria-label": "slices" }),
    h("div", { id: "work" },
      h("section", { id: "plot-card", class: "card", "aria-labelledby": "plot-title" },
        h("div", { class: "tools", id: "plot-tools" }, h("h2", { id: "plot-title" }, "Error along the network")),
        h("div", { id: "plot" }),
        h("div", { class: "hypothetical hidden", role: "status" })),
      hasGraph && h("section", { id: "graph-card", class: "card", "aria-labelledby": "graph-title" },
        h("div", { class: "tools" }, h("h2", { id: "graph-title" }, "Graph"), depths.length > 1 ? depth : null,
          h("button", { type: "button", id: "previous", title: "p" }, "◀ fail"), h("button", { type: "button", id: "next", title: "n" }, "fail ▶"),
          h("button", { type: "button", id: "to-culprit", title: "c" }, "▼ culprit"),
          h("div", { class: "legend" }),
          h("span", { class: "push" }, segments("pane", [["split", "both"], ["graph", "graph"], ["table", "table"]]))),
        h("div", { id: "graph" })),
      h("section", { id: "table-card", class: "card", "aria-labelledby": "table-title" },
        h("div", { id: "filters" }, h("h2", { id: "table-title", class: "tools-title", style: "font-size:var(--t-m)" }, "Rows"),
          h("input", { id: "filter", type: "search", placeholder: "filter: conv*  -pool  type:MatMul   ( / )", "aria-label": "filter rows", spellcheck: "false", autocomplete: "off" }),
          h("span", { class: "chips", role: "group", "aria-label": "verdicts shown" }), h("span", { id: "count", class: "muted", role: "status" }),
          h("button", { type: "button", id: "columns" }, "all columns")),
        h("div", { id: "table" })))),
    h("aside", { id: "side", class: "card", "aria-label": "findings and operator" },
      h("div", { class: "tabs", role: "tablist" },
        h("button", { type: "button", role: "tab", id: "tab-findings", "aria-controls": "findings" }, "Why"),
        h("button", { type: "button", role: "tab", id: "tab-operator", "aria-controls": "panel" }, "Operator")),
      h("div", { class: "tab", id: "findings", role: "tabpanel", "aria-labelledby": "tab-findings" }),
      h("div", { class: "tab", id: "panel", role: "tabpanel", "aria-labelledby": "tab-operator" })),
    h("div", { id: "announce", class: "off-screen", role: "status", "aria-live": "polite" }),
  ); // prettier-ignore
}

function drawLegend(model: Model): void {
  const legend = document.querySelector<HTMLElement>(".legend")!;
  const update = () => {
    const words = model.state.view.diff
      ? kChanges.slice(1).map(({ key, glyph, label }) => h("span", {}, h("span", { class: `change ${key}` }, glyph), label))
      : [2, 1, 0, 4, 3].map((mark) => h("span", {}, markBadge(mark, false), mark === 1 ? "near limit" : kMarks[mark].label));
    legend.replaceChildren(...words);
    legend.title = "The thicker an edge, the more error it carries. Bursts introduce error; pale red inherits it.";
  };
  update();
  model.state.listen((changed) => changed.has("diff") && update());
}

function zoomers(graph: HTMLElement, view: GraphView): void {
  const button = (text: string, label: string, run: () => void) => h("button", { type: "button", "aria-label": label, title: label, onclick: run }, text);
  graph.append(h("div", { class: "zoomers" }, button("+", "zoom in", () => view.zoomBy(1.4)), button("−", "zoom out", () => view.zoomBy(1 / 1.4)), button("⤢", "whole graph (0)", () => view.fit())));
}

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

async function start(): Promise<void> {
  const report = new Report(await load());
  const state = new State(location.hash);
  const model = new Model(report, state);
  const hasGraph = report.graphs.length > 0 && report.graphs[0].nodes > 0;
  skeleton(hasGraph, report.graphs.map(({ head }) => head.label));
  document.title = `${report.head.summary.verdict.replace("_", " ")} · ${shorten(clean(report.head.run.target.path), 40)} · plumb`;

  const parts: { repaint(): void }[] = [];
  watchTheme(state, () => parts.forEach((part) => part.repaint()));

  const helpButton = h("button", { type: "button", id: "help-button", "aria-label": "keys and help" }, "?");
  const themeButton = h("button", { type: "button", id: "theme", "aria-label": "dark or light", onclick: () => toggleTheme(state) }, "◐");
  drawHeadline(byId("headline"), model, h("span", { class: "push" }, themeButton, helpButton));
  const scrubbers = drawScrubbers(byId("scrub"), model);

  const work = byId("work");
  work.classList.toggle("no-graph", !hasGraph);
  const applyPane = () => {
    if (hasGraph) work.className = state.view.pane;
    for (const button of document.querySelectorAll<HTMLElement>("#pane button")) button.setAttribute("aria-pressed", String(button.dataset.value === state.view.pane));
  };
  applyPane();

  const table = new Table(byId("table"), model, {
    filter: byId<HTMLInputElement>("filter"), chips: document.querySelector<HTMLElement>(".chips")!, count: byId("count"), columns: byId("columns"),
  }); // prettier-ignore
  const plot = new Plot(byId("plot"), model, byId("plot-tools"));
  drawWhatIf(document.querySelector<HTMLElement>(".hypothetical")!, model);
  let graph: GraphView | null = null;
  if (hasGraph) {
    graph = new GraphView(byId("graph"), model, () => table.filter());
    drawLegend(model);
    zoomers(byId("graph"), graph);
  }
  const panel = new Panel(byId("panel"), model, () => graph?.trace ?? null);
  parts.push(plot, { repaint: () => scrubbers.update() }, { repaint: () => panel.draw() });
  if (graph) parts.push(graph);

  const drawSide = () => {
    for (const tab of ["findings", "operator"] as const) {
      byId(`tab-${tab}`).setAttribute("aria-selected", String(state.view.tab === tab));
      byId(tab === "findings" ? "findings" : "panel").classList.toggle("hidden", state.view.tab !== tab);
    }
  };
  drawFindings(byId("findings"), model);
  panel.draw();
  drawSide();
  scrubbers.update();

  state.listen((changed) => {
    if (changed.has("pane")) applyPane();
    if (changed.has("tab")) drawSide();
    if (["op", "slot", "step", "rank", "limits", "trace", "graph"].some((key) => changed.has(key as never))) panel.draw();
    if (["step", "rank", "diff", "limits"].some((key) => changed.has(key as never))) drawFindings(byId("findings"), model);
    if (["step", "rank", "limits"].some((key) => changed.has(key as never))) scrubbers.update();
    if (changed.has("op") || changed.has("step") || changed.has("rank")) announce(model);
    if (changed.has("op")) byId("panel").scrollTop = 0;
    // On a narrow page the panel is elsewhere.
    if (changed.has("op") && state.view.op !== "" && matchMedia("(max-width: 959px), (max-height: 599px)").matches) byId("side").scrollIntoView({ block: "start" });
    const depth = document.getElementById("depth") as HTMLSelectElement | null;
    if (depth) depth.value = String(Math.min(state.view.graph, report.graphs.length - 1));
  });

  const pane = (name: "split" | "graph" | "table") => hasGraph && state.set({ pane: name });
  const actions: Action[] = [
    { keys: ["n"], shown: "n", what: "next failure", run: () => goToFailure(model, 1) },
    { keys: ["p"], shown: "p", what: "previous failure", run: () => goToFailure(model, -1) },
    { keys: ["c"], shown: "c", what: "the operator to blame", run: () => showCulprit(model, graph) },
    { keys: ["t"], shown: "t", what: "trace the error of the selected operator to its origin", run: () => state.set({ trace: !state.view.trace }) },
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
    { keys: ["d"], shown: "d", what: "colour by change against the baseline", run: () => report.head.baseline && state.set({ diff: !state.view.diff }) },
    { keys: ["T"], shown: "T", what: "dark or light", run: () => toggleTheme(state) },
    { keys: ["Escape"], shown: "Esc", what: "select nothing", run: () => model.select(-1) },
  ];
  const keys = new Keys(actions);
  helpButton.addEventListener("click", () => keys.help());
  wireButtons(model, graph);
  addEventListener("hashchange", () => state.readAddress());
  addEventListener("beforeprint", () => table.drawAll(1000));
  addEventListener("afterprint", () => state.set({ q: state.view.q }));
  requestAnimationFrame(() => requestAnimationFrame(() => (document.body.dataset.ready = String(Math.round(performance.now())))));
  Object.assign(window, { plumb: { model, graph, plot, table } });
}

function showCulprit(model: Model, graph: GraphView | null): void {
  const culprit = culpritOf(model.report.head);
  const rows = culprit?.operator ? model.report.rowsOf(culprit.operator) : [];
  if (rows.length > 0) model.select(model.worstOf(rows));
  graph?.showCulprit();
}

function wireButtons(model: Model, graph: GraphView | null): void {
  const { state } = model;
  byId("tab-findings").addEventListener("click", () => state.set({ tab: "findings" }));
  byId("tab-operator").addEventListener("click", () => state.set({ tab: "operator" }));
  const click = (id: string, run: () => void) => document.getElementById(id)?.addEventListener("click", run);
  click("next", () => goToFailure(model, 1));
  click("previous", () => goToFailure(model, -1));
  click("to-culprit", () => showCulprit(model, graph));
  const failures = model.failures().length > 0;
  for (const id of ["next", "previous"]) document.getElementById(id)?.classList.toggle("hidden", !failures);
  document.getElementById("to-culprit")?.classList.toggle("hidden", model.report.head.findings.every(({ operator }) => !operator));
  for (const button of document.querySelectorAll<HTMLElement>("#pane button"))
    button.addEventListener("click", () => state.set({ pane: button.dataset.value as "split" | "graph" | "table" }));
  const depth = document.getElementById("depth") as HTMLSelectElement | null;
  if (depth) depth.value = String(Math.min(state.view.graph, model.report.graphs.length - 1));
  depth?.addEventListener("change", () => state.set({ graph: Number(depth.value) }));
}

function announce(model: Model): void {
  const row = model.selected();
  byId("announce").textContent = row < 0 ? "nothing selected" : `${shorten(clean(model.report.name(row)), 120)}: ${kMarks[model.marks[row]].label}`;
}

start().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  byId("app").replaceChildren(h("p", { id: "loading", role: "alert" }, `This report cannot be shown: ${text}`));
  console.error(error);
});

// SPDX-License-Identifier: Apache-2.0
//
// Puts the page together: unpack, build the parts, connect them.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { actionsOf, announce, wireButtons } from "./controls.ts";
import { load } from "./data.ts";
import { byId, h } from "./dom.ts";
import { drawFindings } from "./findings.ts";
import { drawFrame, drawLegend, drawZoomers } from "./frame.ts";
import { GraphView } from "./graph.ts";
import { drawHeadline } from "./headline.ts";
import { Keys } from "./keys.ts";
import { Model } from "./model.ts";
import { Panel } from "./panel.ts";
import { Plot } from "./plot.ts";
import { Report } from "./report.ts";
import { drawScrubbers } from "./scrub.ts";
import { State, type View } from "./state.ts";
import { Table } from "./table.ts";
import { clean, shorten } from "./text.ts";
import { toggleTheme, watchTheme } from "./theme.ts";
import { drawWhatIf } from "./whatif.ts";

const kNarrow = "(max-width: 959px), (max-height: 599px)"; // as in style.css

interface Parts {
  table: Table;
  plot: Plot;
  graph: GraphView | null;
  panel: Panel;
  scrubbers: { update(): void };
}

function build(model: Model, hasGraph: boolean): Parts {
  const table = new Table(byId("table"), model, {
    filter: byId<HTMLInputElement>("filter"),
    chips: document.querySelector<HTMLElement>(".chips")!,
    count: byId("count"),
    columns: byId("columns"),
  });
  const plot = new Plot(byId("plot"), model, byId("plot-tools"));
  drawWhatIf(document.querySelector<HTMLElement>(".hypothetical")!, model);
  let graph: GraphView | null = null;
  if (hasGraph) {
    const [stage, strip] = byId("graph").children as HTMLCollectionOf<HTMLElement>;
    graph = new GraphView(stage, strip, model, () => table.filter());
    drawLegend(model);
    drawZoomers(strip, graph);
  }
  const panel = new Panel(byId("panel"), model, () => graph?.trace ?? null);
  return { table, plot, graph, panel, scrubbers: drawScrubbers(byId("scrub"), model) };
}

// Which of graph and table is seen, and which tab at the right.
function applyView(view: Readonly<View>, hasGraph: boolean): void {
  byId("work").className = hasGraph ? view.pane : "no-graph";
  for (const button of document.querySelectorAll<HTMLElement>("#pane button"))
    button.setAttribute("aria-pressed", String(button.dataset.value === view.pane));
  for (const tab of ["findings", "operator"] as const) {
    byId(`tab-${tab}`).setAttribute("aria-selected", String(view.tab === tab));
    byId(tab === "findings" ? "findings" : "panel").classList.toggle("hidden", view.tab !== tab);
  }
}

// Parts that do not listen themselves are drawn anew where the view changed.
function connect(model: Model, { panel, scrubbers }: Parts, hasGraph: boolean): void {
  const { state, report } = model;
  state.listen((changed) => {
    const any = (...keys: (keyof View)[]) => keys.some((key) => changed.has(key));
    if (any("pane", "tab")) applyView(state.view, hasGraph);
    if (any("op", "slot", "row", "step", "rank", "limits", "trace", "graph")) panel.draw();
    if (any("step", "rank", "diff", "limits")) drawFindings(byId("findings"), model);
    if (any("step", "rank", "limits")) scrubbers.update();
    if (any("op", "step", "rank")) announce(model);
    if (any("op")) byId("panel").scrollTop = 0;
    // On a narrow page the panel is elsewhere.
    if (any("op") && state.view.op !== "" && matchMedia(kNarrow).matches)
      byId("side").scrollIntoView({ block: "start" });
    const depth = document.getElementById("depth") as HTMLSelectElement | null;
    if (depth) depth.value = String(Math.min(state.view.graph, report.graphs.length - 1));
  });
}

async function start(): Promise<void> {
  const report = new Report(await load());
  const state = new State(location.hash);
  const model = new Model(report, state);
  const hasGraph = report.graphs.length > 0 && report.graphs[0].nodes > 0;
  const labels = report.graphs.map(({ head }) => head.label);
  drawFrame(hasGraph, labels);
  const { summary, run } = report.head;
  document.title = `${summary.verdict.replace("_", " ")} · ${shorten(clean(run.target.path), 40)} · plumb`;

  const painted: { repaint(): void }[] = [];
  watchTheme(state, () => painted.forEach((part) => part.repaint()));
  const button = (id: string, label: string, text: string, onclick: () => void) =>
    h("button", { type: "button", id, "aria-label": label, onclick }, text);
  const theme = button("theme", "dark or light", "◐", () => toggleTheme(state));
  const help = button("help-button", "keys and help", "?", () => keys.help());
  drawHeadline(byId("headline"), model, h("span", { class: "push" }, theme, help));
  applyView(state.view, hasGraph);

  const parts = build(model, hasGraph);
  const { table, plot, graph, panel, scrubbers } = parts;
  painted.push(plot, { repaint: () => scrubbers.update() }, { repaint: () => panel.draw() });
  if (graph) painted.push(graph);
  drawFindings(byId("findings"), model);
  panel.draw();
  scrubbers.update();
  connect(model, parts, hasGraph);

  const keys = new Keys(actionsOf(model, graph));
  wireButtons(model, graph);
  addEventListener("hashchange", () => state.readAddress());
  addEventListener("beforeprint", () => {
    document.body.classList.add("printing");
    plot.resize();
    graph?.print();
    table.print(400);
    for (const folded of byId("findings").querySelectorAll("details")) folded.open = true;
  });
  addEventListener("afterprint", () => document.body.classList.remove("printing"));
  const ready = () => (document.body.dataset.ready = String(Math.round(performance.now())));
  requestAnimationFrame(() => requestAnimationFrame(ready));
  Object.assign(window, { plumb: { model, graph, plot, table } }); // for tests, and for the curious
}

start().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  byId("app").replaceChildren(h("p", { id: "loading", role: "alert" }, `This report cannot be shown: ${text}`));
  console.error(error);
});

// SPDX-License-Identifier: Apache-2.0
//
// The frame of the page: its parts in order, still empty, and the small furniture of the graph.
import { byId, h } from "./dom.ts";
import type { GraphView } from "./graph.ts";
import { markBadge } from "./headline.ts";
import type { Model } from "./model.ts";
import { kChanges, kMarks } from "./report.ts";
import { clean } from "./text.ts";

export function drawFrame(hasGraph: boolean, depths: string[]): void {
  const segments = (id: string, items: [string, string][]) =>
    h(
      "span",
      { class: "segments", role: "group", id },
      ...items.map(([key, label]) => h("button", { type: "button", "data-value": key }, label)),
    );
  const depth = h(
    "select",
    { id: "depth", "aria-label": "how far the graph is collapsed" },
    ...depths.map((label, i) => h("option", { value: i }, clean(label))),
  );
  byId("app").replaceChildren(
    h("header", { id: "headline", class: "card" }),
    h(
      "main",
      { id: "main" },
      h("div", { id: "scrub", class: "card", role: "group", "aria-label": "slices" }),
      h(
        "div",
        { id: "work" },
        h(
          "section",
          { id: "plot-card", class: "card", "aria-labelledby": "plot-title" },
          h("div", { class: "tools", id: "plot-tools" }, h("h2", { id: "plot-title" }, "Error along the network")),
          h("div", { id: "plot" }),
          h("div", { class: "hypothetical hidden", role: "status" }),
        ),
        hasGraph &&
          h(
            "section",
            { id: "graph-card", class: "card", "aria-labelledby": "graph-title" },
            h(
              "div",
              { class: "tools" },
              h("h2", { id: "graph-title" }, "Graph"),
              depths.length > 1 ? depth : null,
              h("button", { type: "button", id: "previous", title: "p" }, "◀ fail"),
              h("button", { type: "button", id: "next", title: "n" }, "fail ▶"),
              h("button", { type: "button", id: "to-culprit", title: "c" }, "▼ culprit"),
              h("div", { class: "legend" }),
              h(
                "span",
                { class: "push" },
                segments("pane", [
                  ["split", "both"],
                  ["graph", "graph"],
                  ["table", "table"],
                ]),
              ),
            ),
            h("div", { id: "graph" }, h("div", { class: "stage" }), h("div", { class: "strip" })),
          ),
        h(
          "section",
          { id: "table-card", class: "card", "aria-labelledby": "table-title" },
          h(
            "div",
            { id: "filters" },
            h("h2", { id: "table-title", class: "tools-title", style: "font-size:var(--t-m)" }, "Rows"),
            h("input", {
              id: "filter",
              type: "search",
              placeholder: "filter: conv*  -pool  type:MatMul",
              "aria-label": "filter rows",
              spellcheck: "false",
              autocomplete: "off",
            }),
            h("span", { class: "chips", role: "group", "aria-label": "verdicts shown" }),
            h("span", { id: "count", class: "muted", role: "status" }),
            h("button", { type: "button", id: "columns" }, "all columns"),
          ),
          h("div", { id: "table" }),
        ),
      ),
    ),
    h(
      "aside",
      { id: "side", class: "card", "aria-label": "findings and operator" },
      h(
        "div",
        { class: "tabs", role: "tablist" },
        h("button", { type: "button", role: "tab", id: "tab-findings", "aria-controls": "findings" }, "Why"),
        h("button", { type: "button", role: "tab", id: "tab-operator", "aria-controls": "panel" }, "Operator"),
      ),
      h("div", { class: "tab", id: "findings", role: "tabpanel", "aria-labelledby": "tab-findings" }),
      h("div", { class: "tab", id: "panel", role: "tabpanel", "aria-labelledby": "tab-operator" }),
    ),
    h("div", { id: "announce", class: "off-screen", role: "status", "aria-live": "polite" }),
  );
}

export function drawLegend(model: Model): void {
  const legend = document.querySelector<HTMLElement>(".legend")!;
  const update = () => {
    const words = model.state.view.diff
      ? kChanges
          .slice(1)
          .map(({ key, glyph, label }) => h("span", {}, h("span", { class: `change ${key}` }, glyph), label))
      : [2, 1, 0, 4, 3].map((mark) =>
          h("span", {}, markBadge(mark, false), mark === 1 ? "near limit" : kMarks[mark].label),
        );
    legend.replaceChildren(...words);
    legend.title = "The thicker an edge, the more error it carries. Bursts introduce error; what else fails is pale red.";
  };
  update();
  model.state.listen((changed) => changed.has("diff") && update());
}

export function drawZoomers(strip: HTMLElement, view: GraphView): void {
  const button = (text: string, label: string, run: () => void) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: run }, text);
  strip.prepend(
    h(
      "div",
      { class: "zoomers" },
      button("+", "zoom in", () => view.zoomBy(1.4)),
      button("−", "zoom out", () => view.zoomBy(1 / 1.4)),
      button("⤢", "whole graph (0)", () => view.fit()),
    ),
  );
}

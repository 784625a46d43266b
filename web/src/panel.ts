// SPDX-License-Identifier: Apache-2.0
//
// Everything about one operator: verdict and why, both sides beside each other, own and inherited
// error, numbers with their limits, and what the tensors look like.
import { channels, heatMap, histogram, worstElements } from "./charts.ts";
import type { Details } from "./data.ts";
import { h, named } from "./dom.ts";
import { commandLine, operatorButton, prose } from "./findings.ts";
import { markBadge } from "./headline.ts";
import { holds, keyOf } from "./judge.ts";
import type { Model, NodeStates } from "./model.ts";
import { type Graph, kChanges, kMarks, Mark } from "./report.ts";
import { drawRibbons, Partners } from "./ribbons.ts";
import { clean, number, plain, share, shellQuoted, shorten } from "./text.ts";
import type { Trace } from "./trace.ts";
import { causeOf } from "./words.ts";

const kMostSteps = 14; // of a path that are all listed, else the first and the last
const kFirstSteps = 4;
const kLastSteps = 5;
const kStatistics = ["min", "max", "mean", "std", "l2", "nan", "inf", "zeros"];

export class Panel {
  private shown = -1;
  private partners: Partners | null = null;

  constructor(
    private readonly place: HTMLElement,
    private readonly model: Model,
    private readonly trace: () => Trace | null,
  ) {}

  draw(): void {
    const row = this.model.selected();
    this.shown = row;
    const { op } = this.model.state.view;
    if (row < 0) {
      this.place.replaceChildren(op === "" ? this.nothing() : this.withoutRow(op));
      return;
    }
    const details = h(
      "div",
      { class: "details", style: "display:contents" },
      h("p", { class: "muted", role: "status" }, "Unpacking details…"),
    );
    this.place.replaceChildren(
      ...[
        this.head(row),
        this.rowChoice(row),
        this.story(row),
        this.traced(),
        this.sides(row),
        this.split(row),
        details,
        this.numbers(row),
        this.statistics(row),
      ].filter((part) => part !== null),
    );
    void this.model.report.details(row).then((found) => {
      if (this.shown === row) details.replaceChildren(...this.details(row, found));
      this.place.dataset.details = found ? "yes" : "no";
    });
  }

  private nothing(): HTMLElement {
    return h(
      "div",
      { class: "empty" },
      h("p", {}, "No operator is selected."),
      h(
        "p",
        {},
        "Click one in the plot, the graph or the table, or press ",
        h("kbd", {}, "n"),
        " for the next failure.",
      ),
    );
  }

  // An operator of the graph of which the result has no row.
  private withoutRow(op: string): HTMLElement {
    const graph = this.model.report.graphs[0];
    const known = graph && Array.from({ length: graph.nodes }, (_, i) => i).find((i) => graph.name(i) === op);
    return h(
      "div",
      { class: "op-head" },
      h("h2", {}, named(op, 90)),
      h(
        "p",
        { class: "muted" },
        known === undefined
          ? "The report has no operator of this name."
          : "The graph has this operator, but neither side has a tensor of it: nothing is known about its error.",
      ),
      known !== undefined && graph.origins(known) ? h("p", {}, "made from ", named(graph.origins(known), 200)) : null,
    );
  }

  private head(row: number): HTMLElement {
    const { report, marks, moved } = this.model;
    const name = report.name(row);
    const text = clean(name);
    const mark = marks[row];
    const hypothetical = moved.size > 0 && mark !== report.mark(row);
    const change = report.change[row];
    // The message tells of broken limits, with their numbers.
    const message = report.text("row.message", row);
    const reasons = report.reasons(row).filter((reason) => message === "" || !reason.startsWith("limit:"));
    return h(
      "div",
      { class: "op-head" },
      h("h2", { "data-op": name }, h("bdi", { class: "name", title: text }, shorten(text, 90))),
      text.length > 90
        ? h(
            "details",
            { class: "full" },
            h("summary", {}, `full name, ${text.length} characters`),
            h("bdi", { class: "name" }, text),
          )
        : null,
      h(
        "div",
        { class: "verdict-line" },
        markBadge(mark, false),
        h("b", {}, kMarks[mark].label),
        hypothetical ? h("span", { class: "reason" }, `hypothetical; judged: ${kMarks[report.mark(row)].label}`) : null,
        ...reasons.map((reason) => h("span", { class: "reason" }, clean(reason))),
        change > 0
          ? h(
              "span",
              { class: `change ${kChanges[change].key}` },
              `${kChanges[change].glyph} ${kChanges[change].label}`,
            )
          : null,
        report.output[row] ? h("span", { class: "reason" }, "output of the model") : null,
      ),
      h("p", { class: "message" }, clean(message)),
    );
  }

  // Other tensors of the same operator: its slots, and the steps of the slice.
  private rowChoice(row: number): HTMLElement | null {
    const { report } = this.model;
    const rows = report
      .rowsOf(report.name(row))
      .filter((other) => this.model.inSlice(other) && report.name(other) === report.name(row));
    const slots = [...new Map(rows.map((other) => [report.slot(other), other])).keys()];
    if (slots.length < 2) return null;
    return h(
      "div",
      { class: "row-choice", role: "group", "aria-label": "slots of the operator" },
      ...slots.map((slot) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(slot === report.slot(row)),
            onclick: () => this.model.state.set({ slot, row: null }),
          },
          clean(slot),
        ),
      ),
    );
  }

  // What the findings say of it, in words.
  private story(row: number): HTMLElement | null {
    const { report, state } = this.model;
    const name = report.name(row);
    const own = this.model.findingOf(name);
    const from = this.model.inheritsFrom(name);
    const trace = h(
      "button",
      {
        type: "button",
        id: "trace",
        "aria-pressed": String(state.view.trace),
        onclick: () => state.set({ trace: !state.view.trace }),
      },
      "trace to origin (t)",
    );
    const canTrace =
      report.graphs.length > 0 &&
      report.node[row] >= 0 &&
      this.model.marks[row] !== Mark.pass &&
      this.model.marks[row] !== Mark.absent;
    if (own)
      return h(
        "article",
        { class: "finding first" },
        h("h3", {}, "It introduces the error: ", h("span", { class: "cause" }, clean(causeOf(own)))),
        h("ol", { class: "evidence" }, ...own.evidence.map(({ text }) => h("li", {}, plain(text)))),
        own.advice ? prose(own.advice) : null,
        own.next ? commandLine(own.next, "the next command") : null,
      );
    if (from)
      return h(
        "article",
        { class: "finding" },
        h(
          "h3",
          {},
          "It inherits the error of ",
          from.operator ? operatorButton(this.model, from.operator) : "its inputs",
        ),
        h("p", { class: "muted" }, clean(causeOf(from))),
        canTrace ? trace : null,
      );
    const hint = report.text("row.hint", row);
    const stump = this.model.marks[row] === Mark.absent ? unpaired(report.reasons(row)) : "";
    if (!canTrace && !hint && !stump) return null;
    return h(
      "section",
      { class: "block" },
      stump ? h("p", {}, stump) : null,
      hint ? h("p", { class: "muted" }, clean(hint)) : null,
      canTrace ? trace : null,
    );
  }

  private traced(): HTMLElement | null {
    const trace = this.model.state.view.trace ? this.trace() : null;
    if (!trace) return null;
    const graph = this.model.report.graphs[Math.min(this.model.state.view.graph, this.model.report.graphs.length - 1)];
    const states = this.model.nodes(this.model.report.graphs.indexOf(graph));
    const last = trace.nodes.length - 1;
    const hidden = trace.nodes.length > kMostSteps ? trace.nodes.length - kFirstSteps - kLastSteps : 0;
    return h(
      "section",
      { class: "block", id: "trace-path" },
      h("h3", {}, last === 0 ? "Origin" : `Path to the origin, ${last} ${last === 1 ? "step" : "steps"} up`),
      h(
        "ol",
        { class: "crumbs" },
        ...trace.nodes.flatMap((node, i) => {
          if (i === kFirstSteps && hidden > 0) return [h("li", { class: "muted" }, `⋮ ${hidden} more`)];
          if (i > kFirstSteps && i < kFirstSteps + hidden) return [];
          return [this.traceStep(graph, states, node, i === last && last > 0)];
        }),
      ),
      last === 0
        ? h("p", { class: "muted" }, "Its inputs carry no error worth following: what it shows starts here.")
        : null,
    );
  }

  private traceStep(graph: Graph, states: NodeStates, node: number, isOrigin: boolean): HTMLElement {
    const row = states.row[node];
    return h(
      "li",
      {},
      markBadge(states.mark[node], false),
      row >= 0 ? operatorButton(this.model, this.model.report.name(row), 40) : named(graph.name(node), 40),
      h("span", { class: "muted" }, Number.isNaN(states.error[node]) ? "" : number(states.error[node])),
      isOrigin ? h("b", {}, "origin") : null,
    );
  }

  private sides(row: number): HTMLElement {
    const { report } = this.model;
    const cells: HTMLElement[] = [
      h("span"),
      h("span", { class: "head" }, h("i", { class: "swatch target" }), "target"),
      h("span", { class: "head" }, h("i", { class: "swatch golden" }), "golden"),
    ];
    for (const [key, label] of [
      ["operator", "operator"],
      ["type", "type"],
      ["slot", "slot"],
      ["dtype", "dtype"],
      ["shape", "shape"],
      ["layout", "layout"],
      ["file", "file"],
    ]) {
      const [a, b] = [report.text(`row.target.${key}`, row), report.text(`row.golden.${key}`, row)];
      if (a === "" && b === "") continue;
      const differs = a !== "" && b !== "" && a !== b && ["dtype", "shape", "layout"].includes(key) ? "differs" : "";
      const one = (text: string, there: boolean) =>
        h(
          "span",
          { class: differs },
          text === "" ? h("span", { class: "muted" }, there ? "not recorded" : "–") : named(text, 120),
        );
      cells.push(
        h("span", { class: "key" }, label),
        one(a, report.numbers("row.has_target", report.rows, 1)[row] === 1),
        one(b, report.numbers("row.has_golden", report.rows, 1)[row] === 1),
      );
    }
    const [target, golden] = [report.text("row.target.operator", row), report.text("row.golden.operator", row)];
    this.partners ??= new Partners(report);
    const bundle = this.partners.around(target, golden);
    const rule = report.text("row.pairing", row);
    const evidence = report.text("row.evidence", row);
    return h(
      "section",
      { class: "block" },
      h("h3", {}, "Both sides"),
      h("div", { class: "sides" }, ...cells),
      bundle ? drawRibbons(this.model, bundle, target, golden) : null,
      h(
        "p",
        { class: "muted" },
        rule ? `Paired by ${clean(rule)}${evidence ? `: ${clean(evidence)}` : ""}.` : "Not paired.",
      ),
    );
  }

  private split(row: number): HTMLElement | null {
    const { own, inherited, measured } = this.model.report;
    if (Number.isNaN(own[row])) return null;
    const parts = [own[row], Number.isNaN(inherited[row]) ? 0 : inherited[row]].map((v) =>
      Number.isFinite(v) ? Math.max(0, v) : 1,
    );
    const sum = parts[0] + parts[1];
    if (sum === 0) return null;
    return h(
      "section",
      { class: "block" },
      h("h3", {}, `Own and inherited error, ${measured[row] ? "measured by replay" : "estimated"}`),
      h(
        "div",
        { class: "split-bar" },
        h("i", { class: "own", style: `flex:${parts[0] / sum}`, title: "own" }),
        h("i", { class: "inherited", style: `flex:${parts[1] / sum}`, title: "inherited" }),
      ),
      h(
        "div",
        { class: "numbers" },
        h("span", {}, "own"),
        h("span", { class: "value" }, number(own[row])),
        h("span"),
        h("span", {}, "inherited"),
        h("span", { class: "value" }, number(inherited[row])),
        h("span"),
      ),
    );
  }

  // Numbers with a limit first, broken ones in red; then the others.
  private numbers(row: number): HTMLElement | null {
    const { report, limits, moved } = this.model;
    const judged = new Map(limits.of(row).map((limit) => [limit.metric, limit]));
    const sideWise = /^(target|golden)_/;
    const names = report.head.metrics
      .map(({ name }) => name)
      .filter((name) => report.has(`metric.${name}`) && !sideWise.test(name));
    names.sort((a, b) => Number(judged.has(b)) - Number(judged.has(a)));
    const cells = names.flatMap((name) => {
      const value = report.metric(name)[row];
      const why = report.text(`undefined.${name}`, row);
      if (Number.isNaN(value) && why === "") return [];
      const limit = judged.get(name);
      const bound = limit && (moved.get(keyOf(limit)) ?? limit.value);
      const broken = limit !== undefined && !Number.isNaN(value) && !holds(limit.operation, bound!, value);
      const shown = Number.isNaN(value) ? "–" : name === "cosine" || name === "pearson" ? share(value) : number(value);
      return [
        h(
          "span",
          { title: why ? clean(why) : null },
          name,
          why ? h("span", { class: "muted" }, ` ${shorten(clean(why), 40)}`) : null,
        ),
        h("span", { class: broken ? "value bad" : "value" }, `${broken ? "✕ " : ""}${shown}`),
        h(
          "span",
          { class: "value limit" },
          limit ? `${limit.operation} ${bound! < 1 ? share(bound!) : number(bound!)}` : "",
        ),
      ];
    });
    if (cells.length === 0) return null;
    return h(
      "section",
      { class: "block" },
      h("h3", {}, "Metrics, and their limits"),
      h("div", { class: "numbers" }, ...cells),
    );
  }

  private statistics(row: number): HTMLElement | null {
    const { report } = this.model;
    const cells: HTMLElement[] = [
      h("span"),
      h("span", { class: "head" }, "target"),
      h("span", { class: "head" }, "golden"),
    ];
    for (const what of kStatistics) {
      if (!report.has(`metric.target_${what}`) && !report.has(`metric.golden_${what}`)) continue;
      const [a, b] = [report.metric(`target_${what}`)[row], report.metric(`golden_${what}`)[row]];
      if (Number.isNaN(a) && Number.isNaN(b)) continue;
      cells.push(h("span", { class: "key" }, what), h("span", {}, number(a)), h("span", {}, number(b)));
    }
    if (cells.length === 3) return null;
    return h("section", { class: "block" }, h("h3", {}, "Statistics"), h("div", { class: "sides" }, ...cells));
  }

  private details(row: number, found: Details | null): HTMLElement[] {
    const { report } = this.model;
    const block = (title: string, content: HTMLElement) =>
      h("section", { class: "block" }, h("h3", {}, title), content);
    if (!found) {
      if (report.verdict[row] === 3) return [];
      const { note, rows } = report.head.details;
      const { command, target, golden } = report.head.run;
      return [
        h(
          "section",
          { class: "block", id: "no-details" },
          h("h3", {}, "Histograms, channels, heat map"),
          h(
            "p",
            { class: "muted" },
            rows > 0
              ? `This tensor has none: ${clean(note) || "the shapes differ, or only statistics of it are known."}`
              : "The result was saved without them. They are collected when the comparison itself writes the report, or with --details:",
          ),
          rows > 0
            ? null
            : commandLine(
                ["plumb", command, shellQuoted(target.path), shellQuoted(golden.path), "-o report.html"].join(" "),
                "the command",
              ),
        ),
      ];
    }
    const parts: HTMLElement[] = [];
    if (found.histogram) parts.push(block("Values", histogram(this.place, found.histogram)));
    if (found.channels && found.channels.error.length > 1 && found.channels.error.some((error) => error !== 0))
      parts.push(block("Error by channel", channels(this.place, found.channels)));
    if (found.heat) parts.push(block("Where the error is", heatMap(this.place, found.heat)));
    if (found.worst && found.worst.length > 0) parts.push(block("Worst elements", worstElements(found.worst)));
    return parts;
  }
}

// Why a tensor stands alone, in words.
function unpaired(reasons: string[]): string {
  const words: Record<string, string> = {
    no_golden:
      "Golden has no tensor of this name. If it exists under another one, pair them with a line in a --map file.",
    no_target: "The target has no tensor of this operator: it was fused away, removed, or not dumped.",
    inside_fusion: "It is inside a fused operator of the target and has no tensor of its own there.",
    no_counterpart: "By design the other side has no such tensor.",
    quantized_interior: "It lies between quantized operators: the other side has no such tensor.",
    ambiguous_pair: "Several tensors could be its partner; a line in a --map file decides.",
    damaged_file: "Its file could not be read.",
    filtered: "The options of the run left it out.",
    interrupted: "The run ended before it was reached.",
  };
  return reasons.map((reason) => words[reason] ?? "").find((text) => text !== "") ?? "";
}

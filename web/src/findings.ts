// SPDX-License-Identifier: Apache-2.0
//
// The findings as a narrative: who, why, on what evidence, who inherits it, and the next command; then
// what only some reports have: accuracy over samples, and the difference to a baseline.
import type { Accuracy, Finding } from "./data.ts";
import { copyButton, h, named } from "./dom.ts";
import { isNamedOtherwise, markBadge } from "./headline.ts";
import type { Model } from "./model.ts";
import { placeOf } from "./slices.ts";
import { clean, counted, number, plain, portion, shellQuoted } from "./text.ts";
import { causeOf, reasonWords, suspectsOf } from "./words.ts";

const kLongWord = 26; // letters of a command that fit a line of the panel

export function operatorButton(model: Model, operator: string, most = 44): HTMLElement {
  const rows = model.report.rowsOf(operator);
  if (rows.length === 0) return named(operator, most);
  const go = () => model.select(model.worstOf(rows));
  return h("button", { class: "op", type: "button", "data-op": operator, onclick: go }, named(operator, most));
}

// A long path may end a line behind a slash.
function breakable(word: string): (Node | string)[] {
  return word.split(/(?<=.\/)/).flatMap((part, i) => (i > 0 ? [h("wbr"), part] : [part]));
}

// What stands between backticks is for the shell.
export function prose(text: string): HTMLElement {
  const parts = clean(text).split(/`([^`]+)`/);
  return h("p", {}, ...parts.map((part, i) => (i % 2 === 1 ? h("span", { class: "option" }, part) : part)));
}

export function commandLine(command: string, what: string): HTMLElement {
  const words = clean(command)
    .split(" ")
    // Lines end between words, of long ones also behind a slash.
    .flatMap((word, i) => [
      i > 0 ? " " : "",
      word.length > kLongWord ? h("span", { class: "long" }, ...breakable(word)) : h("span", {}, word),
    ]);
  return h("div", { class: "command" }, h("code", {}, ...words), copyButton(clean(command), what));
}

export function drawFindings(place: HTMLElement, model: Model): void {
  const { findings, summary, accuracy, baseline } = model.report.head;
  const parts: HTMLElement[] = findings.map((finding, i) => drawFinding(model, finding, i));
  if (findings.length === 0) parts.push(nothingFound(model, summary.verdict));
  if (accuracy && accuracy.length > 0) parts.push(...accuracy.map((each) => drawAccuracy(model, each)));
  if (baseline) parts.push(drawBaseline(model));
  parts.push(reasonCounts(model), worstRows(model));
  place.replaceChildren(...parts.filter((part) => part.childNodes.length > 0));
}

function nothingFound(model: Model, verdict: string): HTMLElement {
  const { command, target, golden } = model.report.head.run;
  const text: Record<string, string> = {
    pass: "Nothing to explain: no compared tensor differs.",
    fail: "No cause was looked for, or none of the known ones fits. Start at the first operator that differs.",
    inconclusive:
      "No difference is proven, so there is no cause to name. Look at the inconclusive rows and at what was not compared.",
    not_compared:
      model.report.rows === 0
        ? "No tensor was found on either side, so nothing can be said. Check the two paths."
        : "Nothing was compared, so nothing can be said. The table tells why each tensor was left out.",
  };
  return h(
    "section",
    { class: "block" },
    h("h3", {}, "Findings"),
    h("p", {}, text[verdict] ?? ""),
    ["fail", "inconclusive"].includes(verdict) ? commandLine("plumb diagnose RESULT.json", "the command") : null,
    ...(verdict === "not_compared" && command === "compare" && isNamedOtherwise(model)
      ? [
          h(
            "p",
            {},
            "Tensors that are named differently on the two sides pair with ",
            h("span", { class: "option" }, "--map FILE"),
            ". What would be paired with what:",
          ),
          commandLine(`plumb compare ${shellQuoted(target.path)} ${shellQuoted(golden.path)} --plan`, "the command"),
        ]
      : []),
  );
}

function where(model: Model, finding: Finding): (HTMLElement | string)[] {
  if (finding.operator) return [operatorButton(model, finding.operator, 30)];
  const suspects = suspectsOf(finding);
  if (suspects.length === 0) return ["No single operator"];
  return ["From ", operatorButton(model, suspects[0], 30), " to ", operatorButton(model, suspects[suspects.length - 1], 30)];
}

function drawFinding(model: Model, finding: Finding, place: number): HTMLElement {
  const evidence = finding.evidence.map(({ text, row }) =>
    h(
      "li",
      {},
      typeof row === "number" && row >= 0 && row < model.report.rows
        ? h("button", { type: "button", title: "show this row", onclick: () => model.select(row) }, plain(text))
        : plain(text),
    ),
  );
  const heirs = finding.consequences ?? [];
  const title = [
    h(
      "h3",
      {},
      h("span", { class: "order" }, `${place + 1}. `),
      ...where(model, finding),
      ": ",
      h("span", { class: "cause" }, clean(causeOf(finding))),
    ),
    h(
      "div",
      { class: "sure" },
      h("i", { style: `--p:${Math.round(100 * finding.confidence)}%`, "aria-hidden": "true" }),
      `confidence ${Math.round(100 * finding.confidence)} %`,
    ),
  ];
  const rest = [
    evidence.length > 0 ? h("ol", { class: "evidence" }, ...evidence) : null,
    heirs.length > 0
      ? h(
          "p",
          { class: "muted" },
          `${counted(heirs.length, "operator")} ${heirs.length === 1 ? "inherits" : "inherit"} it: `,
          operatorButton(model, heirs[0]),
          heirs.length > 1 ? " to " : "",
          heirs.length > 1 ? operatorButton(model, heirs[heirs.length - 1]) : "",
        )
      : null,
    // What to do once it was looked at follows the command that shows it.
    finding.next ? h("p", { class: "muted" }, /\bplumb (inspect|isolate)\b/.test(finding.next) ? "Look at it:" : "Next:") : null,
    finding.next ? commandLine(finding.next, "the next command") : null,
    finding.advice ? prose(finding.advice) : null,
  ];
  // The first is told whole, the others on demand.
  const first = place === 0;
  return h(
    "article",
    { class: first ? "finding first" : "finding", "data-finding": finding.operator ?? "" },
    ...(first ? [...title, ...rest] : [h("details", {}, h("summary", {}, ...title), ...rest)]),
  );
}

// Top-N of both sides, agreement, and the samples that differ by name.
function drawAccuracy(model: Model, each: Accuracy): HTMLElement {
  const samples = model.report.head.samples ?? [];
  const first = each.first_disagreement;
  const rows = each.top.flatMap(({ n, target, golden }) => [
    h("span", {}, `top-${n}`),
    h("span", { class: target < golden ? "value bad" : "value" }, portion(target, each.labelled)),
    h("span", { class: "value limit" }, `golden ${portion(golden, each.labelled)}`),
  ]);
  const bad = badSamples(model, each.output);
  return h(
    "section",
    { class: "block", id: "accuracy" },
    h("h3", {}, "Accuracy of ", named(each.output, 32)),
    h(
      "div",
      { class: "numbers" },
      h("span", {}, "same class first"),
      h("span", { class: each.agree < 1 ? "value bad" : "value" }, portion(each.agree, each.samples)),
      h("span", { class: "value limit" }, each.samples < 10 ? "" : `of ${each.samples}`),
      ...rows,
    ),
    first
      ? h(
          "p",
          { class: "muted" },
          "First disagreement: ",
          named(samples[first.sample] ?? `sample ${first.sample}`, 40),
          `, target says class ${first.target}, golden ${first.golden}.`,
        )
      : null,
    bad.length > 0
      ? h(
          "p",
          { class: "muted" },
          "Samples whose output fails: ",
          ...bad
            .slice(0, 12)
            .flatMap((step, i) => [
              i > 0 ? ", " : "",
              h(
                "button",
                { class: "op", type: "button", onclick: () => model.state.set({ step }) },
                named(samples[step] ?? String(step), 32),
              ),
            ]),
          bad.length > 12 ? ` and ${bad.length - 12} more` : "",
        )
      : null,
  );
}

function badSamples(model: Model, output: string): number[] {
  const steps = new Set<number>();
  for (const row of model.report.rowsOf(output))
    if (model.report.verdict[row] === 1 && model.report.step[row] >= 0) steps.add(model.report.step[row]);
  return [...steps].sort((a, b) => a - b);
}

function drawBaseline(model: Model): HTMLElement {
  const baseline = model.report.head.baseline!;
  const standing = (s: { verdict: string; rel_euclid: number | string | null } | null) =>
    s ? `${s.verdict.replace("_", " ")}${typeof s.rel_euclid === "number" ? ` ${number(s.rel_euclid)}` : ""}` : "gone";
  const changes = baseline.tensors
    .slice(0, 12)
    .map((t) =>
      h(
        "li",
        {},
        h("span", { class: `change ${t.worse ? "broken" : "fixed"}` }, t.worse ? "↓ worse" : "↑ better"),
        " ",
        operatorButton(model, t.operator, 32),
        ` ${standing(t.before)} → ${standing(t.after)}`,
      ),
    );
  const toggle = h(
    "button",
    {
      type: "button",
      id: "diff",
      "aria-pressed": String(model.state.view.diff),
      onclick: () => model.state.set({ diff: !model.state.view.diff }),
    },
    "colour by change (d)",
  );
  return h(
    "section",
    { class: "block", id: "baseline" },
    h("h3", {}, "Against the baseline ", named(baseline.path, 36)),
    h(
      "p",
      {},
      baseline.tensors.length === 0
        ? "No tensor is better or worse than it was."
        : `${counted(baseline.tensors.filter((t) => t.worse).length, "tensor")} worse, ${baseline.tensors.filter((t) => !t.worse).length} better.`,
    ),
    ...baseline.warnings.map((text) => h("p", { class: "muted" }, clean(text))),
    h("ul", { class: "crumbs" }, ...changes),
    baseline.tensors.length > 12 ? h("p", { class: "muted" }, `and ${baseline.tensors.length - 12} more`) : null,
    ...baseline.operators
      .slice(0, 6)
      .map((o) =>
        h(
          "p",
          { class: "muted" },
          `${o.change}: `,
          operatorButton(model, o.operator, 32),
          ` ${clean(o.details.join(", "))}`,
        ),
      ),
    toggle,
  );
}

// How often each reason occurs; a click shows these rows.
function reasonCounts(model: Model): HTMLElement {
  const [counts, excused] = [new Map<string, number>(), new Map<string, number>()];
  for (const row of model.rows) {
    const into = model.report.excused[row] ? excused : counts;
    for (const reason of model.report.reasons(row)) into.set(reason, (into.get(reason) ?? 0) + 1);
  }
  if (counts.size + excused.size === 0) return h("section");
  const byCount = (of: Map<string, number>) => [...of].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const all = byCount(counts);
  const show = (reason: string, label: HTMLElement | string) =>
    h("button", { class: "op", type: "button", onclick: () => model.state.set({ q: `reason:${reason}` }) }, label);
  return h(
    "section",
    { class: "block" },
    h("h3", {}, "Reasons"),
    h(
      "div",
      { class: "numbers" },
      ...all
        .slice(0, 8)
        .flatMap(([reason, count]) => [
          show(reason, h("code", {}, clean(reason))),
          h("span", { class: "value" }, count.toLocaleString("en-US")),
          h("span", { class: "value limit" }, count === 1 ? "row" : "rows"),
        ]),
    ),
    all.length > 8 ? h("p", { class: "muted" }, `and ${all.length - 8} more`) : null,
    excused.size > 0
      ? h(
          "p",
          { class: "muted", id: "excused" },
          "Left out on purpose: ",
          ...byCount(excused).flatMap(([reason, count], i) => [
            i > 0 ? ", " : "",
            show(reason, `${counted(count, "row")} ${clean(reasonWords(reason))}`),
          ]),
        )
      : null,
  );
}

// The operators with the largest error: the way in where nothing is named.
function worstRows(model: Model): HTMLElement {
  const rows = Array.from(model.plotted()).filter((row) => model.error[row] > 0);
  rows.sort((a, b) => model.error[b] - model.error[a]);
  const operators = new Set<string>();
  const worst = rows.filter((row) => operators.size < 5 && operators.size < operators.add(model.report.name(row)).size);
  if (worst.length === 0) return h("section");
  return h(
    "section",
    { class: "block" },
    h("h3", {}, "Largest relative error"),
    h(
      "div",
      { class: "numbers" },
      ...worst.flatMap((row) => [
        h("span", { class: "marked" }, markBadge(model.marks[row], false), operatorButton(model, model.report.name(row), 34)),
        h("span", { class: "value" }, number(model.error[row])),
        h("span", { class: "value limit" }, placeOf(model, row) || clean(model.report.slot(row))),
      ]),
    ),
  );
}

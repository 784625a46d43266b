// SPDX-License-Identifier: Apache-2.0
//
// The top of the page: verdict, who is to blame and why, outputs, layers and coverage in one glance;
// what was compared; and what the reader must know (warnings, what was left out).
import type { Counts, Finding, Side } from "./data.ts";
import { copyButton, h, named } from "./dom.ts";
import type { Model } from "./model.ts";
import { kMarks, Mark } from "./report.ts";
import { placeOf, placesOf } from "./slices.ts";
import { clean, counted, number, percent, plain, portion } from "./text.ts";
import { causeOf, countsText, culpritOf, headlineOf, reasonWords, suspectsOf } from "./words.ts";

const markOf = (verdict: string): Mark =>
  verdict === "pass"
    ? Mark.pass
    : verdict === "fail"
      ? Mark.fail
      : verdict === "inconclusive"
        ? Mark.open
        : Mark.absent;

const kSure = 0.5; // confidence from which on an operator is blamed without reserve

export function markBadge(mark: number, label = true): HTMLElement {
  const { key, label: words, glyph } = kMarks[mark];
  return h("span", { class: `mark ${key}`, title: words, role: "img", "aria-label": label ? words : null }, glyph);
}

export function drawHeadline(place: HTMLElement, model: Model, tools: HTMLElement): void {
  const { head } = model.report;
  const mark = markOf(head.summary.verdict);
  place.className = `card ${kMarks[mark].key}`;
  place.replaceChildren(
    h(
      "div",
      { class: "say" },
      h(
        "div",
        { class: `stamp ${kMarks[mark].key}`, id: "verdict", "data-verdict": head.summary.verdict },
        h("i", { "aria-hidden": "true" }, kMarks[mark].glyph),
        head.summary.verdict === "not_compared" ? "NOTHING COMPARED" : head.summary.verdict.toUpperCase(),
      ),
      ...sentences(model),
    ),
    tiles(model),
    about(model, tools),
  );
  tools.prepend(copyButton(summaryText(place, model), "a summary for mail or chat", "copy summary"));
}

// What the headline says, for mail and chats.
function summaryText(place: HTMLElement, model: Model): string {
  const { run, tool, findings } = model.report.head;
  const said = (selector: string) => place.querySelector(selector)?.textContent?.trim() ?? "";
  const tile = (id: string) => `${id} ${said(`#tile-${id} b`).replace(/^\W+(?=[a-z])/, "")}, ${said(`#tile-${id} .of`)}`;
  const next = findings.find((finding) => finding.next)?.next;
  return [
    `${said("#verdict").replace(/^\W/, "")}: ${said(".say h1")}`,
    said(".say p"),
    ["outputs", "layers", "coverage"].map(tile).join("; "),
    `target ${clean(run.target.path)}, golden ${clean(run.golden.path)}, profile ${clean(run.profile)}, plumb ${tool.version}`,
    next ? `next: ${clean(next)}` : "",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function fromTo(model: Model, suspects: string[]): (HTMLElement | string)[] {
  return [operatorLink(model, suspects[0]), " to ", operatorLink(model, suspects[suspects.length - 1])];
}

function sentences(model: Model): HTMLElement[] {
  const { head } = model.report;
  const culprit = head.summary.verdict === "pass" ? undefined : culpritOf(head);
  const suspects = culprit ? suspectsOf(culprit) : [];
  if (culprit && (culprit.cause !== "unknown" || suspects.length > 0)) {
    const cause = culprit.cause === "unknown" ? [] : [": ", h("span", { class: "cause" }, clean(causeOf(culprit)))];
    const title = culprit.operator
      ? h(
          "h1",
          {},
          operatorLink(model, culprit.operator),
          culprit.confidence < kSure ? " may be to blame: " : " is to blame: ",
          h("span", { class: "cause" }, clean(causeOf(culprit))),
        )
      : suspects.length > 0
        ? h("h1", {}, "It begins somewhere from ", ...fromTo(model, suspects), ...cause)
        : h("h1", {}, "No single operator is to blame", ...cause);
    return [
      title,
      h(
        "p",
        {},
        ...inside(model),
        plain(
          culprit.evidence
            .map((e) => e.text)
            .slice(0, 2)
            .join("; ") || headlineOf(head),
        ),
        culprit.confidence < kSure ? ` (confidence ${Math.round(100 * culprit.confidence)}\u00a0%)` : "",
        where(model, culprit),
        ...others(model),
      ),
    ];
  }
  const first = head.summary.first_divergence;
  if (first) {
    const row = model.worstOf(model.report.rowsOf(first));
    return [
      h("h1", {}, operatorLink(model, first), " is the first to differ"),
      h("p", {}, ...inside(model), clean(`${headlineOf(head)}. ${row >= 0 ? model.report.text("row.message", row) : ""}`)),
    ];
  }
  return [h("h1", {}, headlineOf(head)), h("p", {}, ...inside(model), clean(secondLine(model)))];
}

// What it means to fail though the outputs agree.
function inside(model: Model): (Node | string)[] {
  const { summary, run } = model.report.head;
  const { verdict, outputs, layers } = summary;
  if (verdict !== "fail" || outputs.verdict !== "pass" || layers.fail === 0) return [];
  const count = layers.fail.toLocaleString("en-US");
  const all = counted(layers.rows - layers.not_compared, "layer");
  const are = layers.fail === 1 ? "is" : "are";
  return [
    h(
      "span",
      { class: "inside" },
      `The outputs agree; inside the model ${count} of ${all} ${are} beyond the limits of profile ${clean(run.profile)}.`,
    ),
    " ",
  ];
}

// The way to the findings that the headline does not name.
function others(model: Model): (Node | string)[] {
  const count = model.report.head.findings.length - 1;
  if (count < 1) return [];
  const go = () => {
    model.state.set({ tab: "findings" });
    document.querySelector(".finding:not(.first)")?.scrollIntoView({ block: "nearest" });
  };
  return [
    ". And ",
    h("button", { class: "link", type: "button", id: "others", onclick: go }, `${counted(count, "other finding")}`),
  ];
}

// In which slices the culprit fails as much as where it is worst.
function where(model: Model, { operator }: Finding): string {
  const { report } = model;
  const rows = operator === null ? [] : report.rowsOf(operator).filter((row) => !model.isInput(row));
  const worst = model.worstOf(rows);
  if (worst < 0 || placeOf(model, worst) === "") return "";
  const alike = rows.filter((row) => report.verdict[row] === 1 && !(model.error[row] < model.error[worst] / 10));
  return alike.length === rows.length ? "" : `. Where: ${placesOf(model, alike)}`;
}

function operatorLink(model: Model, operator: string): HTMLElement {
  const rows = model.report.rowsOf(operator);
  if (rows.length === 0) return named(operator, 48);
  const go = () => model.select(model.worstOf(rows));
  return h(
    "button",
    { class: "link", type: "button", id: "culprit", "data-op": operator, onclick: go },
    named(operator, 48),
  );
}

// Of a run without a culprit: how near it came, or why nothing was compared.
function secondLine(model: Model): string {
  const { report } = model;
  const { summary, run } = report.head;
  if (run.doubts && run.doubts.length > 0) return run.doubts[0];
  if (summary.rows === summary.not_compared && summary.rows > 0)
    return `${frequentReasons(model)}${isNamedOtherwise(model) ? ". If names differ between the sides, --map FILE pairs them." : ""}`;
  const worst = model.worstOf(model.plotted());
  if (worst < 0) return "";
  const near = summary.suspicious > 0 ? `${counted(summary.suspicious, "tensor")} near a limit. ` : "";
  const error = model.error[worst];
  return `${near}Largest relative error: ${number(error)} at ${report.name(worst)}${headroom(model, worst)}`;
}

// How far below its limit a relative error is.
function headroom(model: Model, row: number): string {
  const limit = model.limits.of(row).find(({ metric, operation }) => metric === "rel_euclid" && operation.startsWith("<"));
  const times = limit ? limit.value / model.error[row] : 0;
  if (!limit || !(times >= 1.5) || !Number.isFinite(times)) return "";
  const shown = times < 10 ? number(Number(times.toPrecision(2))) : Math.round(times).toLocaleString("en-US");
  return `, ${shown} times below its limit of ${number(limit.value)}`;
}

// Both sides have tensors, and none has a partner.
export function isNamedOtherwise(model: Model): boolean {
  const reasons = new Set(Array.from(model.rows, (row) => model.report.reasons(row)).flat());
  return reasons.has("no_golden") && reasons.has("no_target");
}

function frequentReasons(model: Model): string {
  const counts = new Map<string, number>();
  for (const row of model.rows)
    for (const reason of model.report.reasons(row)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const top = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 2);
  return top.length > 0
    ? top.map(([reason, count]) => `${counted(count, "tensor")} ${count === 1 ? "is" : "are"} ${reasonWords(reason)}`).join("; ")
    : "Why is not recorded";
}

function tiles(model: Model): HTMLElement {
  const { summary, accuracy, baseline } = model.report.head;
  const compared = summary.rows - summary.not_compared;
  const wanted = summary.rows - summary.filtered - summary.without_counterpart;
  const tile = (title: string, value: (Node | string)[], below: (Node | string)[], id: string) =>
    h("div", { class: "tile", id: `tile-${id}` }, h("h2", {}, title), h("b", {}, ...value), ...below);
  const counts = (title: string, of: Counts, id: string) =>
    tile(
      title,
      [markBadge(markOf(of.verdict)), of.rows === 0 ? (id === "outputs" ? "not told apart" : "unknown") : of.verdict === "not_compared" ? "none" : of.verdict],
      [
        bar(withoutExcused(model, of, id === "outputs")),
        h("span", { class: "of" }, countsText(of, id === "outputs" ? "no graph names them: --graph" : "there are none")),
      ],
      id,
    );
  const all = [
    counts("Outputs", summary.outputs, "outputs"),
    counts("Layers", summary.layers, "layers"),
    tile(
      "Coverage",
      [percent(summary.coverage)],
      [
        bar({ ...summary, pass: compared, fail: 0, inconclusive: 0, not_compared: Math.max(0, wanted - compared) }),
        h("span", { class: "of" }, `${compared.toLocaleString("en-US")} of ${counted(wanted, "tensor")}`),
      ],
      "coverage",
    ),
  ];
  for (const each of accuracy?.slice(0, 1) ?? []) {
    const top = each.top[0];
    all.push(
      tile(
        "Accuracy",
        [portion(top ? top.target : each.agree, top ? each.labelled : each.samples)],
        [
          h(
            "span",
            { class: "of" },
            top
              ? `top-${top.n}; golden ${portion(top.golden, each.labelled)}`
              : `${each.samples === 1 ? "sample agrees" : each.samples < 10 ? "samples agree" : `of ${counted(each.samples, "sample")} agree`}`,
          ),
        ],
        "accuracy",
      ),
    );
  }
  if (baseline) {
    const worse = baseline.tensors.filter((t) => t.worse).length;
    all.push(
      tile(
        "Baseline",
        [markBadge(markOf(baseline.verdict)), baseline.verdict === "pass" ? "no worse" : "worse"],
        [h("span", { class: "of" }, `${worse} worse, ${baseline.tensors.length - worse} better`)],
        "baseline",
      ),
    );
  }
  return h("div", { class: "tiles" }, ...all);
}

// What was left out on purpose has no share in a bar.
function withoutExcused(model: Model, of: Counts, ofOutputs: boolean): Counts {
  const { report } = model;
  let excused = 0;
  for (let row = 0; row < report.rows; row++)
    if (report.excused[row] && (report.output[row] === 1) === ofOutputs) excused++;
  return { ...of, not_compared: Math.max(0, of.not_compared - excused) };
}

export function bar(of: Pick<Counts, "pass" | "fail" | "inconclusive" | "not_compared">): HTMLElement {
  const part = (mark: Mark, count: number) =>
    count > 0 && h("i", { class: kMarks[mark].key, style: `flex:${count}`, title: `${count} ${kMarks[mark].label}` });
  return h(
    "div",
    { class: "bar", "aria-hidden": "true" },
    part(Mark.fail, of.fail),
    part(Mark.open, of.inconclusive),
    part(Mark.pass, of.pass),
    part(Mark.absent, of.not_compared),
  );
}

function about(model: Model, tools: HTMLElement): HTMLElement {
  const { run } = model.report.head;
  const side = (label: string, path: string) => h("span", {}, `${label} `, named(path, 36));
  return h(
    "div",
    { class: "about" },
    h(
      "div",
      { class: "facts" },
      h("span", { class: "brand" }, `plumb ${clean(run.command)}`),
      side("target", run.target.path),
      side("golden", run.golden.path),
      h("span", {}, "profile ", named(run.profile, 30)),
      aboutRun(model),
    ),
    tools,
  );
}

// All that is known of the run, in full, and what the reader must know.
function aboutRun(model: Model): HTMLElement {
  const { run, tool } = model.report.head;
  const of = ({ path, convention }: Side) => (convention ? `${path} (${convention})` : path);
  const facts: [string, string][] = [
    ["target", of(run.target)],
    ["golden", of(run.golden)],
    ...(run.graphs ?? []).map((graph): [string, string] => ["graph", graph]),
    ["profile", run.profile],
    ["scenario", run.scenario === "dump-vs-dump" ? "" : run.scenario],
    ["plumb", tool.version],
  ];
  const said = notes(model);
  return h(
    "details",
    { class: "notes" },
    h("summary", {}, said.length > 0 ? counted(said.length, "note") : "more"),
    h(
      "div",
      {},
      h("ul", {}, ...said.map((text) => h("li", {}, clean(text)))),
      h(
        "dl",
        {},
        ...facts.flatMap(([key, text]) => (text ? [h("dt", {}, key), h("dd", {}, named(text, 400))] : [])),
      ),
    ),
  );
}

function notes(model: Model): string[] {
  const { run, summary, notes: said, details } = model.report.head;
  return [
    ...(run.doubts ?? []),
    ...(run.interrupted ? ["The run was interrupted before the end."] : []),
    ...(run.outputs_not_compared ?? []).map((name) => `The model's output ${name} was not compared.`),
    ...(run.order_recorded === false ? ["The order of execution is not recorded: rows are in order of names."] : []),
    ...(run.warnings ?? []),
    ...(run.target.warnings ?? []).map((text) => `target: ${text}`),
    ...(run.golden.warnings ?? []).map((text) => `golden: ${text}`),
    ...(summary.filtered > 0 ? [`${counted(summary.filtered, "tensor")} left out because the options said so.`] : []),
    ...(summary.without_counterpart > 0
      ? [`${counted(summary.without_counterpart, "tensor")} without counterpart by design.`]
      : []),
    ...said,
    ...(details.note && !said.includes(details.note) ? [details.note] : []),
  ];
}

// SPDX-License-Identifier: Apache-2.0
//
// Which operators of the two sides belong together where it is not one to one: a fusion is a funnel from several
// operators of golden into one of the target. Known from the graph's origins, and from what was paired.
import { h, named } from "./dom.ts";
import { operatorButton } from "./findings.ts";
import type { Model } from "./model.ts";
import type { Report } from "./report.ts";

const kMost = 6; // operators of a side that are shown

export interface Bundle {
  targets: string[];
  goldens: string[];
  links: [number, number][]; // places in the two
  hidden: number; // operators that are not shown
}

type Links = Map<string, Set<string>>;

// The partners of each name, for both sides; read once.
export class Partners {
  private readonly goldens: Links = new Map();
  private readonly targets: Links = new Map();

  constructor(report: Report) {
    const graph = report.graphs[0];
    for (let node = 0; node < (graph?.nodes ?? 0); node++)
      for (const origin of graph.origins(node).split(", ")) if (origin !== "") this.link(graph.name(node), origin);
    const kind = (side: string, row: number) => report.text(`row.${side}.slot`, row).split(":")[0];
    for (let row = 0; row < report.rows; row++) {
      const [target, golden] = [report.text("row.target.operator", row), report.text("row.golden.operator", row)];
      // What a producer gave out can be the partner of an input: that joins no operators.
      if (target !== "" && golden !== "" && kind("target", row) === kind("golden", row)) this.link(target, golden);
    }
  }

  // Everything around an operator of either side; null where it is one to one.
  around(target: string, golden: string): Bundle | null {
    const goldens = new Set(target !== "" ? this.goldens.get(target) : golden !== "" ? [golden] : []);
    const targets = new Set(target === "" ? [] : [target]);
    for (const name of goldens) for (const other of this.targets.get(name) ?? []) targets.add(other);
    if (target === "") for (const name of targets) for (const other of this.goldens.get(name) ?? []) goldens.add(other);
    if (targets.size === 0 || (targets.size < 2 && goldens.size < 2)) return null;
    const [left, right] = [[...targets].slice(0, kMost), [...goldens].slice(0, kMost)];
    const links: [number, number][] = [];
    left.forEach((name, i) =>
      right.forEach((other, j) => {
        if (this.goldens.get(name)?.has(other)) links.push([i, j]);
      }),
    );
    const hidden = targets.size - left.length + goldens.size - right.length;
    return { targets: left, goldens: right, links, hidden };
  }

  private link(target: string, golden: string): void {
    const put = (links: Links, from: string, to: string) => {
      const known = links.get(from);
      if (known) known.add(to);
      else links.set(from, new Set([to]));
    };
    put(this.goldens, target, golden);
    put(this.targets, golden, target);
  }
}

export function drawRibbons(model: Model, bundle: Bundle, target: string, golden: string): HTMLElement {
  const side = (names: string[], now: string) =>
    h(
      "ul",
      {},
      ...names.map((name) =>
        h("li", { class: name === now ? "now" : "" }, name === now ? named(name, 30) : operatorButton(model, name, 30)),
      ),
    );
  const { targets, goldens, links, hidden } = bundle;
  const words =
    targets.length === 1
      ? `One operator of the target, made from ${goldens.length} of golden`
      : goldens.length === 1
        ? `${targets.length} operators of the target hold what one of golden gives`
        : `${targets.length} operators of the target and ${goldens.length} of golden belong together`;
  return h(
    "div",
    { class: "bundle", id: "bundle" },
    h(
      "div",
      { class: "ribbons" },
      side(targets, target),
      ribbons(links, targets.length, goldens.length),
      side(goldens, golden),
    ),
    h("p", { class: "muted" }, `${words}${hidden > 0 ? `; ${hidden} more are not shown` : ""}.`),
  );
}

function ribbons(links: [number, number][], left: number, right: number): HTMLElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  for (const [i, j] of links) {
    const [y0, y1, a, b] = [(100 * (i + 0.5)) / left, (100 * (j + 0.5)) / right, 28 / left, 28 / right];
    const path = document.createElementNS(space, "path");
    path.setAttribute(
      "d",
      `M0 ${y0 - a}C50 ${y0 - a} 50 ${y1 - b} 100 ${y1 - b}V${y1 + b}C50 ${y1 + b} 50 ${y0 + a} 0 ${y0 + a}Z`,
    );
    svg.append(path);
  }
  const holder = h("div", { class: "bands" });
  holder.append(svg);
  return holder;
}

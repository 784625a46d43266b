// SPDX-License-Identifier: Apache-2.0
//
// The report as the parts of the page read it: columns by name, rows by number, graphs. A column that
// the report does not have reads as empty, zero or NaN.
import type { Details, Fold, GraphHead, Head, Numbers, Payload } from "./data.ts";

// How a row or an operator shows. Never by colour alone: each has a glyph, and a texture or size.
export const Mark = { pass: 0, near: 1, fail: 2, open: 3, absent: 4, unknown: 5 } as const;
export type Mark = (typeof Mark)[keyof typeof Mark];

export const kMarks = [
  { key: "pass", label: "pass", glyph: "✓", verdict: "pass" },
  { key: "near", label: "near the limit", glyph: "▲", verdict: "pass" },
  { key: "fail", label: "fail", glyph: "✕", verdict: "fail" },
  { key: "open", label: "inconclusive", glyph: "?", verdict: "inconclusive" },
  { key: "absent", label: "not compared", glyph: "–", verdict: "not_compared" },
  { key: "unknown", label: "nothing known", glyph: "", verdict: "" },
] as const;

// Of several rows of one operator the one that shows: fail first, then what is open or near.
const kWeight = [1, 3, 5, 4, 2, 0];
export const worse = (a: number, b: number): boolean => kWeight[a] > kWeight[b];

export const Role = { none: 0, introduces: 1, inherits: 2 } as const;
export const Change = { none: 0, unchanged: 1, fixed: 2, broken: 3, new: 4 } as const;
export const kChanges = [
  { key: "", label: "not in the baseline", glyph: "" },
  { key: "unchanged", label: "unchanged", glyph: "=" },
  { key: "fixed", label: "fixed", glyph: "↑" },
  { key: "broken", label: "broken", glyph: "↓" },
  { key: "new", label: "new", glyph: "✱" },
] as const;
// Broken first, then new, fixed, unchanged.
const kChangeWeight = [0, 1, 2, 4, 3];
export const changesMore = (a: number, b: number): boolean => kChangeWeight[a] > kChangeWeight[b];

export interface Graph {
  head: GraphHead;
  nodes: number;
  edges: number;
  name(node: number): string;
  type(node: number): string;
  origins(node: number): string;
  kind: Numbers; // 0 operator, 1 group, 2 stump
  count: Numbers;
  role: Numbers;
  output: Numbers;
  verdict: Numbers;
  worst: Numbers; // its worst row, -1 if none
  from: Numbers;
  to: Numbers;
  error: Numbers;
  stub: Numbers;
  member: Numbers | null; // of a further graph: node of the first graph → its node
  folds: FoldData[];
}
export interface FoldData {
  head: Fold;
  x: Numbers;
  y: Numbers;
  points: Numbers;
  start: Numbers;
}

export class Report {
  readonly head: Head;
  readonly rows: number;
  readonly verdict: Numbers;
  readonly suspicious: Numbers;
  readonly step: Numbers;
  readonly rank: Numbers;
  readonly node: Numbers;
  readonly role: Numbers;
  readonly change: Numbers;
  readonly output: Numbers;
  readonly excused: Numbers; // left out on purpose: filtered, or without counterpart by design
  readonly own: Numbers;
  readonly inherited: Numbers;
  readonly measured: Numbers;
  readonly graphs: Graph[];
  private readonly payload: Payload;
  private byName: { shown: Map<string, number[]>; golden: Map<string, number[]> } | null = null;

  constructor(payload: Payload) {
    this.payload = payload;
    this.head = payload.head;
    this.rows = payload.head.rows;
    const n = this.rows;
    this.verdict = this.numbers("row.verdict", n, 3);
    this.suspicious = this.numbers("row.suspicious", n, 0);
    this.step = this.numbers("row.step", n, -1);
    this.rank = this.numbers("row.rank", n, -1);
    this.node = this.numbers("row.node", n, -1);
    this.role = this.numbers("row.role", n, 0);
    this.change = this.numbers("row.baseline", n, 0);
    this.output = this.numbers("row.output", n, 0);
    this.excused = this.numbers("row.excused", n, 0);
    this.own = this.numbers("row.own", n, NaN);
    this.inherited = this.numbers("row.inherited", n, NaN);
    this.measured = this.numbers("row.measured", n, 0);
    this.graphs = this.head.graphs.map((head, k) => this.graph(head, k));
  }

  has(column: string): boolean {
    return this.payload.columns.has(column);
  }

  numbers(column: string, count: number, missing: number): Numbers {
    return this.payload.columns.get(column) ?? new Float64Array(count).fill(missing);
  }

  // Text of a row (or node) in a column of texts.
  text(column: string, place: number): string {
    const places = this.payload.columns.get(column);
    return places ? (this.payload.texts[places[place]] ?? "") : "";
  }

  metric(name: string): Numbers {
    return this.numbers(`metric.${name}`, this.rows, NaN);
  }

  // The operator that a row is about: the target's, or golden's where there is no target.
  name(row: number): string {
    return this.text("row.target.operator", row) || this.text("row.golden.operator", row);
  }
  type(row: number): string {
    return this.text("row.target.type", row) || this.text("row.golden.type", row);
  }
  slot(row: number): string {
    return this.text("row.target.slot", row) || this.text("row.golden.slot", row);
  }
  reasons(row: number): string[] {
    const text = this.text("row.reasons", row);
    return text === "" ? [] : text.split(", ");
  }
  details(row: number): Promise<Details | null> {
    return this.payload.details(row);
  }

  // All rows of an operator; of a name that only golden has, the rows it is the partner in.
  rowsOf(name: string): number[] {
    if (!this.byName) {
      const [shown, golden] = [new Map<string, number[]>(), new Map<string, number[]>()];
      const put = (map: Map<string, number[]>, key: string, row: number) => {
        const rows = map.get(key);
        if (rows) rows.push(row);
        else map.set(key, [row]);
      };
      for (let i = 0; i < this.rows; i++) {
        put(shown, this.name(i), i);
        put(golden, this.text("row.golden.operator", i), i);
      }
      this.byName = { shown, golden };
    }
    return this.byName.shown.get(name) ?? this.byName.golden.get(name) ?? [];
  }

  // What the verdict of a row looks like, as the program judged it.
  mark(row: number): Mark {
    switch (this.verdict[row]) {
      case 0:
        return this.suspicious[row] ? Mark.near : Mark.pass;
      case 1:
        return Mark.fail;
      case 2:
        return Mark.open;
      default:
        return Mark.absent;
    }
  }

  private graph(head: GraphHead, k: number): Graph {
    const n = head.nodes;
    const m = head.edges;
    const node = (name: string, missing: number) => this.numbers(`g${k}.node.${name}`, n, missing);
    const edge = (name: string, missing: number) => this.numbers(`g${k}.edge.${name}`, m, missing);
    return {
      head,
      nodes: n,
      edges: m,
      name: (i) => this.text(`g${k}.node.name`, i),
      type: (i) => this.text(`g${k}.node.type`, i),
      origins: (i) => this.text(`g${k}.node.origins`, i),
      kind: node("kind", 0),
      count: node("count", 1),
      role: node("role", 0),
      output: node("output", 0),
      verdict: node("verdict", 4),
      worst: node("row", -1),
      from: edge("from", 0),
      to: edge("to", 0),
      error: edge("error", NaN),
      stub: edge("stub", 0),
      member: k > 0 ? this.numbers(`g${k}.place_of`, this.head.graphs[0].nodes, -1) : null,
      folds: head.folds.map((fold, j) => ({
        head: fold,
        x: this.numbers(`g${k}.fold${j}.x`, n, 0),
        y: this.numbers(`g${k}.fold${j}.y`, n, 0),
        points: this.numbers(`g${k}.fold${j}.points`, 0, 0),
        start: this.numbers(`g${k}.fold${j}.start`, m + 1, 0),
      })),
    };
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// What follows from the report and the view together: rows of the chosen slice, how rows and operators
// show under the limits of the moment, and which row is selected. Parts of the page read it; it is
// computed anew only where the view changed.
import type { Finding } from "./data.ts";
import { errorAtRatio, keyOf, Limits, marksUnder, type Moved } from "./judge.ts";
import { changesMore, type Graph, Mark, type Report, Role, worse } from "./report.ts";
import type { State } from "./state.ts";

export interface NodeStates {
  mark: Uint8Array;
  role: Uint8Array;
  change: Uint8Array;
  row: Int32Array; // the row that shows, -1 if none of the slice
  error: Float64Array; // relative error that leaves the operator, NaN if not known
}

export class Model {
  readonly limits: Limits;
  readonly error: ArrayLike<number>; // rel_euclid
  readonly steps: number[];
  readonly ranks: number[];
  readonly errorLimit: number; // where colours of edges turn
  marks: Uint8Array;
  rows: Int32Array; // of the slice
  private readonly inputs: Uint8Array;
  private readonly blames: boolean; // some operator introduces error
  private nodeCache: { graph: number; states: NodeStates } | null = null;
  private movedNow: Moved = new Map();

  constructor(
    readonly report: Report,
    readonly state: State,
  ) {
    this.limits = new Limits(report);
    this.error = report.metric("rel_euclid");
    this.steps = distinct(report.step);
    this.ranks = distinct(report.rank);
    this.errorLimit = usualLimit(report, this.limits);
    this.blames = Array.prototype.includes.call(report.role, Role.introduces);
    this.inputs = new Uint8Array(report.rows);
    for (let i = 0; i < report.rows; i++) if (report.slot(i).startsWith("input")) this.inputs[i] = 1;
    this.marks = new Uint8Array(0);
    this.rows = new Int32Array(0);
    this.judge();
    this.slice();
    state.listen((changed) => {
      if (changed.has("limits")) this.judge();
      if (changed.has("step") || changed.has("rank")) this.slice();
    });
  }

  get moved(): Moved {
    return this.movedNow;
  }

  get sliced(): boolean {
    return this.state.view.step !== null || this.state.view.rank !== null;
  }

  // Whether a failure is drawn in full: those to blame, or all if nobody is.
  standsOut(role: number): boolean {
    return this.blames ? role === Role.introduces : role !== Role.inherits;
  }

  isInput(row: number): boolean {
    return this.inputs[row] === 1;
  }

  // Rows of the slice that the plot draws: outputs, unless there are only inputs; and not what has no counterpart by
  // design, which would leave the axis empty for long stretches.
  plotted(): Int32Array {
    const meant = this.rows.filter((row) => !this.report.excused[row]);
    const outputs = meant.filter((row) => !this.inputs[row]);
    return outputs.length > 0 ? outputs : meant.length > 0 ? meant : this.rows;
  }

  findingOf(operator: string): Finding | undefined {
    return this.report.head.findings.find((finding) => finding.operator === operator);
  }

  // The finding whose consequence an operator is.
  inheritsFrom(operator: string): Finding | undefined {
    return this.report.head.findings.find((finding) => finding.consequences?.includes(operator));
  }

  // Of several rows the one that shows most: the worst mark, then outputs, then the largest error.
  worstOf(rows: ArrayLike<number>): number {
    let best = -1;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i];
      if (best < 0 || this.showsMore(row, best)) best = row;
    }
    return best;
  }

  private showsMore(a: number, b: number): boolean {
    // What was left out on purpose hides nothing that was compared.
    if (this.report.excused[a] !== this.report.excused[b]) return this.report.excused[a] === 0;
    if (worse(this.marks[a], this.marks[b])) return true;
    if (this.marks[a] !== this.marks[b]) return false;
    if (this.inputs[a] !== this.inputs[b]) return this.inputs[a] < this.inputs[b];
    return this.error[a] > this.error[b];
  }

  inSlice(row: number): boolean {
    const { step, rank } = this.state.view;
    // What belongs to no step (weights, constants) belongs to all of them.
    const { report } = this;
    return (
      (step === null || report.step[row] === step || report.step[row] === -1) &&
      (rank === null || report.rank[row] === rank || report.rank[row] === -1)
    );
  }

  // The row that the view selects, -1 if none.
  selected(): number {
    const { op, slot, row } = this.state.view;
    if (op === "") return -1;
    const all = this.report.rowsOf(op);
    const here = all.filter((each) => this.inSlice(each));
    const rows = here.length > 0 ? here : all;
    if (row !== null && rows.includes(row)) return row;
    const exact = slot === "" ? [] : rows.filter((each) => this.report.slot(each) === slot);
    return this.worstOf(exact.length > 0 ? exact : rows);
  }

  select(row: number, tab: "operator" | "findings" = "operator"): void {
    if (row < 0) {
      this.state.set({ op: "", slot: "", row: null, tab: "findings", trace: false });
      return;
    }
    const op = this.report.name(row);
    const others = this.report.rowsOf(op);
    const slot = this.report.slot(row);
    const alike = others.filter((each) => this.report.slot(each) === slot);
    this.state.set({ op, slot: others.length > alike.length ? slot : "", row: alike.length > 1 ? row : null, tab });
  }

  // The node of a graph that a row belongs to, -1 if none.
  nodeOf(row: number, graph: number): number {
    const node = row < 0 ? -1 : this.report.node[row];
    if (node < 0 || graph === 0) return node;
    return this.report.graphs[graph].member?.[node] ?? -1;
  }

  // How the operators of a graph show.
  nodes(graph: number): NodeStates {
    if (this.nodeCache?.graph !== graph) this.nodeCache = { graph, states: this.nodeStates(graph) };
    return this.nodeCache.states;
  }

  // Rows that fail, in order of execution, inputs left out if there are outputs that fail.
  failures(): number[] {
    const rows = Array.from(this.rows).filter((row) => this.marks[row] === Mark.fail);
    const outputs = rows.filter((row) => !this.inputs[row]);
    return outputs.length > 0 ? outputs : rows;
  }

  private nodeStates(k: number): NodeStates {
    const graph = this.report.graphs[k];
    const n = graph.nodes;
    const states: NodeStates = {
      mark: new Uint8Array(n).fill(Mark.unknown),
      role: new Uint8Array(n),
      change: new Uint8Array(n),
      row: new Int32Array(n).fill(-1),
      error: new Float64Array(n).fill(NaN),
    };
    for (const row of this.rows) {
      const node = this.nodeOf(row, k);
      if (node >= 0) this.add(states, node, row);
    }
    for (let i = 0; i < n; i++) this.fillFromGraph(graph, states, i);
    return states;
  }

  private add(states: NodeStates, node: number, row: number): void {
    if (states.row[node] < 0 || this.showsMore(row, states.row[node])) {
      states.row[node] = row;
      states.mark[node] = this.marks[row];
    }
    // Where it passes (another step, another rank), it introduces nothing.
    const role = this.marks[row] === Mark.pass ? Role.none : this.report.role[row];
    if (role === Role.introduces || (role === Role.inherits && states.role[node] === Role.none))
      states.role[node] = role;
    if (changesMore(this.report.change[row], states.change[node])) states.change[node] = this.report.change[row];
    // What fails without a number (NaN, another shape) carries as much error as can be.
    const error = Number.isNaN(this.error[row]) && this.marks[row] === Mark.fail ? Infinity : this.error[row];
    if (!this.inputs[row] && !(states.error[node] >= error)) states.error[node] = error;
  }

  // Stumps and operators without rows show what the program knows of them.
  private fillFromGraph(graph: Graph, states: NodeStates, i: number): void {
    if (states.row[i] < 0 && graph.worst[i] >= 0 && this.inSlice(graph.worst[i])) {
      states.row[i] = graph.worst[i];
      states.mark[i] = this.marks[graph.worst[i]];
    } else if (states.row[i] < 0 && !this.sliced) {
      states.mark[i] = [Mark.pass, Mark.fail, Mark.open, Mark.absent, Mark.unknown][graph.verdict[i]] ?? Mark.unknown;
    }
    if (this.sliced || states.mark[i] === Mark.pass) return;
    if (graph.role[i] !== Role.none && states.role[i] !== Role.introduces) states.role[i] = graph.role[i];
  }

  private judge(): void {
    const known = new Set(this.limits.all.map(keyOf));
    this.movedNow = new Map(this.state.view.limits.filter(([key]) => known.has(key)));
    this.marks = marksUnder(this.report, this.limits, this.movedNow);
    this.nodeCache = null;
  }

  private slice(): void {
    const rows: number[] = [];
    for (let i = 0; i < this.report.rows; i++) if (this.inSlice(i)) rows.push(i);
    this.rows = Int32Array.from(rows);
    this.nodeCache = null;
  }
}

// The limit on relative error that most rows were judged by.
function usualLimit(report: Report, limits: Limits): number {
  const counts = new Map<number, number>();
  const stride = Math.max(1, Math.floor(report.rows / 500));
  for (let row = 0; row < report.rows; row += stride) {
    if (report.verdict[row] === 3) continue;
    const of = limits.of(row);
    const limit = of.find(({ metric, operation }) => metric === "rel_euclid" && operation.startsWith("<"));
    const ratio = of.find(({ metric }) => metric === "sqnr_db");
    const value = limit?.value ?? (ratio ? errorAtRatio(ratio.value) : 0);
    if (value > 0) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const [usual] = [...counts].sort((a, b) => b[1] - a[1]);
  return usual ? usual[0] : 0.03;
}

function distinct(values: ArrayLike<number>): number[] {
  const found = new Set<number>();
  for (let i = 0; i < values.length; i++) if (values[i] >= 0) found.add(values[i]);
  return [...found].sort((a, b) => a - b);
}

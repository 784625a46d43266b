// SPDX-License-Identifier: Apache-2.0
//
// Made-up results for tests of the page: a transformer of any size with an operator that introduces
// error, its heirs, steps and ranks, or nothing at all. Only the page is under test here: what real
// comparisons look like is in the reports that the program writes.
import type { Details, Head, Summary } from "../src/data.ts";
import { type ColumnData, packColumns, type Packed } from "./pack.ts";

export interface Wanted {
  operators: number;
  steps?: number;
  ranks?: number;
  culprit?: number; // place of the operator that introduces error; none: a clean result
  nothing?: boolean; // nothing comparable
  baseline?: boolean;
  samples?: string[];
  names?: (place: number) => string;
  graph?: boolean;
}

// Numbers that look like chance and are the same everywhere.
export function chance(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

const kBlock = [
  "LayerNorm",
  "MatMul",
  "MatMul",
  "MatMul",
  "Transpose",
  "MatMul",
  "Softmax",
  "MatMul",
  "Add",
  "LayerNorm",
  "MatMul",
  "Gelu",
  "MatMul",
  "Add",
];
const kParts = [
  "ln1",
  "q",
  "k",
  "v",
  "transpose",
  "scores",
  "softmax",
  "context",
  "residual1",
  "ln2",
  "up",
  "gelu",
  "down",
  "residual2",
];
// What each of a block reads: places before it in the block; -1 is the end of the block before.
const kReads = [[-1], [0], [0], [0], [2], [1, 4], [5], [6, 3], [7, -1], [8], [9], [10], [11], [12, 8]];

interface Network {
  names: string[];
  types: string[];
  edges: [number, number][];
}

function network(count: number, names?: (place: number) => string): Network {
  const made: Network = { names: [], types: [], edges: [] };
  for (let i = 0; i < count; i++) {
    const block = Math.floor(i / kBlock.length);
    const part = i % kBlock.length;
    made.names.push(names?.(i) ?? `model/layers.${block}/${kParts[part]}`);
    made.types.push(kBlock[part]);
    for (const read of kReads[part]) {
      const from = read < 0 ? block * kBlock.length - 1 : block * kBlock.length + read;
      if (from >= 0) made.edges.push([from, i]);
    }
  }
  return made;
}

// One column of the page per so many blocks; parts of a block by rank.
function layout(
  net: Network,
  columns: number,
): { x: number[]; y: number[]; points: number[]; start: number[]; width: number; height: number } {
  const ranks = [0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
  const shift = [0, -1, 0, 1, 0, -0.5, -0.5, 0, 0, 0, 0, 0, 0, 0];
  const blocks = Math.ceil(net.names.length / kBlock.length);
  const each = Math.ceil(blocks / columns);
  const x = net.names.map(
    (_, i) => Math.floor(Math.floor(i / kBlock.length) / each) * 470 + 180 + shift[i % kBlock.length] * 140,
  );
  const y = net.names.map((_, i) => ((Math.floor(i / kBlock.length) % each) * 12 + ranks[i % kBlock.length]) * 50 + 20);
  const points: number[] = [];
  const start = [0];
  for (const [a, b] of net.edges) {
    points.push(x[a] + 60, y[a] + 28);
    if (y[b] < y[a])
      points.push(x[a] + 60, y[a] + 40, x[b] - 30, y[a] + 40, x[b] - 30, y[b] - 12, x[b] + 60, y[b] - 12);
    else if (y[b] - y[a] > 60) points.push(x[a] + 210, y[a] + 50, x[a] + 210, y[b] - 20);
    points.push(x[b] + 60, y[b]);
    start.push(points.length / 2);
  }
  return { x, y, points, start, width: Math.max(...x) + 320, height: Math.max(...y) + 60 };
}

export function makeNetwork(wanted: Wanted): { packed: Packed; details: Map<number, Details> } {
  const net = network(wanted.operators, wanted.names);
  const random = chance(7);
  const steps = wanted.steps ?? 0;
  const ranks = wanted.ranks ?? 0;
  const slices: [number, number][] = [];
  for (let s = 0; s < Math.max(1, steps); s++)
    for (let r = 0; r < Math.max(1, ranks); r++) slices.push([steps ? s : -1, ranks ? r : -1]);
  const reach = heirsOf(net, wanted.culprit ?? -1);
  const rows: Record<string, number[]> = {};
  const texts: Record<string, string[]> = {};
  const put = (name: string, value: number) => (rows[name] ??= []).push(value);
  const say = (name: string, value: string) => (texts[name] ??= []).push(value);
  const details = new Map<number, Details>();
  const totals = { pass: 0, fail: 0, inconclusive: 0, not_compared: 0, suspicious: 0 };
  let row = 0;
  for (const [step, rank] of slices)
    for (let i = 0; i < net.names.length; i++, row++) {
      // From the second step on, on the last rank only: what a scrubber is for.
      const here = (steps === 0 || step > 0) && (ranks === 0 || rank === ranks - 1);
      const bad = here && reach.has(i);
      const absent = wanted.nothing || (i % 97 === 13 && i !== wanted.culprit);
      const error = bad ? 0.09 * (0.6 + random()) : 2e-4 * (1 + i / net.names.length) * (0.5 + random());
      const near = !bad && !absent && i % 61 === 30;
      const verdict = absent ? 3 : bad ? 1 : 0;
      totals[(["pass", "fail", "inconclusive", "not_compared"] as const)[verdict]]++;
      if (near) totals.suspicious++;
      const shown = near ? 0.0007 : error;
      put("id", row);
      put("index", i);
      put("step", step);
      put("rank", rank);
      put("verdict", verdict);
      put("suspicious", near ? 1 : 0);
      put("output", i === net.names.length - 1 ? 1 : 0);
      put("node", i);
      put("has_target", 1);
      put("has_golden", absent ? 0 : 1);
      put("own", absent ? NaN : i === wanted.culprit && here ? error : error * 0.1);
      put("inherited", absent ? NaN : bad && i !== wanted.culprit ? error : 1e-4);
      put("measured", 0);
      put("role", !here || absent ? 0 : i === wanted.culprit ? 1 : bad ? 2 : 0);
      put("baseline", !wanted.baseline ? 0 : i === wanted.culprit ? 3 : bad ? 1 : i % 37 === 5 ? 2 : 1);
      put("metric.cosine", absent ? NaN : 1 - (shown * shown) / 2);
      put("metric.rel_euclid", absent ? NaN : shown);
      put("metric.sqnr_db", absent ? NaN : -20 * Math.log10(shown));
      put("metric.max_abs", absent ? NaN : shown * 3);
      say("reasons", absent ? "no_golden" : bad ? "limit:cosine, limit:rel_euclid" : "");
      say(
        "message",
        bad ? `relative distance ${error.toPrecision(3)} is above 0.001` : absent ? "golden has no such tensor" : "",
      );
      say("hint", "");
      say("pairing", absent ? "" : "name");
      say("evidence", "");
      say("sample", wanted.samples?.[step] ?? "");
      for (const side of ["target", "golden"]) {
        const there = side === "target" || !absent;
        say(`${side}.operator`, there ? net.names[i] : "");
        say(`${side}.type`, there ? net.types[i] : "");
        say(`${side}.slot`, there ? "output:0" : "");
        say(`${side}.dtype`, there ? "float32" : "");
        say(`${side}.shape`, there ? "1×64×256" : "");
        say(`${side}.layout`, "");
        say(`${side}.file`, there ? `${side}/${i}.npy` : "");
      }
      if (bad && details.size < 400) details.set(row, detailsOf(random));
    }
  const columns = new Map<string, ColumnData>();
  const small = new Set([
    "verdict",
    "suspicious",
    "output",
    "has_target",
    "has_golden",
    "measured",
    "role",
    "baseline",
  ]);
  const real = new Set(["own", "inherited"]);
  for (const [name, values] of Object.entries(rows))
    columns.set(name.startsWith("metric.") ? name : `row.${name}`, {
      type: name.startsWith("metric.") || real.has(name) ? "f64" : small.has(name) ? "u8" : "i32",
      values,
    });
  for (const [name, values] of Object.entries(texts)) columns.set(`row.${name}`, { type: "text", values });
  const graphs = wanted.graph === false ? [] : addGraphs(columns, net, rows, wanted);
  return { packed: packColumns(headOf(wanted, net, row, totals, reach, graphs, details.size), columns), details };
}

function heirsOf(net: Network, culprit: number): Set<number> {
  const reach = new Set<number>(culprit >= 0 ? [culprit] : []);
  for (const [from, to] of net.edges) if (reach.has(from)) reach.add(to);
  return reach;
}

function detailsOf(random: () => number): Details {
  const bell = (shift: number) =>
    Array.from({ length: 64 }, (_, i) =>
      Math.round(4000 * Math.exp(-(((i - 32 + shift) / 9) ** 2)) * (0.8 + 0.4 * random())),
    );
  const levels = Buffer.from(
    Array.from({ length: 1024 }, (_, i) => Math.min(63, Math.floor(random() * 30 + (i % 32 === 7 ? 33 : 0)))),
  );
  return {
    histogram: { low: -4.2, high: 4.4, target: bell(1), golden: bell(0) },
    channels: {
      axis: 1,
      size: 64,
      each: 1,
      error: Array.from({ length: 64 }, (_, i) => (i === 7 ? 0.9 : 0.02 * (0.5 + random()))),
      golden: Array.from({ length: 64 }, () => 1),
    },
    heat: { rows: 32, columns: 32, largest: 2.75, levels: levels.toString("base64") },
    worst: Array.from({ length: 8 }, (_, i) => ({
      index: [0, 7, i * 3],
      target: 1.5 - i / 10,
      golden: -1.25 + i / 20,
    })),
  };
}

function addGraphs(
  columns: Map<string, ColumnData>,
  net: Network,
  rows: Record<string, number[]>,
  wanted: Wanted,
): Head["graphs"] {
  const put = (name: string, type: "f64" | "f32" | "i32" | "u8", values: ArrayLike<number>) =>
    columns.set(name, { type, values });
  const n = net.names.length;
  const blocks = Math.ceil(n / kBlock.length);
  columns.set("g0.node.name", { type: "text", values: net.names });
  columns.set("g0.node.type", { type: "text", values: net.types });
  columns.set("g0.node.origins", {
    type: "text",
    values: net.names.map((name, i) => (net.types[i] === "Gelu" ? `${name}/erf, ${name}/mul` : name)),
  });
  put(
    "g0.node.row",
    "i32",
    net.names.map((_, i) => i),
  );
  put(
    "g0.node.verdict",
    "u8",
    net.names.map(() => 4),
  );
  put(
    "g0.node.kind",
    "u8",
    net.names.map(() => 0),
  );
  put(
    "g0.node.role",
    "u8",
    net.names.map(() => 0),
  );
  put(
    "g0.node.count",
    "i32",
    net.names.map(() => 1),
  );
  put(
    "g0.node.output",
    "u8",
    net.names.map((_, i) => (i === n - 1 ? 1 : 0)),
  );
  put(
    "g0.edge.from",
    "i32",
    net.edges.map(([from]) => from),
  );
  put(
    "g0.edge.to",
    "i32",
    net.edges.map(([, to]) => to),
  );
  const error = rows["metric.rel_euclid"];
  const last = error.length - n;
  put(
    "g0.edge.error",
    "f64",
    net.edges.map(([from]) => (wanted.nothing ? NaN : error[last + from])),
  );
  put(
    "g0.edge.stub",
    "u8",
    net.edges.map(() => 0),
  );
  const folds = [
    ...new Set([Math.max(1, Math.round(Math.sqrt(blocks * 2.2))), Math.max(1, Math.round(Math.sqrt(blocks / 1.5)))]),
  ].map((count, j) => {
    const placed = layout(net, count);
    put(`g0.fold${j}.x`, "f32", placed.x);
    put(`g0.fold${j}.y`, "f32", placed.y);
    put(`g0.fold${j}.points`, "f32", placed.points);
    put(`g0.fold${j}.start`, "i32", placed.start);
    return {
      label: j === 0 ? "wide" : "tall",
      width: placed.width,
      height: placed.height,
      node_width: 120,
      node_height: 28,
    };
  });
  const graphs: Head["graphs"] = [{ label: "operators", depth: null, nodes: n, edges: net.edges.length, folds }];
  if (blocks > 1) graphs.push(addBlocks(columns, net, blocks));
  return graphs;
}

// One node per block, one below the other in columns of twelve.
function addBlocks(columns: Map<string, ColumnData>, net: Network, blocks: number): Head["graphs"][0] {
  const places = Array.from({ length: blocks }, (_, i) => i);
  const put = (name: string, type: "f64" | "f32" | "i32" | "u8", values: ArrayLike<number>) =>
    columns.set(`g1.${name}`, { type, values });
  columns.set("g1.node.name", { type: "text", values: places.map((i) => `model/layers.${i}`) });
  columns.set("g1.node.type", { type: "text", values: places.map(() => "block") });
  put(
    "node.kind",
    "u8",
    places.map(() => 1),
  );
  put(
    "node.count",
    "i32",
    places.map(() => kBlock.length),
  );
  put(
    "node.row",
    "i32",
    places.map(() => -1),
  );
  put(
    "place_of",
    "i32",
    net.names.map((_, i) => Math.floor(i / kBlock.length)),
  );
  put(
    "edge.from",
    "i32",
    places.slice(1).map((i) => i - 1),
  );
  put("edge.to", "i32", places.slice(1));
  put(
    "edge.error",
    "f64",
    places.slice(1).map(() => NaN),
  );
  const [x, y] = [places.map((i) => 40 + Math.floor(i / 12) * 200), places.map((i) => 20 + (i % 12) * 60)];
  put("fold0.x", "f32", x);
  put("fold0.y", "f32", y);
  put(
    "fold0.points",
    "f32",
    places.slice(1).flatMap((i) => [x[i - 1] + 60, y[i - 1] + 28, x[i] + 60, y[i]]),
  );
  put(
    "fold0.start",
    "i32",
    places.map((i) => 2 * i),
  );
  return {
    label: "blocks, depth 2",
    depth: 2,
    nodes: blocks,
    edges: blocks - 1,
    folds: [
      { label: "wide", width: Math.max(...x) + 180, height: Math.max(...y) + 60, node_width: 120, node_height: 28 },
    ],
  };
}

function headOf(
  wanted: Wanted,
  net: Network,
  rows: number,
  totals: Omit<
    Summary,
    "verdict" | "rows" | "filtered" | "without_counterpart" | "coverage" | "first_divergence" | "outputs" | "layers"
  >,
  reach: Set<number>,
  graphs: Head["graphs"],
  details: number,
): Omit<Head, "columns"> {
  const verdict = wanted.nothing
    ? "not_compared"
    : totals.fail > 0
      ? "fail"
      : totals.not_compared > 0
        ? "inconclusive"
        : "pass";
  const outputs = wanted.nothing ? "not_compared" : totals.fail > 0 ? "fail" : "pass";
  const culprit = wanted.culprit === undefined ? null : net.names[wanted.culprit];
  const count = Math.max(1, wanted.steps ?? 1) * Math.max(1, wanted.ranks ?? 1);
  return {
    schema: "plumb.page/1",
    tool: { name: "plumb", version: "0.1.0" },
    run: {
      command: "compare",
      scenario: "dump-vs-dump",
      profile: "standard",
      target: { path: "npu/", convention: "named-npy", warnings: [] },
      golden: { path: "golden/", convention: "named-npy", warnings: [] },
    },
    summary: {
      verdict,
      rows,
      ...totals,
      filtered: 0,
      without_counterpart: 0,
      coverage: (rows - totals.not_compared) / rows,
      first_divergence: culprit,
      outputs: {
        verdict: outputs,
        rows: count,
        pass: outputs === "pass" ? count : 0,
        fail: outputs === "fail" ? count : 0,
        inconclusive: 0,
        not_compared: outputs === "not_compared" ? count : 0,
      },
      layers: {
        verdict: outputs,
        rows: rows - count,
        pass: totals.pass - (outputs === "pass" ? count : 0),
        fail: Math.max(0, totals.fail - count),
        inconclusive: 0,
        not_compared: totals.not_compared - (outputs === "not_compared" ? count : 0),
      },
    },
    samples: wanted.samples,
    accuracy: wanted.samples
      ? [
          {
            output: net.names.at(-1)!,
            samples: wanted.samples.length,
            agree: 0.75,
            first_disagreement: { sample: 1, target: 3, golden: 5 },
            labelled: wanted.samples.length,
            top: [
              { n: 1, target: 0.5, golden: 0.75 },
              { n: 5, target: 0.875, golden: 1 },
            ],
          },
        ]
      : undefined,
    findings:
      culprit === null
        ? []
        : [
            {
              rule: "operator",
              cause: "precision_mode",
              operator: culprit,
              confidence: 0.88,
              detail: "cast:float16",
              evidence: [
                {
                  text: "relative error 0.00021 at its inputs, 0.093 at its output",
                  row: wanted.culprit!,
                  metric: "rel_euclid",
                  value: 0.093,
                },
                { text: "99.9 % of its values are float16 values", row: wanted.culprit! },
              ],
              advice: "Keep this operator in float32, or allow float16 for it in the profile.",
              next: `plumb isolate RESULT.json --op '${culprit.replaceAll("'", "'\\''")}'`,
              consequences: [...reach].slice(1).map((i) => net.names[i]),
            },
          ],
    baseline: wanted.baseline
      ? {
          path: "before.json",
          version: "0.1.0",
          verdict: "fail",
          warnings: [],
          operators: [
            {
              operator: net.names[2],
              type: net.types[2],
              change: "changed",
              details: ["output:0 dtype float32 -> float16"],
            },
          ],
          tensors: [
            {
              operator: culprit ?? net.names[0],
              slot: "output:0",
              worse: true,
              output: false,
              reasons: ["verdict"],
              before: { verdict: "pass", cosine: 1, rel_euclid: 0.0002 },
              after: { verdict: "fail", cosine: 0.99, rel_euclid: 0.09 },
            },
            {
              operator: net.names[5],
              slot: "output:0",
              worse: false,
              output: false,
              reasons: ["rel_euclid"],
              before: { verdict: "fail", cosine: 0.98, rel_euclid: 0.2 },
              after: { verdict: "pass", cosine: 1, rel_euclid: 0.0003 },
            },
          ],
        }
      : null,
    metrics: [
      { name: "cosine", better: "higher", limit: 0.99999 },
      { name: "rel_euclid", better: "lower", limit: 0.001 },
      { name: "sqnr_db", better: "higher", limit: null },
      { name: "max_abs", better: "lower", limit: null },
    ],
    profile: {
      name: "standard",
      limits: [
        { metric: "cosine", operation: ">=", value: 0.999, dtype: null },
        { metric: "rel_euclid", operation: "<=", value: 0.03, dtype: null },
        { metric: "cosine", operation: ">=", value: 0.99999, dtype: "float32" },
        { metric: "rel_euclid", operation: "<=", value: 0.001, dtype: "float32" },
      ],
    },
    rows,
    graphs,
    details: { rows: details, chunks: 0, note: "" },
    notes: [],
  };
}

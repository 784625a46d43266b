// SPDX-License-Identifier: Apache-2.0
//
// A report in memory for unit tests, from rows that say only what a test is about.
import { viewsOf } from "../src/data.ts";
import type { Head, Limit } from "../src/data.ts";
import { Report } from "../src/report.ts";
import { type ColumnData, packColumns } from "./pack.ts";

export interface Row {
  op?: string;
  golden?: string;
  type?: string;
  slot?: string;
  goldenSlot?: string;
  excused?: boolean;
  dtype?: string;
  verdict?: number;
  suspicious?: boolean;
  reasons?: string;
  step?: number;
  rank?: number;
  cosine?: number;
  rel_euclid?: number;
}

export const kLimits: Limit[] = [
  { metric: "cosine", operation: ">=", value: 0.999, dtype: null },
  { metric: "rel_euclid", operation: "<=", value: 0.03, dtype: null },
  { metric: "rel_euclid", operation: "<=", value: 0.001, dtype: "float32" },
];

export function smallReport(rows: Row[], limits = kLimits): Report {
  const text = (get: (row: Row) => string): ColumnData => ({ type: "text", values: rows.map(get) });
  const numbers = (type: "f64" | "i32" | "u8", get: (row: Row) => number): ColumnData => ({
    type,
    values: rows.map(get),
  });
  const columns = new Map<string, ColumnData>([
    ["row.target.operator", text((r) => r.op ?? "op")],
    ["row.golden.operator", text((r) => r.golden ?? r.op ?? "op")],
    ["row.target.type", text((r) => r.type ?? "Conv")],
    ["row.golden.type", text((r) => r.type ?? "Conv")],
    ["row.target.slot", text((r) => r.slot ?? "output:0")],
    ["row.golden.slot", text((r) => r.goldenSlot ?? r.slot ?? "output:0")],
    ["row.excused", numbers("u8", (r) => (r.excused ? 1 : 0))],
    ["row.target.dtype", text((r) => r.dtype ?? "float32")],
    ["row.golden.dtype", text(() => "float32")],
    ["row.reasons", text((r) => r.reasons ?? "")],
    ["row.verdict", numbers("u8", (r) => r.verdict ?? 0)],
    ["row.suspicious", numbers("u8", (r) => (r.suspicious ? 1 : 0))],
    ["row.step", numbers("i32", (r) => r.step ?? -1)],
    ["row.rank", numbers("i32", (r) => r.rank ?? -1)],
    ["metric.cosine", numbers("f64", (r) => r.cosine ?? 1)],
    ["metric.rel_euclid", numbers("f64", (r) => r.rel_euclid ?? 0)],
  ]);
  const metrics = [
    { name: "cosine", better: "higher", limit: 0.999 },
    { name: "rel_euclid", better: "lower", limit: 0.03 },
  ];
  const head = {
    rows: rows.length,
    run: { scenario: "" },
    graphs: [],
    findings: [],
    metrics,
    profile: { name: "standard", limits },
  } as unknown as Head;
  const packed = packColumns(head, columns);
  const buffer = new Uint8Array(packed.columns).buffer;
  return new Report({
    head: packed.head,
    columns: viewsOf(packed.head, buffer),
    texts: packed.texts,
    details: async () => null,
  });
}

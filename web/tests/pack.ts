// SPDX-License-Identifier: Apache-2.0
//
// Packs data into the template the way the program does, so that tests of the page can have reports
// that no comparison on a small machine would give: 20,000 operators, names from hell.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Details, Head } from "../src/data.ts";

export type ColumnData =
  { type: "f64" | "f32" | "i32" | "u8"; values: ArrayLike<number> } | { type: "text"; values: string[] };

const kBytes = { f64: 8, f32: 4, i32: 4, u8: 1, text: 4 };

export interface Packed {
  head: Head;
  columns: Buffer;
  texts: string[];
}

export function packColumns(head: Omit<Head, "columns">, data: Map<string, ColumnData>): Packed {
  const texts = [""];
  const places = new Map([["", 0]]);
  const columns: Head["columns"] = [];
  let size = 0;
  for (const [name, { type, values }] of data) {
    columns.push({ name, type, count: values.length, offset: size });
    size = Math.ceil((size + values.length * kBytes[type]) / 8) * 8;
  }
  const buffer = Buffer.alloc(size);
  columns.forEach(({ name, type, count, offset }) => {
    const { values } = data.get(name)!;
    for (let i = 0; i < count; i++) {
      const value = values[i];
      if (typeof value === "string") {
        if (!places.has(value)) places.set(value, texts.push(value) - 1);
        buffer.writeUInt32LE(places.get(value)!, offset + 4 * i);
      } else if (type === "f64") buffer.writeDoubleLE(value, offset + 8 * i);
      else if (type === "f32") buffer.writeFloatLE(value, offset + 4 * i);
      else if (type === "i32") buffer.writeInt32LE(value, offset + 4 * i);
      else buffer.writeUInt8(value, offset + i);
    }
  });
  return { head: { ...head, columns }, columns: buffer, texts };
}

const block = (id: string, data: Buffer | string, attributes = "") =>
  `<script type="text/plain" id="${id}"${attributes}>${gzipSync(data).toString("base64")}</script>`;

export function pageWith(packed: Packed, details: Map<number, Details> = new Map()): string {
  const template = readFileSync(fileURLToPath(new URL("../dist/report.html", import.meta.url)), "utf8");
  const chunks: string[] = [];
  for (let first = 0, k = 0; first < packed.head.rows; first += 256) {
    const rows = [...details.keys()].filter((row) => row >= first && row < first + 256);
    if (rows.length === 0) continue;
    const json = JSON.stringify({ rows, details: rows.map((row) => details.get(row)) });
    chunks.push(block(`plumb-details-${k++}`, json, ` data-first="${first}" data-last="${first + 255}"`));
  }
  const data = [
    block("plumb-head", JSON.stringify(packed.head)),
    block("plumb-columns", packed.columns),
    block("plumb-texts", JSON.stringify(packed.texts)),
    ...chunks,
  ].join("\n");
  return template.replace("<!--plumb:data-->", () => data);
}

export function writePage(file: string, packed: Packed, details?: Map<number, Details>): void {
  writeFileSync(file, pageWith(packed, details));
}

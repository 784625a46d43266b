// SPDX-License-Identifier: Apache-2.0
//
// Unpacks what the program put into the page: a head (JSON), columns (binary), texts (JSON), and
// details of rows in chunks that are unpacked when somebody looks at one.

export type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array;

export interface Counts {
  verdict: string;
  rows: number;
  pass: number;
  fail: number;
  inconclusive: number;
  not_compared: number;
}
export interface Summary extends Counts {
  filtered: number;
  without_counterpart: number;
  suspicious: number;
  coverage: number;
  first_divergence: string | null;
  outputs: Counts;
  layers: Counts;
}
export interface Side {
  path: string;
  convention: string;
  warnings?: string[];
}
export interface Run {
  command: string;
  scenario: string;
  profile: string;
  target: Side;
  golden: Side;
  graphs?: string[];
  outputs_not_compared?: string[];
  order_recorded?: boolean;
  doubts?: string[];
  warnings?: string[];
  interrupted?: boolean;
  elapsed_s?: number;
}
export interface Evidence {
  text: string;
  row?: number | null;
  metric?: string | null;
  value?: number | string | null;
}
export interface Finding {
  rule: string;
  cause: string;
  operator: string | null;
  confidence: number;
  evidence: Evidence[];
  detail: string | null;
  advice: string;
  next: string | null;
  consequences?: string[];
}
export interface Accuracy {
  output: string;
  samples: number;
  agree: number;
  first_disagreement: { sample: number; target: number; golden: number } | null;
  labelled: number;
  top: { n: number; target: number; golden: number }[];
}
export interface Standing {
  verdict: string;
  cosine: number | string | null;
  rel_euclid: number | string | null;
}
export interface Baseline {
  path: string;
  version: string;
  verdict: string;
  warnings: string[];
  tensors: {
    operator: string;
    slot: string;
    worse: boolean;
    output: boolean;
    reasons: string[];
    before: Standing;
    after: Standing | null;
  }[];
  operators: { operator: string; type: string; change: string; details: string[] }[];
}
export interface Limit {
  metric: string;
  operation: string; // >= > <= < within
  value: number;
  dtype: string | null; // the table of the profile: null for [limits], else float32, ..., output
}
export interface Metric {
  name: string;
  better: string; // higher, lower, one, none
  limit: number | null;
}
export interface Fold {
  label: string;
  width: number;
  height: number;
  node_width: number;
  node_height: number;
}
export interface GraphHead {
  label: string;
  depth: number | null;
  nodes: number;
  edges: number;
  folds: Fold[];
}
export interface Head {
  schema: string;
  tool: { name: string; version: string };
  run: Run;
  summary: Summary;
  samples?: string[];
  accuracy?: Accuracy[];
  findings: Finding[];
  baseline?: Baseline | null;
  metrics: Metric[];
  profile: { name: string; limits: Limit[] };
  rows: number;
  columns: { name: string; type: string; count: number; offset: number }[];
  graphs: GraphHead[];
  details: { rows: number; chunks: number; note: string };
  notes: string[];
}

export interface Details {
  histogram?: { low: number; high: number; target: number[]; golden: number[] };
  channels?: { axis: number; size: number; each: number; error: (number | null)[]; golden: (number | null)[] };
  heat?: { rows: number; columns: number; largest: number; levels: string };
  worst?: { index: number[]; target: number | string; golden: number | string }[];
}

// The data of the page, and where its details are.
export interface Payload {
  head: Head;
  columns: Map<string, Numbers>;
  texts: string[];
  details(row: number): Promise<Details | null>;
}

export function bytesFromBase64(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function unpack(id: string): Promise<ArrayBuffer> {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the report holds no block '${id}': it is not complete`);
  const bytes = await gunzip(bytesFromBase64(element.textContent ?? ""));
  if (id !== "plumb-head") element.remove(); // the packed text is not needed again
  return bytes;
}

const json = (bytes: ArrayBuffer) => JSON.parse(new TextDecoder().decode(bytes));

// Columns as views into the one buffer: nothing is copied.
export function viewsOf(head: Head, buffer: ArrayBuffer): Map<string, Numbers> {
  const views = new Map<string, Numbers>();
  for (const { name, type, count, offset } of head.columns) {
    if (type === "f64") views.set(name, new Float64Array(buffer, offset, count));
    else if (type === "f32") views.set(name, new Float32Array(buffer, offset, count));
    else if (type === "i32") views.set(name, new Int32Array(buffer, offset, count));
    else if (type === "u8") views.set(name, new Uint8Array(buffer, offset, count));
    else if (type === "text") views.set(name, new Uint32Array(buffer, offset, count));
    else throw new Error(`column '${name}' is of the unknown type '${type}'`);
  }
  return views;
}

type Chunk = { rows: number[]; details: Details[] };

export async function load(): Promise<Payload> {
  const [headBytes, columnBytes, textBytes] = await Promise.all(
    ["plumb-head", "plumb-columns", "plumb-texts"].map(unpack),
  );
  const head = json(headBytes) as Head;
  if (!head.schema.startsWith("plumb.page/1")) throw new Error(`unknown kind of report: ${head.schema}`);
  const chunks = new Map<string, Promise<Chunk>>();
  const places = Array.from(document.querySelectorAll<HTMLElement>('[id^="plumb-details-"]'), (element) => ({
    id: element.id,
    first: Number(element.dataset.first),
    last: Number(element.dataset.last),
  }));
  return {
    head,
    columns: viewsOf(head, columnBytes),
    texts: json(textBytes) as string[],
    async details(row) {
      const place = places.find(({ first, last }) => row >= first && row <= last);
      if (!place) return null;
      let chunk = chunks.get(place.id);
      if (!chunk) chunks.set(place.id, (chunk = unpack(place.id).then((bytes) => json(bytes) as Chunk)));
      const { rows, details } = await chunk;
      return details[rows.indexOf(row)] ?? null;
    },
  };
}

// SPDX-License-Identifier: Apache-2.0
//
// What the reader looks at, as one value: every part of the page reads it, changes it through set(),
// and hears of changes. It stands in the address of the page (after #), so a link shows the same view.

export interface View {
  op: string; // selected operator, "" for none
  slot: string; // of the selected row, "" for the operator's worst
  row: number | null; // the row itself, where operator and slot do not tell (several steps)
  step: number | null; // slice: null for all
  rank: number | null;
  metric: string; // of the plot
  zoom: [number, number] | null; // of the plot, in places
  q: string; // filter words
  marks: string[]; // keys of marks that the table shows; empty for all
  sort: string; // column, "-" in front for descending; "" for order of execution
  columns: "key" | "all";
  pane: "split" | "graph" | "table";
  graph: number; // which of the graphs
  camera: [number, number, number] | null; // centre and scale of the graph; null: fitted
  tab: "findings" | "operator";
  trace: boolean;
  diff: boolean; // coloured by the baseline
  limits: [string, number][]; // what-if limits
  theme: "" | "light" | "dark"; // "": as the system
}

export const kStart: View = {
  op: "",
  slot: "",
  row: null,
  step: null,
  rank: null,
  metric: "",
  zoom: null,
  q: "",
  marks: [],
  sort: "",
  columns: "key",
  pane: "split",
  graph: 0,
  camera: null,
  tab: "findings",
  trace: false,
  diff: false,
  limits: [],
  theme: "",
};

type Key = keyof View;

// As text after #, only what differs from the start.
export function hashOf(view: View): string {
  const parts: string[] = [];
  const put = (key: string, value: string) => parts.push(`${key}=${encode(value)}`);
  if (view.op) put("op", view.op);
  if (view.slot) put("slot", view.slot);
  if (view.row !== null) put("row", String(view.row));
  if (view.step !== null) put("step", String(view.step));
  if (view.rank !== null) put("rank", String(view.rank));
  if (view.metric) put("metric", view.metric);
  if (view.zoom) put("zoom", view.zoom.map((x) => x.toFixed(1)).join("~"));
  if (view.q) put("q", view.q);
  if (view.marks.length > 0) put("show", view.marks.join(","));
  if (view.sort) put("sort", view.sort);
  if (view.columns !== kStart.columns) put("columns", view.columns);
  if (view.pane !== kStart.pane) put("pane", view.pane);
  if (view.graph !== 0) put("graph", String(view.graph));
  if (view.camera) put("at", view.camera.map((x) => Number(x.toPrecision(6))).join("~"));
  if (view.tab !== (view.op ? "operator" : "findings")) put("tab", view.tab);
  if (view.trace) put("trace", "1");
  if (view.diff) put("diff", "1");
  if (view.limits.length > 0) put("limits", view.limits.map(([key, bound]) => `${key}:${bound}`).join(","));
  if (view.theme) put("theme", view.theme);
  return parts.join("&");
}

// Slashes and colons stay readable; a half of a pair in a name would make encodeURIComponent throw.
function encode(text: string): string {
  return encodeURIComponent(
    text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd"),
  )
    .replaceAll("%2F", "/")
    .replaceAll("%3A", ":")
    .replaceAll("%2C", ",");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The view of an address; what it does not say, or says wrongly, is as at the start.
export function viewOf(hash: string): View {
  const said = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) said.set(part.slice(0, at), decode(part.slice(at + 1)));
  }
  const text = (key: string) => said.get(key) ?? "";
  const whole = (key: string) => (/^-?\d+$/.test(text(key)) ? Number(text(key)) : null);
  const numbers = (key: string, count: number) => {
    const values = text(key).split("~").map(Number);
    return values.length === count && text(key) !== "" && values.every(Number.isFinite) ? values : null;
  };
  const oneOf = <T extends string>(key: string, choices: readonly T[], start: T) =>
    choices.find((choice) => choice === text(key)) ?? start;
  return {
    op: text("op"),
    slot: text("slot"),
    row: whole("row"),
    step: whole("step"),
    rank: whole("rank"),
    metric: text("metric"),
    zoom: numbers("zoom", 2) as [number, number] | null,
    q: text("q"),
    marks: text("show") === "" ? [] : text("show").split(","),
    sort: text("sort"),
    columns: oneOf("columns", ["key", "all"], "key"),
    pane: oneOf("pane", ["split", "graph", "table"], "split"),
    graph: Math.max(0, whole("graph") ?? 0),
    camera: numbers("at", 3) as [number, number, number] | null,
    tab: oneOf("tab", ["findings", "operator"], text("op") ? "operator" : "findings"),
    trace: text("trace") === "1",
    diff: text("diff") === "1",
    limits: limitsOf(text("limits")),
    theme: oneOf("theme", ["light", "dark"], "" as "" | "light" | "dark"),
  };
}

function limitsOf(text: string): [string, number][] {
  const limits: [string, number][] = [];
  for (const part of text.split(",")) {
    const at = part.lastIndexOf(":");
    const bound = Number(part.slice(at + 1));
    if (at > 0 && part.length > at + 1 && Number.isFinite(bound)) limits.push([part.slice(0, at), bound]);
  }
  return limits;
}

type Listener = (changed: ReadonlySet<Key>) => void;

export class State {
  private value: View;
  private readonly listeners: Listener[] = [];
  private timer = 0;

  constructor(hash: string) {
    this.value = viewOf(hash);
  }

  get view(): Readonly<View> {
    return this.value;
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(patch: Partial<View>, quiet = false): void {
    const changed = new Set<Key>();
    for (const key of Object.keys(patch) as Key[])
      if (JSON.stringify(patch[key]) !== JSON.stringify(this.value[key])) changed.add(key);
    if (changed.size === 0) return;
    this.value = { ...this.value, ...patch };
    if (!quiet) for (const listener of this.listeners) listener(changed);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.writeAddress(), 80);
  }

  // The address changed by hand, or through back and forward.
  readAddress(): void {
    if (decode(location.hash.slice(1)) !== decode(hashOf(this.value))) this.set(viewOf(location.hash));
  }

  writeAddress(): void {
    const hash = hashOf(this.value);
    if (location.hash.slice(1) === hash) return;
    history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  }
}

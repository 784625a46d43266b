// SPDX-License-Identifier: Apache-2.0
//
// The graph on a canvas: pan, zoom, select, trace to the origin. While the view moves, a bitmap that
// is larger than the window is moved; it is drawn anew when its edge comes in sight.
import { h, sized } from "./dom.ts";
import { Minimap } from "./minimap.ts";
import type { Model } from "./model.ts";
import { type Camera, Index, type Overlay, Painter } from "./paint.ts";
import { drawPins } from "./pins.ts";
import { kMarks, Role } from "./report.ts";
import { clean, number, shorten } from "./text.ts";
import { palette } from "./theme.ts";
import { type Neighbours, neighboursOf, type Trace, traceToOrigin } from "./trace.ts";

const kMargin = 0.35; // of the window, on each side of the bitmap
const kReadable = 0.92; // scale at which names can be read
const kFrame = 11; // milliseconds that a drawing may take while the view moves
const kLeast = 0.004;
const kMost = 3;

export class GraphView {
  private readonly canvas = h("canvas", { class: "scene", tabindex: 0, role: "application" });
  private readonly cache = document.createElement("canvas");
  private readonly tip = h("div", { class: "tip hidden", "aria-hidden": "true" });
  private readonly minimap: Minimap;
  private cached: Camera | null = null; // of the bitmap, null: to be drawn anew
  private camera: Camera = { x: 0, y: 0, k: 1 };
  private painter!: Painter;
  private neighbours!: Neighbours;
  private traced: Trace | null = null;
  private dim: Uint8Array | null = null;
  private queued = false;
  private sharpen = 0;
  private lastCost = 0;
  private fitted = false; // the whole graph is in view, and stays so when the window changes
  private size = { width: 0, height: 0 };
  private readonly pointers = new Map<number, { x: number; y: number }>();
  frames: number[] = []; // milliseconds of the last frames, for measurements

  constructor(
    private readonly place: HTMLElement,
    private readonly strip: HTMLElement, // beside it, for the minimap
    private readonly model: Model,
    private readonly matches: () => ((row: number) => boolean) | null,
  ) {
    place.append(this.canvas, this.tip);
    this.minimap = new Minimap(strip, (x, y) => this.moveTo(x, y, this.camera.k));
    this.size = { width: place.clientWidth, height: place.clientHeight };
    this.openGraph();
    this.startCamera();
    this.wire();
    model.state.listen((changed) => {
      if (changed.has("graph")) {
        this.openGraph();
        this.model.state.set({ camera: null }, true);
        this.startCamera();
      } else if (["step", "rank", "limits"].some((key) => changed.has(key as never))) this.recolour();
      if (changed.has("camera")) this.startCamera();
      if (changed.has("q") || changed.has("marks")) this.refilter();
      if (changed.has("op") || changed.has("trace") || changed.has("graph")) this.retrace();
      if (changed.has("trace") && this.traced && this.traced.nodes.length > 1) this.showPath(this.traced.nodes);
      else if (changed.has("op") && !changed.has("camera")) this.reveal();
      this.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(place);
    this.refilter();
    this.retrace();
    this.redraw();
  }

  // After a change of colours.
  repaint(): void {
    this.recolour();
    this.redraw();
  }

  get trace(): Trace | null {
    return this.traced;
  }

  fit(): void {
    this.fitNow();
    this.remember();
    this.fitted = true;
    this.redraw();
  }

  zoomBy(factor: number, px = this.size.width / 2, py = this.size.height / 2): void {
    const k = Math.min(kMost, Math.max(kLeast, this.camera.k * factor));
    this.camera = { k, x: this.camera.x + px / this.camera.k - px / k, y: this.camera.y + py / this.camera.k - py / k };
    this.remember();
    this.redraw(true);
  }

  panBy(dx: number, dy: number): void {
    this.camera = { ...this.camera, x: this.camera.x - dx / this.camera.k, y: this.camera.y - dy / this.camera.k };
    this.remember();
    this.redraw(true);
  }

  // Where a node is, in pixels of the window; for tests.
  positionOf(node: number): { x: number; y: number } {
    const { x, y, head } = this.painter.fold;
    const box = this.canvas.getBoundingClientRect();
    return {
      x: box.left + (x[node] + head.node_width / 2 - this.camera.x) * this.camera.k,
      y: box.top + (y[node] + head.node_height / 2 - this.camera.y) * this.camera.k,
    };
  }

  private graphPlace(): number {
    return Math.min(this.model.state.view.graph, this.model.report.graphs.length - 1);
  }

  // The fold whose shape suits the window best.
  private openGraph(): void {
    const place = this.graphPlace();
    const graph = this.model.report.graphs[place];
    const { width, height } = this.size;
    const scaleOf = (w: number, hh: number) => Math.min(width / Math.max(1, w), height / Math.max(1, hh));
    const fold = graph.folds.reduce((a, b) =>
      scaleOf(b.head.width, b.head.height) > scaleOf(a.head.width, a.head.height) ? b : a,
    );
    this.painter = new Painter(this.model, graph, fold, new Index(graph, fold), place);
    this.neighbours = neighboursOf(graph);
    this.cached = null;
    this.minimap.render(this.painter, this.strip);
    this.canvas.setAttribute(
      "aria-label",
      `graph of ${graph.nodes} operators and ${graph.edges} edges; arrow keys walk along edges, plus and minus zoom, 0 fits`,
    );
  }

  private recolour(): void {
    this.painter.refresh();
    this.cached = null;
    this.minimap.render(this.painter, this.strip);
    this.retrace();
  }

  private startCamera(): void {
    const camera = this.model.state.view.camera;
    if (camera) {
      const [cx, cy, k] = camera;
      this.moveTo(cx, cy, Math.min(kMost, Math.max(kLeast, k)), true);
      return;
    }
    this.fitNow();
    const node = this.selectedNode() >= 0 ? this.selectedNode() : this.culprit();
    if (node >= 0 && this.camera.k < 0.5) this.centre(node, kReadable, true);
  }

  private fitNow(): void {
    const { width, height } = this.painter.fold.head;
    const room = (size: number) => Math.max(20, size - 32);
    const k = Math.min(1.25, room(this.size.width) / width, room(this.size.height) / height);
    this.camera = { k, x: width / 2 - this.size.width / k / 2, y: height / 2 - this.size.height / k / 2 };
  }

  private moveTo(cx: number, cy: number, k: number, quiet = false): void {
    this.camera = { k, x: cx - this.size.width / k / 2, y: cy - this.size.height / k / 2 };
    if (!quiet) this.remember();
    this.redraw(true);
  }

  private centre(node: number, k: number, quiet = false): void {
    const { x, y, head } = this.painter.fold;
    // No more emptiness around the graph than a margin.
    const inside = (at: number, room: number, whole: number) => {
      const half = room / k / 2 - 30;
      return 2 * half >= whole ? whole / 2 : Math.min(whole - half, Math.max(half, at));
    };
    const cx = inside(x[node] + head.node_width / 2, this.size.width, head.width);
    const cy = inside(y[node] + head.node_height / 2, this.size.height, head.height);
    this.moveTo(cx, cy, k, quiet);
  }

  private remember(): void {
    this.fitted = false;
    const { x, y, k } = this.camera;
    this.model.state.set({ camera: [x + this.size.width / k / 2, y + this.size.height / k / 2, k] }, true);
  }

  private selectedNode(): number {
    const { op } = this.model.state.view;
    if (op === "") return -1;
    const row = this.model.selected();
    const node = this.model.nodeOf(row, this.graphPlace());
    if (node >= 0) return node;
    // Stumps, and operators of which there is no row.
    const { graph } = this.painter;
    for (let i = 0; i < graph.nodes; i++) if (row < 0 ? graph.name(i) === op : graph.worst[i] === row) return i;
    return -1;
  }

  // The first operator that introduces error, by the order of the findings.
  private culprit(): number {
    for (const finding of this.model.report.head.findings) {
      const row = finding.operator === null ? -1 : this.model.worstOf(this.model.report.rowsOf(finding.operator));
      const node = this.model.nodeOf(row, this.graphPlace());
      if (node >= 0) return node;
    }
    return this.painter.states.role.indexOf(Role.introduces);
  }

  showCulprit(): void {
    const node = this.culprit();
    if (node >= 0) this.model.select(this.painter.states.row[node]);
    if (node >= 0) this.centre(node, Math.max(this.camera.k, kReadable));
  }

  // Moves the view only if the selected operator is out of sight or too small.
  private reveal(): void {
    const node = this.selectedNode();
    if (node < 0) return;
    const { x, y, head } = this.painter.fold;
    const { k } = this.camera;
    const left = (x[node] - this.camera.x) * k;
    const top = (y[node] - this.camera.y) * k;
    const inside =
      left > 8 &&
      top > 8 &&
      left + head.node_width * k < this.size.width - 8 &&
      top + head.node_height * k < this.size.height - 8;
    if (!inside || k < 0.3) this.centre(node, Math.max(k, kReadable));
  }

  // The whole path in view, if its operators stay large enough to be seen.
  private showPath(nodes: number[]): void {
    const { x, y, head } = this.painter.fold;
    const [x0, x1] = [Math.min(...nodes.map((i) => x[i])), Math.max(...nodes.map((i) => x[i])) + head.node_width];
    const [y0, y1] = [Math.min(...nodes.map((i) => y[i])), Math.max(...nodes.map((i) => y[i])) + head.node_height];
    const k = Math.min(kReadable, this.size.width / (x1 - x0 + 80), this.size.height / (y1 - y0 + 80));
    if (k > 0.08) this.moveTo((x0 + x1) / 2, (y0 + y1) / 2, k);
    else this.reveal();
  }

  private retrace(): void {
    const node = this.selectedNode();
    const { states, graph } = this.painter;
    this.traced =
      this.model.state.view.trace && node >= 0
        ? traceToOrigin(graph, this.neighbours, node, (i) => states.error[i], states.role, this.model.errorLimit)
        : null;
    this.cached = null;
  }

  // Nodes without a row that matches the filter step back.
  private refilter(): void {
    const filter = this.matches();
    this.cached = null;
    if (!filter) {
      this.dim = null;
      return;
    }
    const place = this.graphPlace();
    const dim = new Uint8Array(this.painter.graph.nodes).fill(1);
    for (const row of this.model.rows) {
      const node = this.model.nodeOf(row, place);
      if (node >= 0 && dim[node] && filter(row)) dim[node] = 0;
    }
    for (let i = 0; i < dim.length; i++) {
      const worst = this.painter.graph.worst[i];
      if (dim[i] && worst >= 0 && filter(worst)) dim[i] = 0;
    }
    this.dim = dim;
  }

  // For paper: at once, in the size and the colours of now.
  print(): void {
    this.resize();
    this.recolour();
    this.frame();
  }

  private resize(): void {
    const { width, height } = this.size;
    const now = { width: this.place.clientWidth, height: this.place.clientHeight };
    if (now.width === 0 || now.height === 0 || (now.width === width && now.height === height)) return;
    const [cx, cy] = [this.camera.x + width / this.camera.k / 2, this.camera.y + height / this.camera.k / 2];
    const wasHidden = width === 0 || height === 0;
    this.size = now;
    this.cached = null;
    if (wasHidden) {
      this.openGraph();
      this.startCamera();
    } else if (this.fitted) this.fit();
    else if (this.model.state.view.camera === null) this.startCamera();
    else this.moveTo(cx, cy, this.camera.k, true);
    this.redraw();
  }

  // `moving`: a slightly blurred bitmap will do until the view rests.
  private redraw(moving = false): void {
    if (!moving) this.cached = null;
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      const start = performance.now();
      this.frame();
      this.frames.push(performance.now() - start);
      if (this.frames.length > 240) this.frames.shift();
    });
  }

  private frame(): void {
    const { width, height } = this.size;
    if (width === 0 || height === 0) return;
    const ctx = sized(this.canvas, width, height);
    ctx.fillStyle = palette().surface;
    ctx.fillRect(0, 0, width, height);
    const { camera } = this;
    const old = this.cached;
    const fits = old !== null && old.k === camera.k && this.covers(old);
    // A drawing that takes longer than a frame waits until the view rests.
    if (!old || (!fits && this.lastCost < kFrame)) this.render();
    else if (!fits) {
      clearTimeout(this.sharpen);
      this.sharpen = window.setTimeout(() => this.redraw(), 70);
    }
    const shown = this.cached!;
    const ratio = camera.k / shown.k;
    const [w, hh] = [width * (1 + 2 * kMargin), height * (1 + 2 * kMargin)];
    ctx.drawImage(this.cache, (shown.x - camera.x) * camera.k, (shown.y - camera.y) * camera.k, w * ratio, hh * ratio);
    drawPins(ctx, this.model, this.painter, this.camera, this.size, this.graphPlace());
    this.minimap.frame(camera, width, height);
  }

  // Whether the bitmap has all of the graph that is in view.
  private covers(old: Camera): boolean {
    const { x, y, k } = this.camera;
    const { width, height } = this.painter.fold.head;
    const around = 60 / k; // bursts and rings reach beyond the nodes
    const inside = (at: number, room: number, from: number, whole: number) =>
      Math.max(at, -around) >= from && Math.min(at + room / k, whole + around) <= from + (room * (1 + 2 * kMargin)) / k;
    return inside(x, this.size.width, old.x, width) && inside(y, this.size.height, old.y, height);
  }

  private render(): void {
    const start = performance.now();
    const { width, height } = this.size;
    const { k } = this.camera;
    const view: Camera = { k, x: this.camera.x - (width * kMargin) / k, y: this.camera.y - (height * kMargin) / k };
    const [w, hh] = [width * (1 + 2 * kMargin), height * (1 + 2 * kMargin)];
    const ctx = sized(this.cache, w, hh);
    ctx.fillStyle = palette().surface;
    ctx.fillRect(0, 0, w, hh);
    ctx.scale(k, k);
    ctx.translate(-view.x, -view.y);
    const trace = this.traced && { nodes: new Set(this.traced.nodes), edges: new Set(this.traced.edges) };
    const overlay: Overlay = { dim: this.dim, trace, selected: this.selectedNode() };
    this.painter.draw(ctx, view, w, hh, overlay);
    this.cached = view;
    this.lastCost = performance.now() - start;
  }

  private wire(): void {
    const { canvas } = this;
    let moved = 0;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
      moved = 0;
    });
    canvas.addEventListener("pointermove", (e) => {
      const last = this.pointers.get(e.pointerId);
      if (!last) {
        this.hover(e.offsetX, e.offsetY);
        return;
      }
      const [dx, dy] = [e.offsetX - last.x, e.offsetY - last.y];
      moved += Math.abs(dx) + Math.abs(dy);
      if (this.pointers.size === 1) this.panBy(dx, dy);
      else this.pinch(e);
      this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    });
    const up = (e: PointerEvent) => {
      if (this.pointers.delete(e.pointerId) && moved < 5 && e.type === "pointerup") this.pick(e.offsetX, e.offsetY);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.tip.classList.add("hidden"));
    canvas.addEventListener(
      "wheel",
      (e) => {
        // On a page that scrolls, the wheel scrolls it unless Ctrl is held.
        const scrolls = document.documentElement.scrollHeight > innerHeight + 4;
        if (scrolls && !e.ctrlKey) return;
        e.preventDefault();
        this.zoomBy(Math.exp(-e.deltaY * (e.ctrlKey ? 0.008 : 0.0015)), e.offsetX, e.offsetY);
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", (e) => this.zoomBy(1.8, e.offsetX, e.offsetY));
    canvas.addEventListener("keydown", (e) => this.onKey(e));
  }

  private pinch(e: PointerEvent): void {
    const [a, b] = [...this.pointers.values()];
    const other = [...this.pointers].find(([id]) => id !== e.pointerId)?.[1];
    if (!a || !b || !other) return;
    const before = Math.hypot(a.x - b.x, a.y - b.y);
    const after = Math.hypot(e.offsetX - other.x, e.offsetY - other.y);
    if (before > 0) this.zoomBy(after / before, (e.offsetX + other.x) / 2, (e.offsetY + other.y) / 2);
  }

  private nodeAt(px: number, py: number): number {
    const { x, y, k } = this.camera;
    return this.painter.index.nodeAt(x + px / k, y + py / k, 6 / k);
  }

  private pick(px: number, py: number): void {
    const node = this.nodeAt(px, py);
    if (node < 0) this.model.select(-1);
    else this.choose(node);
  }

  private choose(node: number): void {
    const row = this.painter.states.row[node];
    if (row >= 0) this.model.select(row);
    else this.model.state.set({ op: this.painter.graph.name(node), slot: "", row: null, tab: "operator" });
  }

  private hover(px: number, py: number): void {
    const node = this.nodeAt(px, py);
    this.tip.classList.toggle("hidden", node < 0);
    this.canvas.style.cursor = node < 0 ? "" : "pointer";
    if (node < 0) return;
    const { graph, states } = this.painter;
    const origins = graph.origins(node);
    const error = states.error[node];
    this.tip.textContent = [
      `${kMarks[states.mark[node]].glyph} ${kMarks[states.mark[node]].label}`,
      clean(graph.type(node)),
      shorten(clean(graph.name(node)), 90),
      origins ? `from ${shorten(clean(origins), 90)}` : "",
      Number.isNaN(error) ? "" : `error ${number(error)}`,
    ]
      .filter((part) => part !== "")
      .join(" · ");
    const left = Math.max(4, Math.min(px + 14, this.size.width - this.tip.offsetWidth - 6));
    const top = py + 20 + this.tip.offsetHeight > this.size.height ? py - this.tip.offsetHeight - 10 : py + 18;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${top}px`;
  }

  private onKey(event: KeyboardEvent): void {
    const { key } = event;
    if (key === "+" || key === "=") this.zoomBy(1.3);
    else if (key === "-") this.zoomBy(1 / 1.3);
    else if (key.startsWith("Arrow")) {
      if (event.shiftKey)
        this.panBy(
          key === "ArrowLeft" ? 80 : key === "ArrowRight" ? -80 : 0,
          key === "ArrowUp" ? 80 : key === "ArrowDown" ? -80 : 0,
        );
      else this.walk(key);
    } else return;
    event.preventDefault();
  }

  // Up and down along the edge that carries the most error; left and right to the nearest neighbour.
  private walk(key: string): void {
    const node = this.selectedNode();
    if (node < 0) {
      const start = this.culprit();
      this.choose(Math.max(0, start));
      return;
    }
    const { graph, fold, states } = this.painter;
    let next = -1;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const ends = key === "ArrowUp" ? graph.from : graph.to;
      let most = -Infinity;
      for (const edge of (key === "ArrowUp" ? this.neighbours.in : this.neighbours.out)[node]) {
        const weight = states.error[ends[edge]] || 0;
        if (weight > most) [next, most] = [ends[edge], weight];
      }
    } else {
      const sign = key === "ArrowRight" ? 1 : -1;
      let least = Infinity;
      for (let i = 0; i < graph.nodes; i++) {
        const dx = (fold.x[i] - fold.x[node]) * sign;
        const far = dx + 4 * Math.abs(fold.y[i] - fold.y[node]);
        if (dx > 1 && far < least) [next, least] = [i, far];
      }
    }
    if (next >= 0) this.choose(next);
  }
}

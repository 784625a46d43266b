// SPDX-License-Identifier: Apache-2.0
//
// Draws a graph with the coordinates that the program computed. Operators by how they show, edges by
// the error they carry; the further away, the simpler.
import type { Model, NodeStates } from "./model.ts";
import { type FoldData, type Graph, kMarks, Mark, Role } from "./report.ts";
import { clean, shorten } from "./text.ts";
import { changePaint, hatch, palette } from "./theme.ts";

export interface Camera {
  x: number; // world coordinates at the top left of the view
  y: number;
  k: number; // pixels per unit
}

// What is drawn beside the graph itself.
export interface Overlay {
  dim: Uint8Array | null; // 1: does not match the filter
  trace: { nodes: Set<number>; edges: Set<number> } | null;
  selected: number;
  mini?: boolean; // a drawing of a few pixels: marks instead of bursts
}

const kCell = 1200; // of the grid that finds what is in view

// Edges and nodes by cell, so that a view costs what it shows.
export class Index {
  private readonly nodeCells = new Map<number, number[]>();
  private readonly edgeCells = new Map<number, number[]>();
  private readonly seen: Uint32Array;
  private tick = 0;

  constructor(
    graph: Graph,
    private readonly fold: FoldData,
  ) {
    this.seen = new Uint32Array(graph.edges);
    const { node_width: w, node_height: h } = fold.head;
    for (let i = 0; i < graph.nodes; i++)
      this.put(this.nodeCells, i, fold.x[i], fold.y[i], fold.x[i] + w, fold.y[i] + h);
    for (let e = 0; e < graph.edges; e++) {
      let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
      for (let p = fold.start[e]; p < fold.start[e + 1]; p++) {
        const x = fold.points[2 * p];
        const y = fold.points[2 * p + 1];
        if (x < x0) x0 = x;
        if (x > x1) x1 = x;
        if (y < y0) y0 = y;
        if (y > y1) y1 = y;
      }
      if (x0 <= x1) this.put(this.edgeCells, e, x0, y0, x1, y1);
    }
  }

  nodesIn(x0: number, y0: number, x1: number, y1: number): number[] {
    const { x, y, head } = this.fold;
    const found: number[] = [];
    const mine = (i: number) => x[i] < x1 && x[i] + head.node_width > x0 && y[i] < y1 && y[i] + head.node_height > y0;
    // A node in two cells is taken from the first.
    this.each(this.nodeCells, x0, y0, x1, y1, (i, cx, cy) => {
      if (mine(i) && cx === Math.max(cell(x0), cell(x[i])) && cy === Math.max(cell(y0), cell(y[i]))) found.push(i);
    });
    return found;
  }

  edgesIn(x0: number, y0: number, x1: number, y1: number): number[] {
    const found: number[] = [];
    this.tick++;
    this.each(this.edgeCells, x0, y0, x1, y1, (e) => {
      if (this.seen[e] === this.tick) return;
      this.seen[e] = this.tick;
      found.push(e);
    });
    return found;
  }

  nodeAt(x: number, y: number, slack: number): number {
    const { node_width: w, node_height: h } = this.fold.head;
    let best = -1;
    let least = slack;
    for (const i of this.nodesIn(x - slack, y - slack, x + slack, y + slack)) {
      const dx = Math.max(this.fold.x[i] - x, 0, x - this.fold.x[i] - w);
      const dy = Math.max(this.fold.y[i] - y, 0, y - this.fold.y[i] - h);
      const far = Math.hypot(dx, dy);
      if (far <= least) [best, least] = [i, far];
    }
    return best;
  }

  private put(cells: Map<number, number[]>, item: number, x0: number, y0: number, x1: number, y1: number): void {
    for (let cx = cell(x0); cx <= cell(x1); cx++)
      for (let cy = cell(y0); cy <= cell(y1); cy++) {
        const key = cx * 65536 + cy;
        const list = cells.get(key);
        if (list) list.push(item);
        else cells.set(key, [item]);
      }
  }

  private each(
    cells: Map<number, number[]>,
    x0: number,
    y0: number,
    x1: number,
    y1: number,
    call: (item: number, cx: number, cy: number) => void,
  ): void {
    for (let cx = Math.max(0, cell(x0)); cx <= Math.min(cell(x1), cell(this.fold.head.width)); cx++)
      for (let cy = Math.max(0, cell(y0)); cy <= Math.min(cell(y1), cell(this.fold.head.height)); cy++)
        for (const item of cells.get(cx * 65536 + cy) ?? []) call(item, cx, cy);
  }
}

const cell = (at: number) => Math.max(0, Math.floor(at / kCell));

// Steps of thickness and colour: how the carried error stands to the limit.
export function edgeLevel(error: number, limit: number): number {
  if (!(error > 0)) return 0;
  const decades = Math.log10(error / limit);
  if (decades < -2) return 0;
  if (decades < -0.3) return 1;
  if (decades < 0) return 2;
  return Math.min(6, 3 + Math.floor(decades * 1.5));
}
const kSmallest = 0.72; // of a letter's size, before a text is shortened
const kSans = "system-ui, sans-serif";
const kMono = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace";
const kEdgeWidth = [1, 1.6, 2.4, 3.4, 4.6, 6, 8];

export class Painter {
  states: NodeStates;
  private readonly fitting = new Map<string, { short: string; font: string }>(); // texts as they fit a node

  constructor(
    private readonly model: Model,
    readonly graph: Graph,
    readonly fold: FoldData,
    readonly index: Index,
    private readonly place: number,
  ) {
    this.states = model.nodes(place);
  }

  refresh(): void {
    this.states = this.model.nodes(this.place);
  }

  // The error an edge carries in the slice that is shown.
  carried(edge: number): number {
    const from = this.graph.from[edge];
    if (this.model.sliced || Number.isNaN(this.graph.error[edge])) return this.states.error[from];
    return this.graph.error[edge];
  }

  // Draws what is in view into a context whose transformation is the camera's.
  draw(ctx: CanvasRenderingContext2D, camera: Camera, width: number, height: number, overlay: Overlay): void {
    const [x1, y1] = [camera.x + width / camera.k, camera.y + height / camera.k];
    const edges = this.index.edgesIn(camera.x, camera.y, x1, y1);
    const nodes = this.index.nodesIn(camera.x, camera.y, x1, y1);
    ctx.lineJoin = "round";
    this.drawEdges(ctx, edges, camera.k, overlay);
    this.drawNodes(ctx, nodes, camera.k, overlay);
  }

  private drawEdges(ctx: CanvasRenderingContext2D, edges: number[], k: number, overlay: Overlay): void {
    const c = palette();
    const levels: number[][] = kEdgeWidth.map(() => []);
    const stubs: number[] = [];
    for (const edge of edges) {
      if (overlay.trace?.edges.has(edge)) continue;
      if (this.graph.stub[edge]) stubs.push(edge);
      else levels[edgeLevel(this.carried(edge), this.model.errorLimit)].push(edge);
    }
    const faded = overlay.trace ? 0.3 : 1;
    levels.forEach((list, level) => {
      ctx.strokeStyle = level >= 3 ? c.fail : level === 2 ? c.near : c.edge;
      const far = k < 0.12;
      ctx.globalAlpha = (level >= 3 ? (far ? 0.4 : 0.55) : far ? 0.5 : 0.85) * faded;
      ctx.lineWidth = Math.max(kEdgeWidth[level], (level >= 3 ? (far ? 0.8 : 1.6) : far ? 0.4 : 0.7) / k);
      this.stroke(ctx, list);
    });
    ctx.setLineDash([4, 4]);
    ctx.lineWidth = Math.max(1, 0.7 / k);
    ctx.strokeStyle = c.none;
    ctx.globalAlpha = 0.9 * faded;
    if (k > 0.12) this.stroke(ctx, stubs);
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
    if (overlay.trace) {
      ctx.strokeStyle = c.accent;
      ctx.lineWidth = Math.max(5, 3 / k);
      this.stroke(
        ctx,
        edges.filter((edge) => overlay.trace!.edges.has(edge)),
      );
    }
  }

  private stroke(ctx: CanvasRenderingContext2D, edges: number[]): void {
    if (edges.length === 0) return;
    const { points, start } = this.fold;
    ctx.beginPath();
    for (const e of edges) {
      ctx.moveTo(points[2 * start[e]], points[2 * start[e] + 1]);
      for (let p = start[e] + 1; p < start[e + 1]; p++) ctx.lineTo(points[2 * p], points[2 * p + 1]);
    }
    ctx.stroke();
  }

  private drawNodes(ctx: CanvasRenderingContext2D, nodes: number[], k: number, overlay: Overlay): void {
    const sources = nodes.filter((i) => this.states.role[i] === Role.introduces);
    if (!overlay.mini) for (const i of sources) this.burst(ctx, i, k);
    for (const mark of [Mark.unknown, Mark.pass, Mark.absent, Mark.near, Mark.open, Mark.fail])
      for (const i of nodes) if (this.states.mark[i] === mark) this.node(ctx, i, k, overlay);
    ctx.globalAlpha = 1;
    if (overlay.mini) for (const i of sources) this.dot(ctx, i, k);
  }

  private dot(ctx: CanvasRenderingContext2D, i: number, k: number): void {
    const { head, x, y } = this.fold;
    ctx.beginPath();
    ctx.arc(x[i] + head.node_width / 2, y[i] + head.node_height / 2, 4.5 / k, 0, 7);
    ctx.fillStyle = palette().fail;
    ctx.fill();
    ctx.lineWidth = 2 / k;
    ctx.strokeStyle = palette().ink;
    ctx.stroke();
  }

  private isFaded(i: number, overlay: Overlay): boolean {
    return (overlay.dim !== null && overlay.dim[i] === 1) || (overlay.trace !== null && !overlay.trace.nodes.has(i));
  }

  private colours(
    ctx: CanvasRenderingContext2D,
    i: number,
    far: boolean,
  ): { fill: string | CanvasPattern; line: string; ink: string } {
    const c = palette();
    const mark = this.states.mark[i];
    if (this.model.state.view.diff) {
      const paint = changePaint(this.states.change[i]);
      const strong = this.states.change[i] >= 2;
      return { fill: strong ? paint : c["none-soft"], line: paint, ink: strong ? c.surface : c["ink-2"] };
    }
    switch (mark) {
      case Mark.fail:
        if (!this.model.standsOut(this.states.role[i]))
          return { fill: far ? `${c.fail}b0` : c["fail-soft"], line: c.fail, ink: c["fail-ink"] };
        return { fill: c.fail, line: c.fail, ink: c.surface };
      case Mark.near:
        return { fill: far ? c.near : c["near-soft"], line: c.near, ink: c["near-ink"] };
      case Mark.open:
        return { fill: far ? c.near : c["near-soft"], line: c.near, ink: c["near-ink"] };
      case Mark.pass:
        return { fill: far ? blend(c.pass) : c["pass-soft"], line: c.pass, ink: c["pass-ink"] };
      case Mark.absent:
        return { fill: far ? c.none : hatch(ctx, c["none-soft"], blend(c.none)), line: c.none, ink: c.ink };
      default:
        return { fill: far ? c["none-soft"] : c.surface, line: c.none, ink: c["none-ink"] };
    }
  }

  private node(ctx: CanvasRenderingContext2D, i: number, k: number, overlay: Overlay): void {
    const { head, x, y } = this.fold;
    const [w, h] = [head.node_width, head.node_height];
    const far = k < 0.3;
    const { fill, line, ink } = this.colours(ctx, i, far);
    const faded = this.isFaded(i, overlay);
    ctx.globalAlpha = faded ? 0.22 : 1;
    ctx.fillStyle = fill;
    if (far) {
      // Whatever matters is at least a few pixels large.
      const source = this.states.mark[i] === Mark.fail && this.model.standsOut(this.states.role[i]);
      const grow = source ? Math.max(0, 2.5 / k - h / 2) : 0;
      ctx.fillRect(x[i] - Math.min(grow, 6 / k), y[i] - grow, w + 2 * Math.min(grow, 6 / k), h + 2 * grow);
    } else {
      this.box(ctx, i, fill, line, k);
      if (k > 0.34) this.inside(ctx, i, k, ink);
    }
    if (overlay.dim && !faded) this.ring(ctx, i, k, palette().accent, 1.5);
    if (i === overlay.selected) this.ring(ctx, i, k, palette().accent, 3.5);
  }

  private box(ctx: CanvasRenderingContext2D, i: number, fill: string | CanvasPattern, line: string, k: number): void {
    const { head, x, y } = this.fold;
    const [w, h] = [head.node_width, head.node_height];
    const stump = this.graph.kind[i] === 2;
    const group = this.graph.kind[i] === 1;
    ctx.strokeStyle = line;
    ctx.lineWidth = Math.max(1.2, 0.8 / k);
    if (group || this.isFused(i)) {
      // A second sheet behind it: several operators in one.
      ctx.beginPath();
      ctx.roundRect(x[i] + 3, y[i] + 3, w, h, 5);
      ctx.fillStyle = palette().surface;
      ctx.fill();
      ctx.stroke();
    }
    ctx.beginPath();
    ctx.roundRect(x[i], y[i], w, h, this.graph.output[i] ? h / 2 : 5);
    ctx.fillStyle = palette().surface;
    ctx.fill();
    ctx.fillStyle = fill;
    ctx.fill();
    if (stump || this.states.mark[i] === Mark.unknown) ctx.setLineDash([5, 3]);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  isFused(i: number): boolean {
    return this.graph.origins(i).includes(", ");
  }

  private inside(ctx: CanvasRenderingContext2D, i: number, k: number, ink: string): void {
    const { head, x, y } = this.fold;
    const [w, h] = [head.node_width, head.node_height];
    const { change, mark } = this.states;
    const glyph = this.model.state.view.diff ? ["", "=", "↑", "↓", "✱"][change[i]] : kMarks[mark[i]].glyph;
    ctx.fillStyle = ink;
    ctx.textBaseline = "middle";
    ctx.direction = "ltr";
    const left = x[i] + (glyph ? 19 : 7);
    if (glyph) {
      ctx.textAlign = "center";
      ctx.font = `700 ${mark[i] === Mark.fail ? 14 : 11}px system-ui, sans-serif`;
      ctx.fillText(glyph, x[i] + 11, y[i] + h / 2 + 0.5);
    }
    ctx.textAlign = "left";
    const parts = this.graph.kind[i] === 1 ? 0 : this.graph.origins(i).split(", ").length;
    const count = this.graph.kind[i] === 1 ? ` ×${this.graph.count[i]}` : parts > 1 ? ` · ${parts} in 1` : "";
    const title = (clean(this.graph.type(i)) + count).trim();
    const name = clean(this.graph.name(i));
    const room = x[i] + w - left - 5;
    if (k < 0.62) {
      this.write(ctx, title || name, [600, Math.min(15, h * 0.5), kSans], left, y[i] + h / 2, room);
      return;
    }
    this.write(ctx, title, [600, 11, kSans], left, y[i] + h * 0.33, room);
    this.write(ctx, name, [400, 9.5, kMono], left, y[i] + h * 0.73, room);
  }

  // A text that fits the room: in smaller letters, and if these do not help, shortened in the middle.
  private write(
    ctx: CanvasRenderingContext2D,
    text: string,
    [weight, size, family]: [number, number, string],
    x: number,
    y: number,
    room: number,
  ): void {
    const key = `${weight}|${size}|${text}|${Math.round(room)}`;
    let fit = this.fitting.get(key);
    if (!fit) {
      const fontOf = (px: number) => `${weight} ${px}px ${family}`;
      ctx.font = fontOf(size);
      const wide = ctx.measureText(text).width;
      const small = Math.max(size * kSmallest, Math.min(size, Math.floor((10 * size * room) / wide) / 10));
      ctx.font = fontOf(small);
      let short = text;
      let most = Math.ceil((Array.from(text).length * room) / ctx.measureText(text).width);
      while (most >= 3 && ctx.measureText(short).width > room) short = shorten(text, most--);
      this.fitting.set(key, (fit = { short, font: ctx.font }));
    }
    ctx.font = fit.font;
    ctx.fillText(fit.short, x, y);
  }

  private ring(ctx: CanvasRenderingContext2D, i: number, k: number, colour: string, width: number): void {
    const { head, x, y } = this.fold;
    const out = Math.max(3, 3 / k);
    ctx.strokeStyle = colour;
    ctx.lineWidth = Math.max(width, width / k);
    ctx.beginPath();
    ctx.roundRect(x[i] - out, y[i] - out, head.node_width + 2 * out, head.node_height + 2 * out, 7);
    ctx.stroke();
  }

  // Rays around an operator that introduces error.
  private burst(ctx: CanvasRenderingContext2D, i: number, k: number): void {
    const { head, x, y } = this.fold;
    const scale = Math.max(1, 0.42 / k);
    const [cx, cy] = [x[i] + head.node_width / 2, y[i] + head.node_height / 2];
    const [rx, ry] = [(head.node_width / 2 + 4) * scale, (head.node_height / 2 + 4) * scale];
    ctx.beginPath();
    const rays = 36;
    for (let r = 0; r < rays; r++) {
      const angle = (r / rays) * 2 * Math.PI;
      const out = r % 2 === 0 ? 15 * scale : 3 * scale;
      // On an ellipse-like box, so that rays stand off all around.
      const px = cx + Math.sign(Math.cos(angle)) * Math.abs(Math.cos(angle)) ** 0.5 * (rx + out);
      const py = cy + Math.sign(Math.sin(angle)) * Math.abs(Math.sin(angle)) ** 0.5 * (ry + out);
      if (r === 0) ctx.moveTo(px, py);
      else ctx.lineTo(px, py);
    }
    ctx.closePath();
    const c = palette();
    ctx.globalAlpha = 0.3;
    ctx.fillStyle = c.fail;
    ctx.fill();
    ctx.globalAlpha = 1;
  }
}

// Half of a colour.
function blend(colour: string): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? `${colour}80` : colour;
}

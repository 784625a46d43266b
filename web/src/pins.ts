// SPDX-License-Identifier: Apache-2.0
//
// Labels on the graph that can be read at any distance: the operators that introduce error, with the cause. Where no
// single one does, those that the first finding has as evidence.
import type { Model } from "./model.ts";
import type { Camera, Painter } from "./paint.ts";
import { Role } from "./report.ts";
import { clean, number, shorten } from "./text.ts";
import { palette } from "./theme.ts";
import { causeOf } from "./words.ts";

const kMost = 6;
const kMostEvidence = 3;
const kHeight = 20;
const kMostCovered = 2.6; // operators under a label
const kEdge = 0.2; // of an operator, as which a covered edge counts
const kReadable = 0.62; // scale from which on operators show their names themselves

type Box = [number, number, number, number]; // left, top, width, height
const overlap = (a: Box, b: Box) =>
  a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];

export interface Pin {
  node: number;
  name: string;
  why: string;
}

// What to label, most important first.
export function pinsOf(model: Model, role: ArrayLike<number>, graph: number): Pin[] {
  const pins: Pin[] = [];
  const add = (row: number, name: string, why: string) => {
    const node = model.nodeOf(row, graph);
    if (node >= 0 && pins.length < kMost && !pins.some((pin) => pin.node === node)) pins.push({ node, name, why });
    return node;
  };
  const { findings } = model.report.head;
  for (const finding of findings) {
    if (finding.operator === null) continue;
    const row = model.worstOf(model.report.rowsOf(finding.operator));
    if (role[model.nodeOf(row, graph)] === Role.introduces) add(row, finding.operator, causeOf(finding));
  }
  if (pins.length > 0 || findings.length === 0) return pins;
  for (const { row } of findings[0].evidence) {
    if (typeof row !== "number" || row < 0 || row >= model.report.rows || pins.length >= kMostEvidence) continue;
    const own = model.report.own[row];
    add(row, model.report.name(row), Number.isNaN(own) ? "" : `adds ${number(own)}`);
  }
  return pins;
}

export function drawPins(
  ctx: CanvasRenderingContext2D,
  model: Model,
  painter: Painter,
  camera: Camera,
  size: { width: number; height: number },
  place: number,
): void {
  const { fold, states, graph } = painter;
  const { k } = camera;
  const taken: Box[] = [];
  for (const { node, name, why } of pinsOf(model, states.role, place)) {
    const left = (fold.x[node] - camera.x) * k;
    const top = (fold.y[node] - camera.y) * k;
    const [w, h] = [fold.head.node_width * k, fold.head.node_height * k];
    if (left + w < -40 || left > size.width + 40 || top + h < -20 || top > size.height + 20) continue;
    const named = k >= kReadable && graph.kind[node] !== 1;
    // Who is to blame and for what stands above the graph already.
    const short = named && taken.length === 0 && states.role[node] === Role.introduces;
    const words = [named ? "" : shorten(clean(name), 34), short ? "culprit" : shorten(clean(why), 40)].filter(
      (word) => word !== "",
    );
    if (words.length === 0) continue;
    ctx.font = `650 ${taken.length === 0 ? 12.5 : 11}px system-ui, sans-serif`;
    // Where the whole would cover much of the graph the name alone has to do: the cause is in the headline.
    for (const some of named ? [words] : [words, words.slice(0, 1)]) {
      const text = (taken.length === 0 ? "▼ " : "") + some.join(": ");
      const most = some.length > 1 ? kMostCovered : Infinity;
      const box = boxFor([left, top, w, h], ctx.measureText(text).width + 14, taken, painter, camera, size, most);
      if (!box) continue;
      taken.push(box);
      drawLeader(ctx, box, [left, top, w, h]);
      drawPin(ctx, box, text);
      break;
    }
  }
}

// From the label to the rim of what it is about.
function drawLeader(ctx: CanvasRenderingContext2D, label: Box, node: Box): void {
  const nearest = ([left, top, wide, high]: Box, [x, y]: [number, number]): [number, number] => [
    Math.min(left + wide, Math.max(left, x)),
    Math.min(top + high, Math.max(top, y)),
  ];
  const [fromX, fromY] = nearest(label, [node[0] + node[2] / 2, node[1] + node[3] / 2]);
  const [x, y] = nearest(node, [fromX, fromY]);
  ctx.strokeStyle = palette().ink;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(x, y);
  ctx.stroke();
}

function drawPin(ctx: CanvasRenderingContext2D, box: Box, text: string): void {
  const c = palette();
  ctx.fillStyle = c.ink;
  ctx.beginPath();
  ctx.roundRect(...box, 5);
  ctx.fill();
  ctx.fillStyle = c.surface;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.direction = "ltr";
  ctx.fillText(text, box[0] + 7, box[1] + box[3] / 2 + 0.5);
}

// Of the places around an operator the one that covers the fewest others, and edges: beside it, or between two rows.
function boxFor(
  [left, top, w, h]: Box,
  wide: number,
  taken: Box[],
  painter: Painter,
  { x: cx, y: cy, k }: Camera,
  size: { width: number; height: number },
  most: number,
): Box | null {
  const gap = Math.max(10, 18 * Math.max(1, 0.42 / k) * k) + 4;
  const [right, middle, near] = [left + w + gap, left + w / 2 - wide / 2, 6];
  const places: [number, number][] = [
    [right, top + h / 2 - kHeight / 2],
    [left - gap - wide, top + h / 2 - kHeight / 2],
    [right - gap / 2, top - kHeight - near],
    [right - gap / 2, top + h + near],
    [left - gap / 2 - wide, top - kHeight - near],
    [left - gap / 2 - wide, top + h + near],
    [middle, top - gap - kHeight],
    [middle, top + h + gap],
  ];
  let best: Box | null = null;
  let least = most;
  for (const [x, y] of places) {
    const box: Box = [
      Math.min(size.width - wide - 4, Math.max(4, x)),
      Math.min(size.height - kHeight - 4, Math.max(4, y)),
      wide,
      kHeight,
    ];
    if (taken.some((other) => overlap(box, other))) continue;
    const [x0, y0] = [cx + box[0] / k, cy + box[1] / k];
    const covered =
      painter.index.nodesIn(x0, y0, x0 + wide / k, y0 + kHeight / k).length +
      kEdge * edgesUnder(painter, x0, y0, x0 + wide / k, y0 + kHeight / k) +
      (box[0] === x && box[1] === y ? 0 : 0.5);
    if (covered < least) [best, least] = [box, covered];
  }
  return best;
}

function edgesUnder(painter: Painter, x0: number, y0: number, x1: number, y1: number): number {
  const { points, start } = painter.fold;
  const isUnder = (edge: number) => {
    for (let p = start[edge] + 1; p < start[edge + 1]; p++) {
      const [ax, ay, bx, by] = points.slice(2 * p - 2, 2 * p + 2);
      if (Math.min(ax, bx) < x1 && Math.max(ax, bx) > x0 && Math.min(ay, by) < y1 && Math.max(ay, by) > y0) return true;
    }
    return false;
  };
  return painter.index.edgesIn(x0, y0, x1, y1).filter(isUnder).length;
}

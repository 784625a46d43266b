// SPDX-License-Identifier: Apache-2.0
//
// Where an operator's error comes from: up the graph along the input that carries the most error, until
// an operator that introduces it, or one whose inputs are all good.
import type { Graph } from "./report.ts";
import { Role } from "./report.ts";

export interface Neighbours {
  in: number[][]; // edges by node
  out: number[][];
}

export function neighboursOf(graph: Graph): Neighbours {
  const make = (ends: ArrayLike<number>) => {
    const lists: number[][] = Array.from({ length: graph.nodes }, () => []);
    for (let e = 0; e < graph.edges; e++) lists[ends[e]]?.push(e);
    return lists;
  };
  return { in: make(graph.to), out: make(graph.from) };
}

export interface Trace {
  nodes: number[]; // from the start up to the origin
  edges: number[];
}

export function traceToOrigin(
  graph: Graph,
  neighbours: Neighbours,
  start: number,
  error: (node: number) => number,
  role: ArrayLike<number>,
  limit: number,
): Trace {
  const trace: Trace = { nodes: [start], edges: [] };
  const seen = new Set([start]);
  for (let node = start; role[node] !== Role.introduces;) {
    let best = -1;
    let most = -1;
    for (const edge of neighbours.in[node]) {
      const from = graph.from[edge];
      if (seen.has(from)) continue;
      const carried = Number.isNaN(graph.error[edge]) ? error(from) : Math.max(graph.error[edge], error(from) || 0);
      // What introduces error, or passes one on without a number of its own, is worth following.
      const weight =
        role[from] === Role.introduces
          ? Infinity
          : role[from] === Role.inherits && Number.isNaN(carried)
            ? limit
            : carried;
      if (weight > most) [best, most] = [edge, weight];
    }
    if (best < 0 || !(most >= limit)) break;
    node = graph.from[best];
    seen.add(node);
    trace.nodes.push(node);
    trace.edges.push(best);
  }
  return trace;
}

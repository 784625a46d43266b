// SPDX-License-Identifier: Apache-2.0
//
// usage: node tests/make.ts DIR    writes made-up reports to look at and to test
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeNetwork, type Wanted } from "./networks.ts";
import { writePage } from "./pack.ts";

// Names that try to be markup, formulas, other names, or nothing at all.
export const kHostile = [
  "<script>document.title='owned'</script>",
  "<img src=x onerror=\"document.title='owned'\">",
  "'); alert(1); ('",
  "</script><script>document.title='owned'</script>",
  "safe\u202egnp.exe",
  "שלום/עולם/conv",
  "line one\nline two\ttab\u0000nul\u001b[31mred",
  "zero\u200bwidth\u2066isolate",
  `long/${"very_".repeat(100)}end`,
  "&lt;b&gt;entity&amp;",
  "javascript:alert(1)",
  "\ud800half",
  "漢字/演算子/畳み込み",
  "conv\u0301e\u0301 combining",
];

export const kMade: Record<string, Wanted> = {
  small: { operators: 14, culprit: 4 },
  medium: { operators: 294, culprit: 102 },
  transformer: { operators: 84, steps: 4, ranks: 2, culprit: 31 },
  samples: {
    operators: 28,
    steps: 4,
    samples: ["cat.jpg", "dog.jpg", "plane with a rather long name.jpg", "ship.jpg"],
    culprit: 10,
  },
  baseline: { operators: 56, culprit: 20, baseline: true },
  clean: { operators: 12 },
  nothing: { operators: 42, nothing: true },
  hostile: { operators: 28, culprit: 8, names: (i) => kHostile[i] ?? `${kHostile[i % kHostile.length]}/${i}` },
  flat: { operators: 40, culprit: 12, graph: false },
  large: { operators: 5000, culprit: 1550 },
  huge: { operators: 20000, culprit: 6000 },
};

export function makeAll(directory: string, only = Object.keys(kMade)): void {
  mkdirSync(directory, { recursive: true });
  for (const name of only) {
    const { packed, details } = makeNetwork(kMade[name]);
    writePage(join(directory, `${name}.html`), packed, details);
  }
}

if (process.argv[1]?.endsWith("make.ts"))
  makeAll(process.argv[2] ?? "tests/made", process.argv.slice(3).length > 0 ? process.argv.slice(3) : undefined);

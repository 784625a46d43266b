// SPDX-License-Identifier: Apache-2.0
//
// The columns of the table, in order: what decides first, then the other side, then every number that
// was computed.
import { holds, keyOf } from "./judge.ts";
import type { Model } from "./model.ts";
import { kChanges, kMarks } from "./report.ts";
import { stepName, stepWord, titled } from "./slices.ts";
import { clean, number, share } from "./text.ts";

export interface Column {
  key: string; // in the address, and what sorts by it
  title: string;
  width: number;
  numeric: boolean;
  main: boolean; // shown without "all columns"
  help?: string;
  value(row: number): number | string; // to sort by
  text(row: number): string;
  whole?(row: number): string; // where the text does not say all
  look?(row: number): string; // class of the cell
}

export function columnsOf(model: Model): Column[] {
  const { report } = model;
  const text = (key: string, title: string, width: number, main: boolean, get: (row: number) => string): Column => ({
    key,
    title,
    width,
    main,
    numeric: false,
    value: get,
    text: (row) => clean(get(row)),
  });
  const place = (key: string, title: string, values: ArrayLike<number>): Column => ({
    key,
    title,
    width: 62,
    numeric: true,
    main: true,
    value: (row) => (values[row] < 0 ? NaN : values[row]),
    text: (row) => (values[row] < 0 ? "" : String(values[row])),
  });
  const side = (of: "target" | "golden", what: string) => (row: number) => report.text(`row.${of}.${what}`, row);
  const both = (what: string) => (row: number) => {
    const [a, b] = [side("target", what)(row), side("golden", what)(row)];
    return a === b || b === "" ? a : a === "" ? b : `${a} ↔ ${b}`;
  };
  const columns: Column[] = [
    { ...text("op", "Operator", 300, true, (row) => report.name(row)) },
    {
      key: "verdict",
      title: "Verdict",
      width: 106,
      numeric: false,
      main: true,
      value: (row) => [3, 1, 0, 2, 4, 5][model.marks[row]],
      text: (row) => kMarks[model.marks[row]].label,
      look: (row) =>
        kMarks[model.marks[row]].key === "fail"
          ? "bad"
          : ["near", "open"].includes(kMarks[model.marks[row]].key)
            ? "close"
            : "",
    },
    text("slot", "Slot", 78, true, (row) => report.slot(row)),
    {
      ...text("reason", "Reason", 150, true, (row) => report.text("row.reasons", row)),
      text: (row) => {
        const [first, ...others] = report.reasons(row);
        return first === undefined ? "" : clean(first) + (others.length > 0 ? ` +${others.length}` : "");
      },
      whole: (row) => clean(report.text("row.reasons", row)),
    },
  ];
  if (model.steps.length > 1) {
    const step = place("step", titled(stepWord(report)), report.step);
    const named = report.head.samples !== undefined && report.head.samples.length > 0;
    columns.push(
      named ? { ...step, width: 110, numeric: false, text: (row) => stepName(report, report.step[row], 16) } : step,
    );
  }
  if (model.ranks.length > 1) columns.push(place("rank", "Rank", report.rank));
  if (report.head.baseline)
    columns.push({
      ...text(
        "change",
        "Change",
        116,
        true,
        (row) => `${kChanges[report.change[row]].glyph} ${kChanges[report.change[row]].label}`,
      ),
      value: (row) => [0, 1, 2, 4, 3][report.change[row]],
      look: (row) => (report.change[row] === 3 ? "bad" : ""),
    });
  columns.push(...metricColumns(model));
  if (isKnown(report.own)) {
    columns.push(numberColumn("own", "Own error", report.own, true, "the error the operator made itself"));
    columns.push(numberColumn("inherited", "Inherited", report.inherited, false, "the error its inputs brought"));
  }
  columns.push(
    text("type", "Type", 130, true, both("type")),
    text("golden", "Golden operator", 220, true, side("golden", "operator")),
    text("dtype", "Types", 130, true, both("dtype")),
    text("shape", "Shape", 150, true, both("shape")),
    text("layout", "Layouts", 120, false, both("layout")),
    text("pairing", "Paired by", 120, false, (row) => report.text("row.pairing", row)),
    text("file", "Target file", 240, false, side("target", "file")),
    text("goldenfile", "Golden file", 240, false, side("golden", "file")),
  );
  return columns;
}

const isKnown = (values: ArrayLike<number>) => Array.prototype.some.call(values, (value) => !Number.isNaN(value));

function numberColumn(key: string, title: string, values: ArrayLike<number>, main: boolean, help?: string): Column {
  return {
    key,
    title,
    width: Math.max(title === "cosine" || title === "pearson" ? 122 : 88, title.length * 7.4 + 20),
    numeric: true,
    main,
    help,
    value: (row) => values[row],
    text: (row) => (Number.isNaN(values[row]) ? "–" : number(values[row])),
  };
}

// Metrics with a limit first: they decide; and of these the ones that most rows break.
function metricColumns(model: Model): Column[] {
  const { report } = model;
  const limited = new Set(model.limits.all.map((limit) => limit.metric));
  const shown = report.head.metrics.filter(({ name }) => report.has(`metric.${name}`));
  const broken = new Map<string, number>();
  for (let row = 0; row < report.rows; row++)
    for (const reason of report.reasons(row)) broken.set(reason, (broken.get(reason) ?? 0) + 1);
  const breaks = ({ name }: { name: string }) => broken.get(`limit:${name}`) ?? 0;
  const deciding = shown.filter(({ name }) => limited.has(name)).sort((a, b) => breaks(b) - breaks(a));
  const order = [...deciding, ...shown.filter(({ name }) => !limited.has(name))];
  return order.map(({ name, better }) => {
    const values = report.metric(name);
    const usual = limited.has(name) || ["cosine", "rel_euclid", "max_abs", "sqnr_db"].includes(name);
    const main = usual && (isKnown(values) || report.has(`undefined.${name}`));
    const column = numberColumn(
      name,
      name,
      values,
      main,
      better === "none" ? undefined : `${better === "one" ? "1" : better} is better`,
    );
    column.text = (row) => {
      if (name.endsWith("crc32") && !Number.isNaN(values[row])) return values[row].toString(16).padStart(8, "0");
      if (!Number.isNaN(values[row]))
        return name === "cosine" || name === "pearson" ? share(values[row]) : number(values[row]);
      const why = report.text(`undefined.${name}`, row);
      const bound = /^at most ([^:]+):/.exec(why);
      return bound ? `≤${bound[1]}` : report.verdict[row] === 3 ? "" : "–";
    };
    if (limited.has(name)) column.look = (row) => (isBroken(model, name, row) ? "bad" : "");
    return column;
  });
}

function isBroken(model: Model, metric: string, row: number): boolean {
  if (model.report.verdict[row] === 3) return false;
  return model.limits.of(row).some((limit) => {
    if (limit.metric !== metric) return false;
    const moved = model.moved.get(keyOf(limit));
    if (moved === undefined) return model.report.text("row.reasons", row).includes(`limit:${metric}`);
    const value = model.limits.value(metric, row);
    return !Number.isNaN(value) && !holds(limit.operation, moved, value);
  });
}

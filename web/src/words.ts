// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the page: the same words as on the terminal where there are such.
import type { Counts, Finding, Head } from "./data.ts";
import { counted } from "./text.ts";

const kCauses: Record<string, string> = {
  inputs_differ: "the inputs differ",
  overflow: "overflow",
  saturation: "saturation",
  accumulated: "accumulated error",
  fusion: "wrong fusion",
  operator: "the operator computes something else",
  precision_mode: "narrower data type",
  quantization: "quantization",
  calibration_clipping: "calibration range too small",
  outlier_channel: "outlier channel",
  calibration_set: "calibration set",
  preprocessing: "pre-processing differs",
  postprocessing: "post-processing differs",
  environment: "another environment",
  transform: "the tensor was changed in a simple way",
  weights: "other weights",
  unknown: "cause not known",
};

// The detail of a cause in words, by what stands before its colon: "cast:float16" is "float16". Some say all
// there is to say: the cause itself in front of them would only be noise.
const kDetails: Record<string, { words(rest: string): string; alone?: boolean }> = {
  affine: { words: (rest) => `scaled by ${rest.replace(",", ", then moved by ")}`, alone: true },
  affine_per_channel: { words: () => "each channel has a scale and an offset of its own", alone: true },
  argument: { words: (rest) => `input ${rest} is another one`, alone: true },
  attribute: { words: (rest) => `its attribute ${rest} differs`, alone: true },
  axes: { words: (rest) => `axes in the order ${rest}`, alone: true },
  cast: { words: (rest) => rest },
  channel: { words: (rest) => `only in channel ${rest}` },
  channels_reversed: { words: () => "channels in reverse order", alone: true },
  flip: { words: (rest) => `turned around along axis ${rest}`, alone: true },
  levels: { words: (rest) => `${rest} levels` },
  missing: { words: (rest) => `${rest} is missing`, alone: true },
  negated: { words: () => "all values have the other sign", alone: true },
  offset: { words: (rest) => `moved by ${rest}`, alone: true },
  saturated: { words: (rest) => `values cut to ${rest.replace(",", " … ")}` },
  scale: { words: (rest) => `scaled by ${rest}` },
  shift: { words: (rest) => `moved along axis ${rest.replace(",", " by ")}`, alone: true },
  size: { words: (rest) => (rest === "1" ? "1 sample" : `${rest} samples`) },
  stale: { words: (rest) => `its output is that of ${rest}`, alone: true },
};

// Of a model that is converted in stages, the one that loses the accuracy.
const kStages: Record<string, string> = {
  "stage:quantization": "the quantization stage loses accuracy",
  "stage:conversion": "the conversion stage loses accuracy",
  "stage:both": "quantization and conversion together lose accuracy",
  "stage:unknown": "quantization or conversion loses accuracy",
};

const kAmong = "among:";

export function causeOf({ cause, detail }: Pick<Finding, "cause" | "detail">): string {
  const words = own(kCauses, cause) ?? cause;
  if (!detail || detail.startsWith(kAmong)) return words;
  const stage = own(kStages, detail);
  if (stage) return stage;
  const [key, ...rest] = detail.split(":");
  const known = own(kDetails, key);
  if (!known || (rest.length === 0 && known.words.length > 0)) return `${words} (${detail})`;
  const said = known.words(rest.join(":"));
  return known.alone || cause === "transform" ? said : `${words}: ${said}`;
}

// Names come from files: "constructor" is none of ours.
function own<T>(table: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

// Operators of which one made the error, where nobody compared what is between the first and the last.
export function suspectsOf({ operator, detail }: Pick<Finding, "operator" | "detail">): string[] {
  return !operator && detail?.startsWith(kAmong) ? detail.slice(kAmong.length).split(",") : [];
}

// The finding that the headline names: the first one that tells where, else the first.
export function culpritOf(head: Head): Finding | undefined {
  const first = head.findings[0];
  return first && (first.operator || first.cause === "accumulated" || suspectsOf(first).length > 0)
    ? first
    : (head.findings.find((f) => f.operator) ?? first);
}

export function headlineOf(head: Head): string {
  const s = head.summary;
  const compared = s.rows - s.not_compared;
  const missing = s.not_compared - s.filtered - s.without_counterpart;
  switch (s.verdict) {
    case "pass":
      return compared === 1 ? "The tensor agrees" : `All ${counted(compared, "tensor")} agree`;
    case "fail":
      if (s.fail === 0) return "It is worse than the baseline";
      return compared === 1
        ? "The tensor differs"
        : `${s.fail.toLocaleString("en-US")} of ${counted(compared, "compared tensor")} ${s.fail === 1 ? "differs" : "differ"}`;
    case "inconclusive":
      if (s.inconclusive === 0)
        return `No tensor differs, but ${missing} ${missing === 1 ? "was" : "were"} not compared`;
      return `No difference is proven, ${s.inconclusive === 1 ? "1 tensor is" : `${s.inconclusive} tensors are`} inconclusive`;
    default:
      if (s.rows === 0) return "There was nothing to compare";
      return s.rows === s.filtered ? "Everything was filtered" : "No pair of tensors could be compared";
  }
}

export function countsText(counts: Counts, none: string): string {
  const count = (value: number) => value.toLocaleString("en-US");
  const compared = counts.rows - counts.not_compared;
  if (counts.rows === 0) return none;
  if (compared === 0) return `none of ${count(counts.rows)} compared`;
  if (counts.fail > 0) return `${count(counts.fail)} of ${count(compared)} ${counts.fail === 1 ? "differs" : "differ"}`;
  if (counts.inconclusive > 0) return `${count(counts.inconclusive)} of ${count(compared)} inconclusive`;
  return compared === 1 ? "it agrees" : `all ${count(compared)} agree`;
}

// What the columns of numbers are, in a few words.
export const kMetricWords: Record<string, string> = {
  rel_euclid: "relative error",
  sqnr_db: "SQNR, dB",
  one_minus_cosine: "1 − cosine",
};
export const metricLabel = (name: string): string => kMetricWords[name] ?? name;

// Why a tensor stands alone, as words after "is".
const kReasons: Record<string, string> = {
  no_golden: "missing in golden",
  no_target: "missing in the target",
  inside_fusion: "inside a fused operator",
  no_counterpart: "without counterpart by design",
  quantized_interior: "between quantized operators",
  ambiguous_pair: "without a clear partner",
  damaged_file: "in damaged files",
  filtered: "left out by the options",
  interrupted: "not reached before the run ended",
};
export const reasonWords = (reason: string): string => own(kReasons, reason) ?? `left out: ${reason}`;

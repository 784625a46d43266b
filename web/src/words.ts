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

export function causeOf(finding: Finding): string {
  const words = kCauses[finding.cause] ?? finding.cause;
  return finding.detail ? `${words} (${finding.detail})` : words;
}

// The finding that the headline names: the first one that names an operator, else the first.
export function culpritOf(head: Head): Finding | undefined {
  const first = head.findings[0];
  return first && (first.operator || first.cause === "accumulated")
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

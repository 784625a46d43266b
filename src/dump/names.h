// SPDX-License-Identifier: Apache-2.0
//
// What the file names of the various dump tools say. Every name is taken apart from the right,
// where the numbers are: operator names may hold dots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dump/dump.h"

namespace plumb::dump {

bool is_digits(std::string_view text);  // at least one, and nothing else
// The number, or nothing if it is no number or too large.
std::optional<int64_t> number_from(std::string_view text);
// A time stamp of any length as a number that sorts like it. Beyond 18 digits (20-digit dates) the
// leading ones, the century, are dropped.
int64_t timestamp_from(std::string_view digits);

// a2 before a10.
bool natural_less(std::string_view a, std::string_view b);

// Device dumps: type.name.task[.stream].timestamp, and four numbers more for an FFTS+ slice:
// .task_type.context.thread.device.
struct DeviceName {
  std::string_view type;
  std::string_view op;  // with dots, if the writer left any
  int64_t task = 0;
  std::optional<int64_t> stream;
  int64_t timestamp = 0;
  std::optional<int64_t> task_type;  // 0 AICORE, 1 AICPU, 2 DEBUG, 3 SDMA, 4 FFTSPLUS
  int64_t context = 0;
  int64_t thread = 0;

  bool is_ffts() const { return task_type == 4; }
};
std::optional<DeviceName> parse_device_name(std::string_view name);

// A tensor of a device dump as a file of its own: the dump's name, then .output.0.npy, as tools
// that decode dumps write it (`plumb convert`, too). Kernels of MindSpore have the layout and the
// element type before the extension, .output.0.ND.FLOAT.npy, and no extension if npy has no such
// type.
struct DecodedName {
  DeviceName device;
  Slot slot;
  std::string_view layout, dtype;  // empty if the name has none
  bool is_npy = false;             // else the bare elements
};
std::optional<DecodedName> parse_decoded_name(std::string_view name);

// "conv_lxslice12" is slice 12 of "conv"; the last such number counts, all are taken out.
struct ManualSlice {
  std::string op;
  int64_t slice = 0;
};
std::optional<ManualSlice> parse_manual_slice(std::string_view op);

// Golden files: op.index.timestamp, or op.index.timestamp.count as the TensorFlow debugger writes
// it. `stem` is the name without its extension. The time is one that a clock gave: "features.0.1"
// is a module of a network.
struct GoldenName {
  std::string_view op;
  int64_t index = 0;
  int64_t timestamp = 0;
};
std::optional<GoldenName> parse_golden_name(std::string_view stem);

// FX dumps: node-target.INPUT.i[.j].timestamp.npy, or ..._min_max.npy after volume reduction.
struct FxName {
  std::string_view op;      // "mm-aten.mm.default"
  std::string_view target;  // "aten.mm.default", empty if there is no '-'
  Slot slot;
  int64_t timestamp = 0;
  bool is_reduced = false;
};
std::optional<FxName> parse_fx_name(std::string_view name);

// "input.3" and "output.0" as container files name their tensors; anything else is kOther by name.
Slot slot_from_tensor_name(std::string_view name);

}  // namespace plumb::dump

// SPDX-License-Identifier: Apache-2.0
//
// What the rest of the program needs of Ascend dumps beyond the Format interface: how the slices of
// an FFTS+ operator belong together, what a dump file's name looks like, and a writer that knows
// layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/format.h"

namespace plumb::io {

// type.name.task[.stream].timestamp, perhaps followed by task type, context, thread and device. The
// operator name may hold dots; the timestamp has at least ten digits.
bool is_ascend_dump_name(std::string_view file_name);

// Nano dumps carry a magic number where a standard dump's header starts.
bool is_nano_dump(Bytes head);

// Under FFTS+ an operator runs as several slices, each dumped to a file of its own; every one of
// the files describes the whole cut.
struct FftsSlices {
  struct Range {
    int64_t lower = 0;
    int64_t higher = 0;
  };
  using Region = std::vector<Range>;  // per axis

  bool automatic = false;  // threads of one task (else separate tasks, told apart by `_lxslice<N>`)
  int64_t instances = 0;   // how many slices there should be
  std::vector<std::vector<int64_t>>
      output_cuts;  // per output, per axis: cut into this many; 1 = not
  // Automatic mode: where each thread's slice of each tensor lies in the whole, [thread][tensor].
  std::vector<std::vector<Region>> inputs;
  std::vector<std::vector<Region>> outputs;
};

// The slice description in the header of a dump; nullopt if the dump is whole.
Result<std::optional<FftsSlices>> ffts_slices(Bytes file);
// The same from the text of one header attribute; nullopt if it is about something else.
Result<std::optional<FftsSlices>> ffts_slices_from_json(std::string_view text);

// The thread a dump of automatic mode is from: the last but one field of its name.
std::optional<int64_t> ffts_thread(std::string_view file_name);

struct AscendItem {
  WriteItem tensor;              // "input.K", "output.K"; logical shape, elements in plain order
  Layout layout = kPlainLayout;  // to be stored in
  std::string axes = {};         // of `tensor.shape`, e.g. "NHWC"; empty: the layout's usual ones
  int64_t c0 = 0;                // channels to a block; 0: as many as 32 bytes hold
};

// Has the header a number for elements of this type?
bool writable_in_ascend_dump(DType dtype);

// A standard dump. Tensors in a layout of their own pass through memory whole.
Result<void> write_ascend_dump(FileSink& out, std::string_view op_name,
                               std::span<const AscendItem> items);

}  // namespace plumb::io

// SPDX-License-Identifier: Apache-2.0
#include "cli/selection.h"

#include "dump/dump.h"

namespace plumb::cli {

void SelectionOptions::declare(Options& options) {
  options.group("selecting");
  options.texts("--op,--ops", "PATTERN", selection.ops,
                "only operators whose name matches, e.g. 'conv*'");
  options.texts("--slot,--slots", "SLOT", selection.slots,
                "only this slot: output:0, input:1, input, output");
  options.suggest([] { return std::vector<std::string>{"input", "output"}; });
  options.integers("--step,--steps", "N", selection.steps, "only this step or token");
  options.integers("--rank,--ranks", "N", selection.ranks, "only this rank");
  options.group("reading");
  options.text("--dtype", "TYPE", words.dtype, "element type of headerless files, e.g. float16");
  options.text("--shape", "SHAPE", words.shape, "shape of headerless files, e.g. 1,3,224,224");
  options.text("--fp8", "TYPE", words.fp8,
               "what npy's one-byte void type is: e4m3fn, e5m2 or hif8");
  options.suggest([] { return std::vector<std::string>{"e4m3fn", "e5m2", "hif8"}; });
  options.text("--convention", "NAME", convention,
               "how the directory names its files, if detection\nerrs (see `plumb formats`)");
  options.suggest([] { return names_in(dump::conventions()); });
}

Result<io::ReadHints> SelectionOptions::hints() const {
  auto hints = dump::hints_from_words(words);
  if (!hints) return hints;
  if (auto known = selection.check_slots(); !known) return known.error();
  if (auto known = dump::check_convention(convention); !known) return known.error();
  return hints;
}

Result<scan::Request> SelectionOptions::request() const {
  auto read = hints();
  if (!read) return read.error();
  return scan::Request{selection, *read, convention};
}

}  // namespace plumb::cli

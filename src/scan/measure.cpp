// SPDX-License-Identifier: Apache-2.0
#include "scan/measure.h"

namespace plumb::scan {

Result<std::optional<Measured>> measure(const dump::DumpSet& set, const dump::Entry& entry,
                                        const io::ReadHints& hints, const RunContext& context,
                                        const metrics::Extras& extras) {
  auto opened = dump::EntryReader::open(set, entry, hints);
  if (!opened) return opened.error();
  return metrics::measure(opened->pieces(), extras, context);
}

}  // namespace plumb::scan

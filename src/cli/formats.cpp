// SPDX-License-Identifier: Apache-2.0
//
// `plumb formats`: prints the tables the readers work from.
#include <fmt/format.h>

#include "cli/command.h"
#include "dump/dump.h"
#include "engine/engine.h"
#include "graph/importers.h"

namespace plumb::cli {

int run_formats(int argc, char** argv, RunContext&) {
  Options options("formats", "List what can be read and written.", "examples\n  plumb formats");
  if (auto status = options.parse(argc, argv)) return *status;

  fmt::print("files\n");
  for (const io::Format& format : io::formats())
    fmt::print("  {:<16}{}{}\n", format.name, format.summary,
               format.write != nullptr ? "" : " (read only)");
  fmt::print("\ndirectories\n");
  for (const dump::Convention& convention : dump::conventions())
    fmt::print("  {:<16}{}\n", convention.name, convention.summary);
  fmt::print("\nmodel descriptions\n");
  for (const graph::Importer& importer : graph::importers())
    fmt::print("  {:<16}{}\n", importer.name, importer.summary);
  fmt::print("\nengines that run models\n");
  for (const engine::EngineInfo& engine : engine::engines())
    fmt::print("  {:<16}{}\n", engine.name, engine.summary);
  fmt::print("\ntypes\n ");
  for (const DTypeInfo& info : dtypes())
    if (info.dtype != DType::kOpaque) fmt::print(" {}", info.name);
  fmt::print("\n\nlayouts\n ");
  for (const std::string& name : layout_names()) fmt::print(" {}", name);
  fmt::print("\n");
  return kAgreement;
}

}  // namespace plumb::cli

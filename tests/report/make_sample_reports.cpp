// SPDX-License-Identifier: Apache-2.0
//
// Writes every sample run in every output to a directory, for checks by other programs
// (check_schema.py), and to look at: NAME.80.txt is the terminal's output at 80 columns.
#include <cstdio>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "report/sample_runs.h"
#include "report/terminal.h"
#include "report/writer.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_sample_reports DIR\n", stderr);
    return 2;
  }
  using namespace plumb::report;
  for (const NamedRun& sample : sample_runs()) {
    for (const size_t width : {0, 60, 80, 120, 200}) {
      auto sink = plumb::FileSink::create(fmt::format("{}/{}.{}.txt", argv[1], sample.name, width));
      if (!sink) return 1;
      sink->write(render(sample.run, {width, width == 200}));
      if (!sink->commit()) return 1;
    }
    for (const Writer& writer : writers()) {
      const bool has_dot = writer.extension.starts_with('.');
      const auto path =
          fmt::format("{}/{}{}{}", argv[1], sample.name, has_dot ? "" : ".", writer.extension);
      if (auto written = write_file(sample.run, path); !written) {
        fmt::print(stderr, "{}: {}\n", written.error().what, written.error().where);
        return 1;
      }
    }
  }
  return 0;
}

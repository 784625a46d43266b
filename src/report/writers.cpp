// SPDX-License-Identifier: Apache-2.0
//
// The table of outputs.
#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "base/nearest.h"
#include "report/writer.h"

namespace plumb::report {

void write_csv(const result::Run& run, const Put& put);
void pack_xlsx(const result::Run& run, FileSink& sink);
void write_html(const result::Run& run, const Put& put);
void write_svg(const result::Run& run, const Put& put);
void write_markdown(const result::Run& run, const Put& put);
void write_code_quality(const result::Run& run, const Put& put);
void write_junit(const result::Run& run, const Put& put);

namespace {

constexpr Writer kWriters[] = {
    {".json", "json", "everything, for programs (docs/result.schema.json)", result::write_json},
    {".csv", "csv", "one line per row with all metrics, for scripts and spreadsheets", write_csv},
    {".xlsx", "xlsx", "summary and coloured rows, for spreadsheets", nullptr, pack_xlsx},
    {".html", "html", "the report page: one file that opens in a browser", write_html},
    {".svg", "svg", "a picture: the error along the network, and its graph", write_svg},
    {".md", "markdown", "summary and the rows worth a look, for a merge request", write_markdown},
    {".junit.xml", "junit", "one test case per row, for continuous integration", write_junit},
    {".xml", "junit", "the same", write_junit},
    {"code-quality-report.json", "gitlab", "what GitLab shows in merge requests",
     write_code_quality},
};

}  // namespace

std::span<const Writer> writers() { return kWriters; }

Result<const Writer*> writer_for(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const Writer* best = nullptr;
  for (const Writer& writer : kWriters)
    if (name.ends_with(writer.extension) && name.size() > writer.extension.size() &&
        (best == nullptr || writer.extension.size() > best->extension.size()))
      best = &writer;
  if (best != nullptr) return best;

  std::vector<std::string> known;
  for (const Writer& writer : kWriters) known.emplace_back(writer.extension);
  const std::string extension = path.extension().string();
  return Error{
      extension.empty() ? "the output's name has no extension to choose its kind by"
                        : fmt::format("unknown kind of output '{}'", extension),
      path.string(),
      fmt::format("{}known are {}", did_you_mean(extension, known), fmt::join(known, " "))};
}

Result<void> write_file(const result::Run& run, const std::filesystem::path& path) {
  auto writer = writer_for(path);
  if (!writer) return writer.error();
  return write_file(run, **writer, path);
}

Result<void> write_file(const result::Run& run, const Writer& writer,
                        const std::filesystem::path& path) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  if (writer.pack != nullptr)
    writer.pack(run, *sink);
  else
    writer.write(run, [&](std::string_view text) { sink->write(text); });
  return sink->commit();
}

}  // namespace plumb::report

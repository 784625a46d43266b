// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a result document. What is accepted has rows that later stages can use: it writes to
// a document that is accepted again, as the same; and it can be held against itself.
#include "judge/baseline.h"
#include "report/terminal.h"
#include "report/writer.h"
#include "result/json_read.h"

using namespace plumb;

namespace {

std::string written(const result::Run& run, const char* name) {
  std::string text;
  (*report::writer_for(name))->write(run, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto saved = result::read_result(std::as_bytes(std::span(data, size)));
  if (!saved) {
    const Error& error = saved.error();
    if (error.what.empty() || error.where.empty() || error.remedy.empty()) __builtin_trap();
    return 0;
  }
  const std::string text = written(saved->run, "r.json");
  const auto again = result::read_result(as_bytes(text));
  if (!again || written(again->run, "r.json") != text) __builtin_trap();

  result::Run& run = saved->run;
  run.baseline = judge::hold_against(run, *again, "fuzz.json");
  // Nothing is worse, or better, than itself.
  if (!run.baseline->tensors.empty() || !run.baseline->operators.empty()) __builtin_trap();
  report::render(run, {});
  for (const char* name :
       {"r.csv", "r.html", "r.svg", "r.md", "r.xml", "gl-code-quality-report.json"})
    written(run, name);
  return 0;
}

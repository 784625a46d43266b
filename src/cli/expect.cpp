// SPDX-License-Identifier: Apache-2.0
#include "cli/expect.h"

#include <array>

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "report/table.h"

namespace plumb::cli {

int run_expect(const std::string& path, const replay::ExpectOptions& options, bool all,
               const CommonOptions& common, RunContext& context) {
  const auto cases = replay::find_test_cases(path);
  if (!cases) return fail_with(cases.error());
  std::optional<Result<std::vector<replay::CaseResult>>> results;
  {
    ProgressBar bar(context, common, static_cast<int64_t>(cases->size()), "cases");
    results = replay::run_test_cases(*cases, options, context);
  }
  if (!*results) return fail_with(results->error());
  constexpr std::string_view kWords[] = {"✓ pass", "✗ fail", "- unsupported"};
  std::array<int64_t, 3> counts{};
  report::Table table;
  table.columns = {{"result"}, {"case", false, 9, true, 24}, {"what", false, 8, true, 30}};
  for (size_t i = 0; i < (*results)->size(); ++i) {
    const replay::CaseResult& result = (**results)[i];
    const auto place = static_cast<size_t>(result.outcome);
    ++counts[place];
    if (result.outcome == replay::CaseOutcome::kPass && !all) continue;
    table.rows.push_back({std::string(kWords[place]), report::printable((*cases)[i].name),
                          report::printable(result.what)});
  }
  const auto [pass, fail, unsupported] = counts;
  fmt::print("{}{}", table.rows.empty() ? "" : table.render(terminal_width()),
             table.rows.empty() ? "" : "\n");
  fmt::print("{} = {} pass + {} fail + {} unsupported{}\n", counted(cases->size(), "case"), pass,
             fail, unsupported, context.cancelled ? " (interrupted)" : "");
  if (context.cancelled) return kInterrupted;
  if (pass + fail == 0) return kTrouble;
  return fail > 0 ? kDifference : kAgreement;
}

}  // namespace plumb::cli

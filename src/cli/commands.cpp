// SPDX-License-Identifier: Apache-2.0
//
// The table of all subcommands: a new one is a line here and a file beside this one.
#include <array>

#include "cli/command.h"

namespace plumb::cli {

int run_compare(int argc, char** argv, RunContext& context);
int run_run(int argc, char** argv, RunContext& context);
int run_dump(int argc, char** argv, RunContext& context);
int run_diagnose(int argc, char** argv, RunContext& context);
int run_isolate(int argc, char** argv, RunContext& context);
int run_diff(int argc, char** argv, RunContext& context);
int run_env(int argc, char** argv, RunContext& context);
int run_inspect(int argc, char** argv, RunContext& context);
int run_convert(int argc, char** argv, RunContext& context);
int run_quantize(int argc, char** argv, RunContext& context);
int run_reduce(int argc, char** argv, RunContext& context);
int run_sensitivity(int argc, char** argv, RunContext& context);
int run_shrink(int argc, char** argv, RunContext& context);
int run_overflow(int argc, char** argv, RunContext& context);
int run_lint(int argc, char** argv, RunContext& context);
int run_tune(int argc, char** argv, RunContext& context);
int run_calib_check(int argc, char** argv, RunContext& context);
int run_eval(int argc, char** argv, RunContext& context);
int run_formats(int argc, char** argv, RunContext& context);
int run_metrics(int argc, char** argv, RunContext& context);
int run_merge(int argc, char** argv, RunContext& context);
int run_report(int argc, char** argv, RunContext& context);
int run_profiles(int argc, char** argv, RunContext& context);
int run_rules(int argc, char** argv, RunContext& context);
int run_completion(int argc, char** argv, RunContext& context);
int run_msaccucmp(int argc, char** argv, RunContext& context);
int run_msprobe(int argc, char** argv, RunContext& context);

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"compare", "compare two sets of dumped tensors, operator by operator", run_compare},
      Command{"run", "run two models on the same input and compare", run_run},
      Command{"dump", "run a model and save what every operator computes", run_dump},
      Command{"diagnose", "why a comparison came out as it did, and what to do next", run_diagnose},
      Command{"report", "a saved result on the screen, as a page, table or picture", run_report},
      Command{"merge", "one result from the shares of a comparison", run_merge},
      Command{"isolate", "replay one operator: did it make the error or inherit it?", run_isolate},
      Command{"diff", "compare two models without running them", run_diff},
      Command{"env", "tell what accuracy depends on at this machine", run_env},
      Command{"inspect", "what is in this file or directory", run_inspect},
      Command{"convert", "decode to npy, npz, bin or safetensors", run_convert},
      Command{"reduce", "shrink dumps to statistics while they are being written", run_reduce},
      Command{"overflow", "which operator overflowed first", run_overflow},
      Command{"lint", "find mistakes in a pre-processing or quantization config", run_lint},
      Command{"shrink", "cut a model down to the operators that a fault needs", run_shrink},
      Command{"quantize", "calibrate, simulate quantization, measure the error", run_quantize},
      Command{"sensitivity", "which layers lose most when quantized", run_sensitivity},
      Command{"tune", "search the cheapest mixed precision that reaches a target", run_tune},
      Command{"calib-check", "does the calibration set represent the real data", run_calib_check},
      Command{"eval", "how often models name the right class, side by side", run_eval},
      Command{"formats", "list the files, directories and layouts that can be read", run_formats},
      Command{"metrics", "list the numbers a comparison can compute", run_metrics},
      Command{"profiles", "list the limits that decide pass or fail", run_profiles},
      Command{"rules", "list the rules that explain a difference", run_rules},
      Command{"completion", "what shells and `man` need to know of these commands", run_completion},
      Command{"msaccucmp", "the commands of msaccucmp.py, for scripts that call it", run_msaccucmp},
      Command{"msprobe", "the commands of msprobe, for scripts that call it", run_msprobe},
  };
  return kCommands;
}

}  // namespace plumb::cli

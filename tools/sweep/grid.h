// Private to tools/sweep: from `--set` with several values to the runs of a sweep.
//
//   std::vector<Axis> axes = …;                          // lr: 1e-3, 3e-4; width: 128, 256
//   for (const SweepRun& run : RunsOf(axes, flags)) …         // lr=1e-3,width=128 of the program width=128, with --set
//   lr=1e-3
#ifndef CLEAVE_TOOLS_SWEEP_GRID_H_
#define CLEAVE_TOOLS_SWEEP_GRID_H_

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cleave::tools {

using SettingValue = std::pair<std::string, std::string>;

// A setting with its values, as they were typed.
struct Axis {
  std::string name;
  std::vector<std::string> values;

  bool operator==(const Axis&) const = default;
};

// The settings of a command line, in its order; or what is wrong with them.
std::variant<std::vector<Axis>, std::string> AxesOf(const std::vector<SettingValue>& settings);

// The values of "1e-3,3e-4" and of "sgd(lr = 0.1, momentum = 0.9),adamw()": commas in brackets and quotes separate
// none. Blanks around them are left out.
std::vector<std::string> SplitValues(const std::string& text);

struct SweepRun {
  std::string name;                    // Of its folder: its values of settings that have several.
  std::vector<std::string> values;     // Of these settings, in their order.
  std::string program;                 // The name of its program: "width=128", or "all" where there is one.
  std::vector<SettingValue> compiled;  // With which the program is compiled.
  std::vector<std::string> flags;      // With which it is run.
};

// The words with which a program gives a setting this value; none where the compiler does.
using FlagOfSetting = std::function<std::vector<std::string>(const std::string& name, const std::string& value)>;

// One for each choice of values; the last setting changes first.
std::vector<SweepRun> RunsOf(const std::vector<Axis>& axes, const FlagOfSetting& flag_of);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SWEEP_GRID_H_

#include "runtime/data/token_windows.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

namespace cleave::runtime {

Result<TokenWindows> TokenWindowsOf(const std::vector<ModelInput>& inputs) {
  Result<std::vector<int>> fields = MatchFields("tokens", {"tokens", "next"}, inputs);
  if (!fields.ok()) return fields.error();
  TokenWindows windows{.fields = std::move(fields.value()), .length = 0};
  for (const ModelInput& input : inputs) {
    const int64_t elements = ElementsPerSample(input.region);
    if (input.is_float) return Error{ExitCode::kInput, Format("input %s; tokens are i32", Describe(input).c_str())};
    if (windows.length != 0 && elements != windows.length) {
      return Error{ExitCode::kInput,
                   Format("input %s, %" PRId64 " tokens per sample, and input %s, %" PRId64,
                          Describe(inputs[0]).c_str(), windows.length, Describe(input).c_str(), elements)};
    }
    windows.length = elements;
    if (input.limit > 0) windows.limit = windows.limit == 0 ? input.limit : std::min(windows.limit, input.limit);
  }
  windows.length = std::max<int64_t>(1, windows.length);
  return windows;
}

}  // namespace cleave::runtime

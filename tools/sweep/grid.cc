#include "tools/sweep/grid.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "runtime/digest/digest.h"

namespace cleave::tools {
namespace {

// More is a mistake of the keyboard.
constexpr size_t kMostRuns = 10000;

// A file name of "lr=1e-3,width=128". Where signs are replaced, or it would be too long, a digest keeps names apart.
std::string FolderName(const std::vector<SettingValue>& settings) {
  constexpr size_t kLongest = 120;
  std::string text;
  for (const auto& [name, value] : settings) absl::StrAppend(&text, text.empty() ? "" : ",", name, "=", value);
  std::string name;
  for (const char c : text)
    name += absl::ascii_isalnum(c) || std::string("._=+-,").find(c) != std::string::npos ? c : '_';
  if (name == text && name.size() <= kLongest) return name;
  const std::string digest = runtime::DigestOf(text.data(), static_cast<int64_t>(text.size()));
  return absl::StrCat(name.substr(0, kLongest), "-", digest.substr(0, 8));
}

}  // namespace

std::vector<std::string> SplitValues(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\' && i + 1 < text.size()) {
      values.back() += c;
      values.back() += text[++i];
      continue;
    }
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == '(' || c == '[' || c == '{')) ++depth;
    if (!is_quoted && (c == ')' || c == ']' || c == '}')) --depth;
    if (c == ',' && depth <= 0 && !is_quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  for (std::string& value : values) value = std::string(absl::StripAsciiWhitespace(value));
  return values;
}

std::variant<std::vector<Axis>, std::string> AxesOf(const std::vector<SettingValue>& settings) {
  std::vector<Axis> axes;
  size_t runs = 1;
  for (const auto& [name, text] : settings) {
    const auto same =
        std::find_if(axes.begin(), axes.end(), [&, &name = name](const Axis& axis) { return axis.name == name; });
    if (same != axes.end()) {
      return absl::StrCat("--set: `", name, "` is given twice; several values stand between commas: `--set ", name, "=",
                          same->values.back(), ",", text, "`");
    }
    Axis axis{.name = name, .values = SplitValues(text)};
    std::set<std::string> seen;
    for (const std::string& value : axis.values) {
      if (value.empty()) return absl::StrCat("--set: a value of `", name, "` is missing in `", text, "`");
      if (!seen.insert(value).second) return absl::StrCat("--set: `", name, "` has the value `", value, "` twice");
    }
    runs *= axis.values.size();
    if (runs > kMostRuns)
      return absl::StrCat("--set: the settings have more than ", FormatCount(kMostRuns), " choices");
    axes.push_back(std::move(axis));
  }
  if (runs == 1)
    return std::string("no setting has several values, as `--set lr=1e-3,3e-4`; for one run there is `cleave run`");
  return axes;
}

std::vector<SweepRun> RunsOf(const std::vector<Axis>& axes, const FlagOfSetting& flag_of) {
  std::vector<SweepRun> runs;
  for (std::vector<size_t> at(axes.size(), 0);;) {
    SweepRun run;
    std::vector<SettingValue> varied, varied_by_compiler;
    for (size_t i = 0; i < axes.size(); ++i) {
      const SettingValue setting = {axes[i].name, axes[i].values[at[i]]};
      const bool varies = axes[i].values.size() > 1;
      if (varies) varied.push_back(setting);
      if (varies) run.values.push_back(setting.second);
      const std::vector<std::string> flag = flag_of(setting.first, setting.second);
      run.flags.insert(run.flags.end(), flag.begin(), flag.end());
      if (!flag.empty()) continue;
      run.compiled.push_back(setting);
      if (varies) varied_by_compiler.push_back(setting);
    }
    run.name = FolderName(varied);
    run.program = varied_by_compiler.empty() ? "all" : FolderName(varied_by_compiler);
    runs.push_back(std::move(run));
    size_t next = axes.size();
    while (next > 0 && ++at[next - 1] == axes[next - 1].values.size()) at[--next] = 0;
    if (next == 0) return runs;
  }
}

}  // namespace cleave::tools

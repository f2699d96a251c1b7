#include "tools/plan_diff/command.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"
#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {
namespace {

constexpr char kUsage[] =
    "usage: diff A.json B.json [--json]\n"
    "  what changed from one plan.json to another; exit code 0: nothing, 1: something\n";

constexpr int64_t kMostFileBytes = int64_t{256} << 20;

absl::StatusOr<PlanView> ReadPlan(const std::string& path) {
  CLEAVE_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, {.what = "plan file", .most_bytes = kMostFileBytes, .pipes = Pipes::kRead}));
  absl::StatusOr<PlanView> view = ReadPlanView(text);
  if (!view.ok()) return absl::InvalidArgumentError(absl::StrCat("`", path, "`: ", view.status().message()));
  return view;
}

}  // namespace

DiffAnswer RunDiff(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  bool as_json = false;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return {.exit_code = 0, .output = kUsage};
    if (word == "--json") {
      as_json = true;
    } else if (absl::StartsWith(word, "-")) {
      return {.exit_code = 2, .error = absl::StrCat("error: unexpected `", word, "`\n", kUsage)};
    } else {
      paths.push_back(word);
    }
  }
  if (paths.size() != 2) {
    return {.exit_code = 2,
            .error = absl::StrCat("error: two plan files are expected, found ", paths.size(), "\n", kUsage)};
  }
  const absl::StatusOr<PlanView> before = ReadPlan(paths[0]);
  const absl::StatusOr<PlanView> after = before.ok() ? ReadPlan(paths[1]) : before;
  for (const auto* read : {&before, &after}) {
    if (!read->ok()) return {.exit_code = 3, .error = absl::StrCat("error: ", read->status().message(), "\n")};
  }
  const PlanDiff diff = Diff(*before, *after);
  return {.exit_code = diff.is_empty() ? 0 : 1, .output = as_json ? DiffJson(diff) : DiffText(diff)};
}

}  // namespace cleave::tools

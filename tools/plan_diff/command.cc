#include "tools/plan_diff/command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"
#include "tools/page/page.h"
#include "tools/plan_diff/diff_page.h"
#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostFileBytes = int64_t{256} << 20;

absl::StatusOr<PlanView> ReadPlan(const std::string& path) {
  CLEAVE_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, {.what = "plan file", .most_bytes = kMostFileBytes, .pipes = Pipes::kRead}));
  absl::StatusOr<PlanView> view = ReadPlanView(text);
  if (!view.ok()) return absl::InvalidArgumentError(absl::StrCat("`", path, "`: ", view.status().message()));
  return view;
}

struct DiffOptions {
  std::string before;
  std::string after;
  bool as_json = false;
  bool as_markdown = false;
  std::string html;  // The file of a page; empty: none.
};

void AddOptions(CLI::App& app, DiffOptions& options) {
  SetValue(app.add_option("BEFORE", options.before, "A plan.json")->required(), "FILE.json");
  SetValue(app.add_option("AFTER", options.after, "A plan.json to compare with it")->required(), "FILE.json");
  CLI::Option* const json = app.add_flag("--json", options.as_json, "Print every change as JSON");
  app.add_flag("--markdown", options.as_markdown, "Print a comment for a pull request")->excludes(json);
  SetValue(app.add_option("--html", options.html, "Write both plans side by side as a page for a browser, too"),
           "FILE.html");
  app.footer("Exit code 0: the plans are equal, 1: they differ.");
}

}  // namespace

void DescribeDiff(CLI::App& app) { AddOptions(app, *new DiffOptions); }

DiffAnswer RunDiff(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  DiffOptions options;
  CLI::App app(summary, name);
  AddOptions(app, options);
  if (auto exit = Parse(app, words)) {
    if (exit->code == ExitCode::kDone) return {.exit_code = exit->code, .output = std::move(exit->text)};
    return {.exit_code = exit->code, .error = std::move(exit->text)};
  }
  const absl::StatusOr<PlanView> before = ReadPlan(options.before);
  const absl::StatusOr<PlanView> after = before.ok() ? ReadPlan(options.after) : before;
  for (const auto* read : {&before, &after}) {
    if (read->ok()) continue;
    return {.exit_code = ExitCode::kModelWrong, .error = absl::StrCat("error: ", read->status().message(), "\n")};
  }
  const PlanDiff diff = Diff(*before, *after);
  if (!options.html.empty()) {
    const absl::Status written = WritePage(options.html, DiffPage(diff, options.before, options.after));
    if (!written.ok()) {
      return {.exit_code = ExitCode::kEnvironment, .error = absl::StrCat("error: ", written.message(), "\n")};
    }
  }
  return {.exit_code = diff.is_empty() ? ExitCode::kDone : ExitCode::kDiffers,
          .output = options.as_json       ? DiffJson(diff)
                    : options.as_markdown ? DiffMarkdown(diff)
                                          : DiffText(diff)};
}

}  // namespace cleave::tools

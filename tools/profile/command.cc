#include "tools/profile/command.h"

#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"
#include "tools/page/page.h"
#include "tools/profile/profile.h"
#include "tools/profile/profile_page.h"

namespace cleave::tools {
namespace {

constexpr int64_t kMostFileBytes = int64_t{256} << 20;

struct ProfileOptions {
  std::string run;
  std::string plan;  // Empty: that beside the run.
  bool as_json = false;
  std::string html;  // The file of a page; empty: none.
};

void AddOptions(CLI::App& app, ProfileOptions& options) {
  SetValue(app.add_option("RUN", options.run, "The folder of a run, or its run.json")->required(), "FILE.json");
  SetValue(
      app.add_option("PLAN", options.plan, "The plan.json of the program, or its folder (default: beside the run)"),
      "FILE.json");
  app.add_flag("--json", options.as_json, "Print every kernel as JSON");
  SetValue(app.add_option("--html", options.html, "Write the comparison as a page for a browser, too"), "FILE.html");
}

// `path`, or the file of that name in the folder that it is.
std::string FileAt(const std::string& path, const char* name) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? (std::filesystem::path(path) / name).string() : path;
}

template <typename Read>
auto ReadAt(const std::string& path, const char* what, const Read& read) -> decltype(read("")) {
  CLEAVE_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, {.what = what, .most_bytes = kMostFileBytes, .pipes = Pipes::kRead}));
  auto result = read(text);
  if (!result.ok()) return absl::InvalidArgumentError(absl::StrCat(QuotedPath(path), ": ", result.status().message()));
  return result;
}

absl::StatusOr<Comparison> CompareFiles(const ProfileOptions& options) {
  const std::string run_path = FileAt(options.run, "run.json");
  CLEAVE_ASSIGN_OR_RETURN(MeasuredRun run, ReadAt(run_path, "run", ReadRun));
  const std::string plan_path = !options.plan.empty()
                                    ? FileAt(options.plan, "plan.json")
                                    : (std::filesystem::path(run_path).parent_path() / "plan.json").string();
  CLEAVE_ASSIGN_OR_RETURN(PredictedStep plan, ReadAt(plan_path, "plan file", ReadPrediction));
  return Compare(std::move(run), std::move(plan));
}

// The text of the model's file, as it is now; empty where it is not there any more.
std::string SourceOf(const PredictedStep& plan) {
  const absl::StatusOr<std::string> text =
      ReadFile(plan.file, {.what = "model", .most_bytes = kMostFileBytes, .pipes = Pipes::kRefused});
  return text.value_or("");
}

}  // namespace

void DescribeProfile(CLI::App& app) { AddOptions(app, *new ProfileOptions); }

ExitCode RunProfile(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  ProfileOptions options;
  CLI::App app(summary, name);
  AddOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  const absl::StatusOr<Comparison> comparison = CompareFiles(options);
  if (!comparison.ok()) {
    std::cerr << "error: " << comparison.status().message() << "\n";
    return ExitCode::kModelWrong;
  }
  if (!options.html.empty()) {
    const absl::Status written = WritePage(options.html, ProfilePage(*comparison, SourceOf(comparison->plan)));
    if (!written.ok()) {
      std::cerr << "error: " << written.message() << "\n";
      return ExitCode::kEnvironment;
    }
  }
  std::cout << (options.as_json ? ComparisonJson(*comparison) : ComparisonText(*comparison));
  return ExitCode::kDone;
}

}  // namespace cleave::tools

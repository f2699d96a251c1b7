// Reading guide: RunWatch shows once, or goes on in Follow; PictureOf is what is shown.
#include "tools/watch/watch.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "tools/watch/curves.h"
#include "tools/watch/plot.h"
#include "tools/watch/table.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

// What is shown where no column is asked for, as far as a run has it.
constexpr const char* kUsual[] = {"loss", "validation/loss", "test/loss"};

struct WatchOptions {
  std::string run;
  std::vector<std::string> columns;
  bool once = false;
  bool csv = false;
  bool ascii = false;
  bool is_log = false;
};

void AddOptions(CLI::App& app, WatchOptions& options) {
  SetValue(app.add_option("RUN", options.run, "The folder of a run, or its metrics.jsonl")->required(),
           "FOLDER|FILE.jsonl");
  SetValue(
      app.add_option("--column", options.columns, "What to show, with * and ?; may be repeated (default: the losses)"),
      "NAME")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_flag("--once", options.once, "Show what there is, and do not wait for more");
  app.add_flag("--csv", options.csv, "Print a table of all columns, or of those that are asked for");
  app.add_flag("--log", options.is_log, "Draw values on a logarithmic axis");
  app.add_flag("--ascii", options.ascii, "Draw in ASCII");
  app.footer("On a terminal the curves are drawn anew as they grow, until the run has ended or Ctrl-C.");
}

// The columns that are shown; `missing` gets what is asked for and is not there.
std::vector<const Curve*> ChosenOf(const Curves& curves, const WatchOptions& options,
                                   std::vector<std::string>& missing) {
  std::vector<const Curve*> chosen;
  if (options.columns.empty() && options.csv) {
    for (const Curve& curve : curves.all()) chosen.push_back(&curve);
  }
  if (options.columns.empty() && !options.csv) {
    for (const char* usual : kUsual) {
      if (const Curve* curve = curves.Find(usual)) chosen.push_back(curve);
    }
  }
  for (const std::string& pattern : options.columns) {
    const size_t before = chosen.size();
    for (const Curve& curve : curves.all()) {
      const bool is_there = std::find(chosen.begin(), chosen.end(), &curve) != chosen.end();
      if (MatchesPattern(pattern, curve.name) && !is_there) chosen.push_back(&curve);
    }
    if (chosen.size() == before) missing.push_back(pattern);
  }
  return chosen;
}

std::string MissingText(const std::vector<std::string>& missing, const std::vector<std::string>& names) {
  const std::optional<std::string> nearest = NearestName(missing.front(), names);
  return absl::StrCat("no column `", missing.front(), "`",
                      nearest.has_value() ? absl::StrCat("; did you mean `", *nearest, "`?")
                                          : absl::StrCat("; there are ", absl::StrJoin(names, ", ")));
}

bool WritesUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
  }
  return false;
}

struct Size {
  int columns = 80, rows = 24;
};

Size TerminalSize() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {size.ws_col, size.ws_row};
  return {};
}

double Last(const Curves& curves, const char* name) {
  const Curve* const curve = curves.Find(name);
  return curve == nullptr ? 0 : curve->points.back().value;
}

// "step 781, epoch 0 | 3.2 ms | 79750 samples/s | learning_rate 0.001 | MFU 34.0 %"
std::string StatusLine(const Curves& curves) {
  const Curve* const seconds = curves.Find("seconds");
  if (seconds == nullptr) return "";
  std::vector<std::string> parts = {
      absl::StrFormat("step %d, epoch %.0f", seconds->points.back().step, Last(curves, "epoch"))};
  const double step = seconds->points.back().value;
  if (step > 0) {
    parts.push_back(absl::StrFormat("%.2f ms", step * 1e3));
    if (const double samples = Last(curves, "samples"); samples > 0)
      parts.push_back(absl::StrFormat("%.0f samples/s", samples / step));
  }
  if (const double tokens = Last(curves, "tokens_per_second"); tokens > 0)
    parts.push_back(absl::StrFormat("%.0f tokens/s", tokens));
  if (curves.Find("learning_rate") != nullptr)
    parts.push_back(absl::StrFormat("learning rate %.4g", Last(curves, "learning_rate")));
  if (curves.Find("mfu") != nullptr) parts.push_back(absl::StrFormat("MFU %.1f %%", 100 * Last(curves, "mfu")));
  return absl::StrJoin(parts, " | ");
}

// What is shown of the curves, which fits into the terminal.
std::vector<std::string> PictureOf(const std::vector<const Curve*>& chosen, const Curves& curves,
                                   const WatchOptions& options, const Size& size) {
  constexpr int kAround = 2;  // Lines of a plot besides its drawing.
  constexpr int kMostRows = 14, kLeastRows = 4;
  std::vector<std::string> lines;
  if (std::string status = StatusLine(curves); !status.empty()) lines.push_back(std::move(status));
  const int left = (size.rows - 2) / std::max(1, static_cast<int>(chosen.size())) - kAround;
  const PlotOptions plot{.columns = size.columns,
                         .rows = std::clamp(left, kLeastRows, kMostRows),
                         .ascii = options.ascii || !WritesUtf8(),
                         .is_log = options.is_log};
  for (const Curve* curve : chosen) {
    const std::vector<std::string> drawn = Plot(*curve, plot);
    lines.insert(lines.end(), drawn.begin(), drawn.end());
  }
  return lines;
}

std::atomic<bool> is_over = false;

// Shows the curves until the run has ended.
absl::Status Follow(Curves& curves, const WatchOptions& options, const fs::path& run_file, std::ostream& out) {
  constexpr auto kBetween = std::chrono::milliseconds(500);
  struct sigaction stop = {};
  stop.sa_handler = [](int) { is_over = true; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  out << "\033[?25l";  // Hides the cursor.
  Size drawn_for = {0, 0};
  absl::Status status;
  while (!is_over) {
    // Looked at first: what is written until then is read below.
    std::error_code error;
    const bool has_ended = !run_file.empty() && fs::exists(run_file, error);
    absl::StatusOr<bool> has_new = curves.Read();
    if (!has_new.ok() && !absl::IsNotFound(has_new.status())) {
      status = has_new.status();
      break;
    }
    const Size size = TerminalSize();
    if (has_new.value_or(false) || size.columns != drawn_for.columns || size.rows != drawn_for.rows) {
      std::vector<std::string> missing;
      const std::vector<const Curve*> chosen = ChosenOf(curves, options, missing);
      std::vector<std::string> lines = PictureOf(chosen, curves, options, size);
      if (curves.all().empty()) lines.push_back("waiting for the first step");
      if (!missing.empty() && !curves.all().empty()) lines.push_back(MissingText(missing, curves.Names()));
      if (lines.size() >= static_cast<size_t>(size.rows)) lines.resize(static_cast<size_t>(std::max(1, size.rows - 1)));
      // From the upper left corner: each line clears what is behind it, and the end what is below.
      out << "\033[H";
      for (const std::string& line : lines) out << line << "\033[K\n";
      out << "\033[J";
      out.flush();
      drawn_for = size;
    }
    if (has_ended) break;
    std::this_thread::sleep_for(kBetween);
  }
  out << "\033[?25h";
  out.flush();
  return status;
}

ExitCode Fail(const std::string& message, std::ostream& err) {
  err << "error: " << message << "\n";
  return ExitCode::kModelWrong;
}

}  // namespace

void DescribeWatch(CLI::App& app) { AddOptions(app, *new WatchOptions); }

ExitCode RunWatch(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out, std::ostream& err) {
  WatchOptions options;
  CLI::App app(summary, name);
  AddOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit, out, err);
  if (options.csv && (options.is_log || options.ascii)) {
    return Print(UsageError(ErrorFormat::kText, "`--csv` prints numbers, of which `--log` and `--ascii` draw curves"),
                 out, err);
  }
  std::error_code error;
  const bool is_folder = fs::is_directory(options.run, error);
  if (!is_folder && !fs::exists(options.run, error))
    return Fail(absl::StrCat("there is no ", QuotedPath(options.run)), err);
  const std::string path = is_folder ? (fs::path(options.run) / "metrics.jsonl").string() : options.run;
  Curves curves(path);
  const bool is_live = !options.once && !options.csv && &out == &std::cout && isatty(STDOUT_FILENO) != 0;
  if (is_live) {
    out << "\033[H\033[2J";
    const absl::Status status = Follow(curves, options, fs::path(path).parent_path() / "run.json", out);
    return status.ok() ? ExitCode::kDone : Fail(std::string(status.message()), err);
  }
  if (const absl::StatusOr<bool> read = curves.Read(); !read.ok())
    return Fail(std::string(read.status().message()), err);
  std::vector<std::string> missing;
  const std::vector<const Curve*> chosen = ChosenOf(curves, options, missing);
  if (curves.all().empty()) return Fail(absl::StrCat(QuotedPath(path), " has no step yet"), err);
  if (!missing.empty()) return Fail(MissingText(missing, curves.Names()), err);
  if (options.csv) {
    out << CsvText(chosen);
    return ExitCode::kDone;
  }
  for (const std::string& line : PictureOf(chosen, curves, options, TerminalSize())) out << line << "\n";
  return ExitCode::kDone;
}

}  // namespace cleave::tools

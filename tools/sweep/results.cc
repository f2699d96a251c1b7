#include "tools/sweep/results.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"

namespace cleave::tools {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kCurveWidth = 24;

// NaN where a number is written as null.
std::optional<double> NumberOf(const runtime::Json& object, const std::string& name) {
  const runtime::Json* const value = object.Find(name);
  if (value == nullptr) return std::nullopt;
  return value->kind == runtime::Json::Kind::kNumber ? std::strtod(value->text.c_str(), nullptr) : kNotANumber;
}

// A line that a program was stopped in the middle of is no JSON.
void ReadMetric(const std::string& line, RunResult& result) {
  const runtime::Result<runtime::Json> read = runtime::ParseJson(line);
  if (!read.ok() || read.value().kind != runtime::Json::Kind::kObject) return;
  const runtime::Json& object = read.value();
  if (const std::optional<double> loss = NumberOf(object, "loss")) {
    result.losses.push_back(*loss);
    result.steps = static_cast<int64_t>(NumberOf(object, "step").value_or(0));
  }
  const runtime::Json* const validation = object.Find("validation");
  if (validation == nullptr || validation->kind != runtime::Json::Kind::kObject) return;
  const std::optional<double> loss = NumberOf(*validation, "loss");
  if (!loss.has_value() || std::isnan(*loss)) return;
  result.best_validation = std::min(result.best_validation.value_or(*loss), *loss);
}

// The least of those that are finite; NaN: none is.
double Least(const std::vector<double>& losses) {
  double least = kNotANumber;
  for (const double loss : losses) {
    if (std::isfinite(loss) && !(least <= loss)) least = loss;
  }
  return least;
}

double Last(const std::vector<double>& losses) { return losses.empty() ? kNotANumber : losses.back(); }

std::string LossText(double loss) { return std::isfinite(loss) ? absl::StrFormat("%.6g", loss) : "-"; }

std::string RateText(const RunResult& result) {
  return result.median_step_seconds > 0 ? absl::StrFormat("%.4g", 1 / result.median_step_seconds) : "-";
}

// How many columns of a terminal a text takes: its characters of UTF-8.
size_t Columns(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

RunResult ReadResult(const std::string& folder) {
  RunResult result;
  std::ifstream metrics(std::filesystem::path(folder) / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) ReadMetric(line, result);
  const std::string path = (std::filesystem::path(folder) / "run.json").string();
  const auto text = ReadFile(path, {.what = "record of a run", .most_bytes = int64_t{64} << 20});
  if (!text.ok()) return result;
  const runtime::Result<runtime::Json> read = runtime::ParseJson(*text);
  if (!read.ok() || read.value().kind != runtime::Json::Kind::kObject) return result;
  if (const std::optional<double> code = NumberOf(read.value(), "exit")) result.exit_code = static_cast<int>(*code);
  const double median = NumberOf(read.value(), "median_step_seconds").value_or(0);
  result.median_step_seconds = std::isfinite(median) ? median : 0;
  return result;
}

bool IsFinal(const RunResult& result) { return result.exit_code == 0 || result.exit_code == kNotFinite; }

std::string Curve(const std::vector<double>& losses, size_t width, double low, double high) {
  constexpr const char* kSigns[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  const size_t signs = std::min(width, losses.size());
  for (size_t i = 0; i < signs; ++i) {
    const size_t begin = i * losses.size() / signs, end = (i + 1) * losses.size() / signs;
    double sum = 0;
    for (size_t k = begin; k < end; ++k) sum += losses[k];
    const double mean = sum / static_cast<double>(end - begin);
    if (!std::isfinite(mean)) {
      text += "!";
      continue;
    }
    const double place = high > low ? std::clamp((mean - low) / (high - low), 0.0, 1.0) : 0;
    text += kSigns[std::min<size_t>(7, static_cast<size_t>(place * 8))];
  }
  return text;
}

std::string TableText(const std::vector<std::string>& names, const std::vector<TableRow>& rows) {
  const bool has_validation =
      std::any_of(rows.begin(), rows.end(), [](const TableRow& row) { return row.result.best_validation.has_value(); });
  // All curves have one scale, from the least loss of all to the largest first one.
  double low = kNotANumber, high = kNotANumber;
  for (const TableRow& row : rows) {
    const double least = Least(row.result.losses);
    if (std::isnan(least)) continue;
    if (!(low <= least)) low = least;
    const double first = row.result.losses[0];
    if (std::isfinite(first) && !(high >= first)) high = first;
  }
  std::vector<std::vector<std::string>> cells(1, names);
  for (const char* const name : {"steps", "loss", "best"}) cells[0].emplace_back(name);
  if (has_validation) cells[0].emplace_back("validation");
  for (const char* const name : {"steps/s", "status", "loss by step"}) cells[0].emplace_back(name);
  for (const TableRow& row : rows) {
    std::vector<std::string> line = row.values;
    line.push_back(row.result.losses.empty() ? "-" : absl::StrCat(row.result.steps));
    line.push_back(LossText(Last(row.result.losses)));
    line.push_back(LossText(Least(row.result.losses)));
    if (has_validation) line.push_back(LossText(row.result.best_validation.value_or(kNotANumber)));
    line.push_back(RateText(row.result));
    line.push_back(row.status);
    line.push_back(Curve(row.result.losses, kCurveWidth, low, high));
    cells.push_back(std::move(line));
  }
  std::string text;
  for (const std::vector<std::string>& line : cells) {
    std::string written;
    for (size_t column = 0; column < line.size(); ++column) {
      size_t width = 0;
      for (const std::vector<std::string>& other : cells) width = std::max(width, Columns(other[column]));
      absl::StrAppend(&written, line[column], std::string(width - Columns(line[column]) + 2, ' '));
    }
    written.erase(written.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, written, "\n");
  }
  return text;
}

std::string ResultLines(const std::vector<std::string>& names, const std::vector<std::string>& folders,
                        const std::vector<TableRow>& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    const RunResult& result = rows[i].result;
    runtime::JsonObject settings, line;
    for (size_t k = 0; k < names.size(); ++k) settings.Add(names[k], rows[i].values[k]);
    line.Add("folder", folders[i]);
    line.Add("settings", settings);
    line.Add("status", rows[i].status);
    line.AddInteger("steps", result.steps);
    if (std::isfinite(Last(result.losses))) line.Add("loss", Last(result.losses));
    if (std::isfinite(Least(result.losses))) line.Add("best_loss", Least(result.losses));
    if (result.best_validation.has_value()) line.Add("best_validation_loss", *result.best_validation);
    if (result.median_step_seconds > 0) line.Add("steps_per_second", 1 / result.median_step_seconds);
    absl::StrAppend(&text, line.Text(), "\n");
  }
  return text;
}

}  // namespace cleave::tools

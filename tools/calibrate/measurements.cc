#include "tools/calibrate/measurements.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json/json.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

absl::StatusOr<Seconds> SecondsAt(const Json& line, const char* field, const std::string& where) {
  CLEAVE_ASSIGN_OR_RETURN(const double seconds, NumberAt(line, field, where));
  return seconds > 0 ? absl::StatusOr<Seconds>(Seconds(seconds))
                     : JsonError(absl::StrCat(where, ".", field), "expected a time above 0");
}

absl::StatusOr<TimedCalls> TimesOf(const Json& line, const std::string& where) {
  TimedCalls times;
  CLEAVE_ASSIGN_OR_RETURN(times.least, SecondsAt(line, "least", where));
  CLEAVE_ASSIGN_OR_RETURN(times.median, SecondsAt(line, "median", where));
  CLEAVE_ASSIGN_OR_RETURN(times.upper_quartile, SecondsAt(line, "upper_quartile", where));
  CLEAVE_ASSIGN_OR_RETURN(times.repetitions, IntegerAt(line, "repetitions", where));
  return times;
}

absl::Status ReadRank(const Json& line, const std::string& where, Measurements& measurements) {
  CLEAVE_RETURN_IF_ERROR(CheckFields(line, where, {"rank", "host", "device", "memory", "threads"}));
  MeasuredRank rank;
  CLEAVE_ASSIGN_OR_RETURN(rank.host, StringAt(line, "host", where));
  CLEAVE_ASSIGN_OR_RETURN(rank.device, StringAt(line, "device", where));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t memory, IntegerAt(line, "memory", where));
  rank.memory = Bytes(memory);
  CLEAVE_ASSIGN_OR_RETURN(rank.threads, IntegerAt(line, "threads", where));
  measurements.ranks.push_back(std::move(rank));
  return absl::OkStatus();
}

absl::Status ReadFigure(const Json& line, const std::string& where, Measurements& measurements) {
  CLEAVE_RETURN_IF_ERROR(
      CheckFields(line, where, {"what", "of", "ranks", "size", "least", "median", "upper_quartile", "repetitions"}));
  CLEAVE_ASSIGN_OR_RETURN(const std::string what, StringAt(line, "what", where));
  CLEAVE_ASSIGN_OR_RETURN(const std::string of, StringAt(line, "of", where));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t ranks, IntegerAt(line, "ranks", where));
  CLEAVE_ASSIGN_OR_RETURN(const int64_t size, IntegerAt(line, "size", where));
  CLEAVE_ASSIGN_OR_RETURN(const TimedCalls times, TimesOf(line, where));
  if (const std::optional<ir::CollectiveKind> kind = ir::ParseCollectiveKind(what); kind.has_value()) {
    measurements.collectives.push_back(
        {.kind = *kind, .link = of, .ranks = ranks, .bytes = Bytes(size), .times = times});
  } else if (what == "product") {
    measurements.products.push_back({.type = of, .size = size, .times = times});
  } else if (what == "memory") {
    measurements.memory.push_back({.bytes = Bytes(size), .times = times});
  } else if (what == "kernel") {
    measurements.kernel = times;
  } else if (what == "host_copy") {
    measurements.host_copies.push_back({.bytes = Bytes(size), .times = times});
  } else if (what == "input") {
    measurements.input = {.bytes = Bytes(size), .times = times};
  } else if (what == "overlap") {
    if (!measurements.overlap.has_value()) measurements.overlap.emplace();
    MeasuredOverlap& overlap = *measurements.overlap;
    overlap.bytes = Bytes(size);
    (of == "communication" ? overlap.communication : of == "computation" ? overlap.computation : overlap.both) = times;
  } else {
    return JsonError(where, absl::StrCat("unknown figure \"", what, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Measurements> ParseMeasurements(absl::string_view text) {
  Measurements measurements;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::string where = absl::StrCat("line ", ++number);
    CLEAVE_ASSIGN_OR_RETURN(const Json object, ParseStrictJson(line));
    CLEAVE_RETURN_IF_ERROR(object.is_object() && object.contains("rank") ? ReadRank(object, where, measurements)
                                                                         : ReadFigure(object, where, measurements));
  }
  if (measurements.ranks.empty() || measurements.products.empty() || measurements.memory.empty()) {
    return absl::InvalidArgumentError("the measurements are not complete");
  }
  return measurements;
}

}  // namespace cleave::tools

#include "runtime/train/profile.h"

#include <errno.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/device/memory.h"
#include "runtime/device/work.h"
#include "runtime/device/workspace.h"
#include "runtime/json/trace_events.h"
#include "runtime/launch/launch.h"

namespace cleave::runtime {
namespace {

constexpr size_t kMostLines = 40;

constexpr char kOutside[] = "(outside of ops)";

double PerStep(const ProfileRecord& profile, double number) {
  return profile.steps == 0 ? 0 : number / static_cast<double>(profile.steps);
}

double CommunicationOf(const ProfileRecord& profile) {
  double seconds = 0;
  for (const ProfiledOp& op : profile.ops) seconds += op.communication_seconds;
  return seconds;
}

const char* NameOf(const ProfiledOp& op) { return op.name.empty() ? kOutside : op.name.c_str(); }

// A rate in 10^9 a second; empty where nothing was counted.
std::string Rate(double count, double seconds) {
  return count > 0 && seconds > 0 ? Format("%.1f", count / seconds * 1e-9) : "";
}

std::string LineOf(const ProfileRecord& profile, const ProfiledOp& op, int name_width, int place_width) {
  return Format("%-*s  %-*s %7.4g %9.3f %6.1f %% %9s %7s", name_width, NameOf(op), place_width, op.place.c_str(),
                PerStep(profile, static_cast<double>(op.calls)), PerStep(profile, op.seconds) * 1e3,
                100 * op.seconds / profile.seconds, Rate(op.flops, op.seconds).c_str(),
                Rate(op.sent_bytes, op.seconds).c_str());
}

}  // namespace

std::vector<std::string> ProfileLines(const ProfileRecord& profile) {
  if (profile.steps == 0) return {"profile: no step was measured, because the first one only prepares"};
  std::vector<std::string> lines = {
      Format("profile of %" PRId64 " step%s on rank 0: %.3f ms a step, of which %.3f ms in collectives", profile.steps,
             profile.steps == 1 ? "" : "s", PerStep(profile, profile.seconds) * 1e3,
             PerStep(profile, CommunicationOf(profile)) * 1e3)};
  const size_t shown = std::min(profile.ops.size(), kMostLines);
  size_t name_width = 0;
  size_t place_width = 0;
  for (size_t i = 0; i < shown; ++i) {
    name_width = std::max(name_width, std::strlen(NameOf(profile.ops[i])));
    place_width = std::max(place_width, profile.ops[i].place.size());
  }
  const int name = static_cast<int>(name_width);
  const int place = static_cast<int>(place_width);
  lines.push_back(
      Format("%-*s  %-*s %7s %9s %8s %9s %7s", name, "op", place, "place", "calls", "ms", "share", "GFLOP/s", "GB/s"));
  for (size_t i = 0; i < shown; ++i) lines.push_back(LineOf(profile, profile.ops[i], name, place));
  if (shown == profile.ops.size()) return lines;
  double seconds = 0;
  for (size_t i = shown; i < profile.ops.size(); ++i) seconds += profile.ops[i].seconds;
  lines.push_back(Format("%zu more: %.3f ms, %.1f %%; run.json has them", profile.ops.size() - shown,
                         PerStep(profile, seconds) * 1e3, 100 * seconds / profile.seconds));
  return lines;
}

JsonObject ProfileJson(const ProfileRecord& profile) {
  JsonArray ops;
  for (const ProfiledOp& op : profile.ops) {
    JsonObject one;
    one.Add("op", op.name);
    if (!op.place.empty()) one.Add("place", op.place);
    one.Add("calls", PerStep(profile, static_cast<double>(op.calls)));
    one.Add("seconds", PerStep(profile, op.seconds));
    if (op.communication_seconds > 0) one.Add("communication_seconds", PerStep(profile, op.communication_seconds));
    if (op.flops > 0) one.AddWhole("flops", PerStep(profile, op.flops));
    if (op.sent_bytes > 0) one.AddWhole("sent_bytes", PerStep(profile, op.sent_bytes));
    ops.Add(one);
  }
  JsonObject all;
  all.AddInteger("steps", profile.steps);
  all.Add("step_seconds", PerStep(profile, profile.seconds));
  all.Add("communication_seconds", PerStep(profile, CommunicationOf(profile)));
  all.Add("ops", ops);
  return all;
}

Profile::Profile(const std::optional<std::string>& wish, const char* model_file, Comm& comm, Watch& watch)
    : wish_(wish), model_file_(model_file), comm_(comm), watch_(watch) {
  if (!is_on()) return;
  // Later ops are in the table alone.
  most_events_ = wish_->empty() ? 0 : static_cast<size_t>(kMostTraceEvents / MeshSize(comm.mesh()));
  comm_.GatherText("");  // Ranks leave it at about the same time; clocks of different hosts differ.
  zero_ = Now();
}

Profile::~Profile() {
  if (is_on()) watch_.TellOf(nullptr);
}

Profile::Counts Profile::CountsNow() const {
  Counts counts = {.seconds = 0, .communication_seconds = 0, .flops = CountedFlops(), .sent_bytes = 0};
  for (const Traffic& traffic : comm_.traffic()) {
    if (TensorsAreOnHost()) counts.communication_seconds += traffic.seconds;
    counts.sent_bytes += traffic.sent_bytes;
  }
  FinishWork();
  counts.seconds = Now();
  return counts;
}

void Profile::BeginStep() {
  if (!is_on() || steps_begun_++ == 0) return;
  watch_.TellOf(this);
  last_ = CountsNow();
  step_began_ = last_.seconds;
  first_op_ = measured_.ops.size();
}

void Profile::EndStep() {
  if (!is_on() || steps_begun_ <= 1) return;
  watch_.Finish();
  watch_.TellOf(nullptr);
  record_.seconds += last_.seconds - step_began_;
  ++record_.steps;
  if (measured_.ops.size() > first_op_) {
    measured_.steps.push_back({steps_begun_, first_op_, step_began_ - zero_, last_.seconds - zero_});
  }
}

void Profile::EndOf(OpName op, int line) {
  const Counts now = CountsNow();
  const auto [place, is_new] = number_of_.emplace(op.text, record_.ops.size());
  if (is_new) record_.ops.push_back({.name = op.text, .place = PlaceOf(line)});
  ProfiledOp& profiled = record_.ops[place->second];
  const double communicated = now.communication_seconds - last_.communication_seconds;
  const double sent = now.sent_bytes - last_.sent_bytes;
  ++profiled.calls;
  profiled.seconds += now.seconds - last_.seconds;
  profiled.communication_seconds += communicated;
  profiled.flops += now.flops - last_.flops;
  profiled.sent_bytes += sent;
  if (*op.text != '\0' && measured_.ops.size() < most_events_) {
    measured_.ops.push_back({op, line, last_.seconds - zero_, now.seconds - zero_, communicated > 0 || sent > 0});
    const int64_t workspace = WorkspaceBytes().peak;
    if (measured_.memory.empty() || measured_.memory.back().workspace != workspace) {
      measured_.memory.push_back({now.seconds - zero_, workspace});
    }
  }
  last_ = now;
}

std::optional<ProfileRecord> Profile::Take() {
  if (!is_on()) return std::nullopt;
  ProfileRecord record = std::exchange(record_, {});
  number_of_.clear();
  std::stable_sort(record.ops.begin(), record.ops.end(),
                   [](const ProfiledOp& a, const ProfiledOp& b) { return a.seconds > b.seconds; });
  return record;
}

std::string Profile::PlaceOf(int line) const { return line > 0 ? Format("%s:%d", model_file_, line) : ""; }

std::optional<Error> Profile::WriteTrace(const std::string& folder, int64_t arena) {
  if (!is_on() || wish_->empty()) return std::nullopt;
  measured_.model_file = model_file_;
  measured_.arena = arena;
  // The first measured step begins at 0.
  const bool has_steps = !measured_.steps.empty();
  double zero = has_steps ? measured_.steps.front().begin : 0;
  for (const std::string& begin : comm_.GatherText(has_steps ? Format("%.17g", zero) : "")) {
    if (!begin.empty()) zero = std::min(zero, std::strtod(begin.c_str(), nullptr));
  }
  const std::vector<std::string> ranks =
      comm_.GatherText(EventsOf(comm_.rank(), measured_, ReadPlannedWork(folder), zero));
  std::optional<Error> error;
  if (comm_.rank() == 0) {
    JsonObject facts;
    facts.Add("model", std::string(model_file_));
    const std::string text = TraceText(Timeline::kMeasured, facts, ranks);
    std::FILE* const file = std::fopen(wish_->c_str(), "w");
    bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr) is_written &= std::fclose(file) == 0;
    if (!is_written) {
      error = Error{ExitCode::kEnvironment,
                    Format("cannot write the profile to `%s`: %s", wish_->c_str(), std::strerror(errno))};
    }
  }
  return Agree(comm_, error);
}

}  // namespace cleave::runtime

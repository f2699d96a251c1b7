#include "runtime/train/profile.h"

#include <errno.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/device/memory.h"
#include "runtime/device/work.h"
#include "runtime/launch/launch.h"

namespace cleave::runtime {
namespace {

// Of all ranks together: a file of some 30 MB. Later ops are in the table alone.
constexpr size_t kMostEvents = size_t{1} << 18;

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
  most_events_ = wish_->empty() ? 0 : kMostEvents / static_cast<size_t>(MeshSize(comm.mesh()));
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
}

void Profile::EndStep() {
  if (!is_on() || steps_begun_ <= 1) return;
  watch_.Finish();
  watch_.TellOf(nullptr);
  record_.seconds += last_.seconds - step_began_;
  ++record_.steps;
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
  if (*op.text != '\0' && events_.size() < most_events_) {
    events_.push_back({op, line, last_.seconds - zero_, now.seconds - zero_, communicated > 0 || sent > 0});
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

// One object for each op, behind one that names the rank.
std::string Profile::EventsText() const {
  const int rank = comm_.rank();
  std::string text =
      Format("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}", rank, rank);
  for (const Event& event : events_) {
    JsonObject arguments;
    arguments.Add("place", PlaceOf(event.line));
    JsonObject object;
    object.Add("name", event.op.ToString());
    object.Add("cat", std::string(event.communicates ? "collective" : "op"));
    object.Add("ph", std::string("X"));
    object.AddInteger("pid", rank);
    object.AddInteger("tid", 0);
    // Microseconds.
    object.Add("ts", event.begin * 1e6);
    object.Add("dur", (event.end - event.begin) * 1e6);
    object.Add("args", arguments);
    text += ",\n" + object.Text();
  }
  return text;
}

std::optional<Error> Profile::WriteTrace() {
  if (!is_on() || wish_->empty()) return std::nullopt;
  const std::vector<std::string> ranks = comm_.GatherText(EventsText());
  std::optional<Error> error;
  if (comm_.rank() == 0) {
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (size_t rank = 0; rank < ranks.size(); ++rank) text += (rank == 0 ? "" : ",\n") + ranks[rank];
    text += "\n]}\n";
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

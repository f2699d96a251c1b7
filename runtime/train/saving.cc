#include "runtime/train/saving.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/launch/launch.h"

namespace cleave::runtime {
namespace {

constexpr double kSecondsBetween = 0.5;  // Two exchanges.

// The checkpoint that the folder is, or those that are in it, the last first.
std::vector<std::string> CheckpointsIn(const std::string& folder) {
  if (IsCheckpoint(folder)) return {folder};
  std::vector<std::string> folders;
  for (const int64_t step : CheckpointSteps(folder)) folders.push_back(CheckpointFolder(folder, step));
  return folders;
}

// What rank 0 says, on all ranks.
std::string FromFirst(Comm& comm, const std::string& text) { return comm.GatherText(comm.rank() == 0 ? text : "")[0]; }

}  // namespace

std::vector<StateTensor> StateOf(const std::vector<ParameterView>& parameters) {
  std::vector<StateTensor> state;
  for (const ParameterView& view : parameters) {
    state.push_back({view.name, view.layout, view.values});
    for (const OptimizerState& own : view.states) {
      StateTensor tensor = {view.name + "." + own.name, view.layout, own.values};
      if (own.axes.has_value()) tensor.layout.axes = *own.axes;
      state.push_back(std::move(tensor));
    }
  }
  return state;
}

std::optional<uint64_t> ResumedSeed(Comm& comm, const std::string& folder) {
  std::string mine;
  for (const std::string& own : CheckpointsIn(folder)) {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(own);
    if (mine.empty() && checkpoint.ok()) mine = std::to_string(checkpoint.value().facts().seed);
  }
  const std::string seed = FromFirst(comm, mine);
  return seed.empty() ? std::nullopt : std::optional<uint64_t>(std::strtoull(seed.c_str(), nullptr, 10));
}

Result<CheckpointFacts> Resume(Comm& comm, const std::string& folder, const std::vector<StateTensor>& state) {
  // What rank 0 sees.
  std::string mine;
  for (const std::string& own : CheckpointsIn(folder)) mine += own + "\n";
  const std::string folders = FromFirst(comm, mine);
  if (folders.empty()) {
    return Error{ExitCode::kInput,
                 Format("no checkpoint is in `%s`: training begins without `--resume`", folder.c_str())};
  }
  std::string stories;
  for (size_t begin = 0, end; begin < folders.size(); begin = end + 1) {
    end = folders.find('\n', begin);
    const std::string own = folders.substr(begin, end - begin);
    const Result<Checkpoint> checkpoint = Checkpoint::Open(own);
    if (auto error = Agree(comm, checkpoint.ok() ? std::nullopt : std::optional<Error>(checkpoint.error()))) {
      stories += (stories.empty() ? "" : "\nerror: ") + error->message;
      continue;
    }
    if (auto error = Agree(comm, checkpoint.value().CheckFits(state, comm.mesh()))) return *error;
    if (auto error = Agree(comm, checkpoint.value().Load(state, comm.mesh(), comm.rank()))) {
      stories += (stories.empty() ? "" : "\nerror: ") + error->message;
      continue;
    }
    if (!stories.empty() && comm.rank() == 0) {
      std::fprintf(stderr, "warning: %s\nwarning: `%s`, the last good checkpoint, is used\n", stories.c_str(),
                   own.c_str());
    }
    return checkpoint.value().facts();
  }
  return Error{ExitCode::kInput, stories};
}

std::optional<Error> ClaimFolder(Comm& comm, Report& report, const std::string& folder,
                                 std::optional<int64_t> resumed_at) {
  if (comm.rank() > 0) return Agree(comm, std::nullopt);
  if (std::optional<Error> error = report.Take(folder)) return Agree(comm, error);
  RemoveUnfinished(folder);
  std::optional<Error> error;
  for (const int64_t step : CheckpointSteps(folder)) {
    if (resumed_at.has_value() && step <= *resumed_at) continue;
    if (!resumed_at.has_value()) {
      error = Error{ExitCode::kUsage,
                    Format("`%s` has checkpoints of earlier training, up to step %" PRId64
                           ": `--resume` goes on from it; to begin anew, name another folder with `--checkpoints`, or "
                           "remove this one",
                           folder.c_str(), step)};
      break;
    }
    if (!error.has_value()) error = SetAside(folder, step);
    if (!error.has_value()) report.Line(Format("`%s` is set aside", CheckpointFolder(folder, step).c_str()));
  }
  return Agree(comm, error);
}

Saving::Saving(Comm& comm, Watch& watch, Report& report, const SavingOptions& options, const CheckpointFacts& facts,
               std::vector<StateTensor> state)
    : comm_(comm),
      watch_(watch),
      report_(report),
      options_(options),
      facts_(facts),
      state_(std::move(state)),
      last_good_(options.last_good) {
  if (options_.every == 0) return;
  writer_ = std::make_unique<ShardWriter>(options_.folder, state_, comm_.mesh(), comm_.rank());
  const char* const grace = std::getenv("CLEAVE_GRACE");
  constexpr int kGrace = 30;
  DeferSigterm(grace != nullptr && std::atoi(grace) > 0 ? std::atoi(grace) : kGrace);
  exchanged_at_ = Now();
}

std::optional<Error> Saving::AfterStep(int64_t step, bool is_last) {
  if (!is_on()) return std::nullopt;
  ++steps_since_exchange_;
  const bool is_due = IsDue(step) || is_last;
  if (is_due || steps_since_exchange_ >= steps_between_) {
    if (auto error = Exchange()) return error;
  }
  if (!is_due && !stops_) return std::nullopt;
  if (auto error = WaitForEnd()) return error;
  facts_.step = step;
  is_saving_ = true;
  watch_.Start("copying what a checkpoint keeps", 0);
  writer_->Start(step);
  watch_.Finish();
  return is_last || stops_ ? WaitForEnd() : std::nullopt;
}

std::string Saving::News() {
  if (is_saving_ && !written_.has_value() && writer_->HasEnded()) written_ = writer_->Take();
  if (!is_saving_) return "-";
  if (!written_.has_value()) return "w";
  if (!written_->ok()) return "f " + written_->error().message;
  const bool is_complete = completion_.valid() && !IsBusy();
  if (is_complete) {
    if (const std::optional<Error> error = completion_.get()) return "f " + error->message;
  }
  const Shard& shard = written_->value();
  return Format("%c %" PRId64 " %" PRIu64 " %.17g", is_complete ? 'c' : 'd', shard.bytes, shard.digest, shard.seconds);
}

// Whether this rank has to write still.
bool Saving::IsBusy() const {
  if (completion_.valid()) return completion_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  return !written_.has_value() && !writer_->HasEnded();
}

std::optional<Error> Saving::Exchange() {
  const double now = Now();
  const double seconds =
      std::max((now - exchanged_at_) / static_cast<double>(std::max<int64_t>(steps_since_exchange_, 1)), 1e-6);
  const int64_t between = std::clamp(static_cast<int64_t>(kSecondsBetween / seconds), int64_t{1}, 2 * steps_between_);
  std::vector<std::string> news;
  bool stops = false;
  const std::vector<std::string> texts =
      comm_.GatherText(Format("%d %" PRId64 " %s", WasAskedToStop() ? 1 : 0, between, News().c_str()));
  for (const std::string& text : texts) {
    stops |= text[0] == '1';
    news.push_back(text.substr(text.find(' ', 2) + 1));
  }
  stops_ = stops;
  steps_between_ = std::strtoll(texts[0].c_str() + 2, nullptr, 10);
  steps_since_exchange_ = 0;
  exchanged_at_ = now;
  return is_saving_ ? Conclude(news) : std::nullopt;
}

std::optional<Error> Saving::Conclude(const std::vector<std::string>& news) {
  std::optional<Error> error;
  std::vector<Shard> shards;
  int64_t bytes = 0;
  double seconds = 0;
  for (size_t rank = 0; rank < news.size(); ++rank) {
    const std::string& text = news[rank];
    if (text[0] == 'f' && !error.has_value()) {
      error = Error{ExitCode::kEnvironment, Format("rank %zu: %s", rank, text.c_str() + 2)};
    }
    if (text[0] != 'd' && text[0] != 'c') continue;
    char* end = nullptr;
    Shard& shard = shards.emplace_back();
    shard.bytes = std::strtoll(text.c_str() + 2, &end, 10);
    shard.digest = std::strtoull(end, &end, 10);
    bytes += shard.bytes;
    seconds = std::max(seconds, std::strtod(end, nullptr));
  }
  if (!error.has_value() && shards.size() < news.size()) return std::nullopt;
  if (!error.has_value() && news[0][0] != 'c') {
    if (comm_.rank() == 0 && !completion_.valid()) {
      completion_ = std::async(std::launch::async, [this, shards] {
        return Complete(options_.folder, facts_, comm_.mesh(), state_, shards, options_.keep);
      });
    }
    return std::nullopt;
  }
  if (writer_->IsUnderWay()) writer_->Take();
  is_saving_ = false;
  written_.reset();
  if (error.has_value()) {
    if (comm_.rank() == 0) RemoveUnfinished(options_.folder);
    error->message += last_good_.has_value() ? Format("; the last good checkpoint is `%s`",
                                                      CheckpointFolder(options_.folder, *last_good_).c_str())
                                             : "; this run has saved nothing before";
    return error;
  }
  last_good_ = facts_.step;
  report_.Line(Format("step %" PRId64 " | saved %.1f MB in %.2f s to %s", facts_.step,
                      static_cast<double>(bytes) * 1e-6, seconds,
                      CheckpointFolder(options_.folder, facts_.step).c_str()));
  return std::nullopt;
}

std::optional<Error> Saving::WaitForEnd() {
  std::optional<Error> error;
  int64_t seen = -1;
  double seen_at = 0;
  while (is_saving_ && !error.has_value()) {
    // A disk that is slow is not one that stands still: no rank waits for long for one that writes more.
    watch_.Start("writing a checkpoint", 0);
    const double until = Now() + kSecondsBetween;
    while (IsBusy() && Now() < until) usleep(2000);
    if (std::exchange(seen, writer_->written()) != seen) seen_at = Now();
    if (IsBusy() && Now() - seen_at > watch_.timeout()) {
      Die(ExitCode::kEnvironment, Format("cannot write to `%s`: the disk has taken nothing for %.0f s",
                                         options_.folder.c_str(), watch_.timeout()));
    }
    error = Exchange();
  }
  watch_.Finish();
  return error;
}

}  // namespace cleave::runtime

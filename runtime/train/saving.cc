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

}  // namespace

std::vector<StateTensor> StateOf(const std::vector<ParameterView>& parameters) {
  std::vector<StateTensor> state;
  for (const ParameterView& view : parameters) {
    state.push_back({view.name, view.layout, view.values, view.part});
    for (const OptimizerState& own : view.states) {
      state.push_back({view.name + "." + own.name, own.layout.value_or(view.layout), own.values});
    }
  }
  return state;
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

std::optional<Error> Saving::AfterStep(const StepEnd& end) {
  if (!is_on()) return std::nullopt;
  ++steps_since_exchange_;
  const bool is_due = IsDue(end);
  if (is_due || steps_since_exchange_ >= steps_between_) {
    if (auto error = Exchange()) return error;
  }
  if (!is_due && !stops_) return std::nullopt;
  if (auto error = WaitForEnd()) return error;
  facts_.step = end.step;
  facts_.best = end.best;
  is_saving_ = true;
  watch_.Start("copying what a checkpoint keeps", 0);
  writer_->Start(end.step);
  watch_.Finish();
  return end.is_last || stops_ ? WaitForEnd() : std::nullopt;
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

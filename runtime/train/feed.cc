#include "runtime/train/feed.h"

#include <utility>

#include "runtime/device/memory.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

std::vector<Staging::Target> Targets(const std::vector<ModelInput>& inputs) {
  std::vector<Staging::Target> targets;
  for (const ModelInput& input : inputs) {
    void* const values = input.is_float ? static_cast<void*>(input.floats) : input.integers;
    targets.push_back({values, ElementCount(input.region.size) * 4});
  }
  return targets;
}

}  // namespace

Feed::Feed(const std::vector<ModelInput>& inputs, Batches& batches, bool has_thread)
    : batches_(batches),
      has_thread_(has_thread),
      staging_(Targets(inputs), has_thread_ ? Staging::Writing::kDuringSteps : Staging::Writing::kBetweenSteps) {}

Feed::~Feed() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wakes_.notify_one();
  thread_.join();
}

void Feed::Training(int64_t step) {
  if (sent_ != step) {
    Begin(step);
    End();
  }
  if (mistake_.has_value()) Die(mistake_->code, mistake_->message);
  sent_ = -1;
  staging_.Deliver();
}

int64_t Feed::OfPart(DataPart part, int64_t index) {
  sent_ = -1;
  batches_.WriteTo(staging_.Next());
  const int64_t samples = batches_.LoadPart(part, index);
  staging_.Send();
  staging_.Deliver();
  return samples;
}

void Feed::BeginAhead(int64_t step) {
  if (TensorsAreOnHost() && !has_thread_) return;
  Begin(step);
  if (!has_thread_) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  wakes_.notify_one();
}

void Feed::EndAhead() {
  if (begun_ >= 0) End();
}

void Feed::Begin(int64_t step) {
  batches_.WriteTo(staging_.Next());
  batches_.BeginTraining(step);
  begun_ = step;
}

void Feed::End() {
  mistake_ = batches_.Finish();
  staging_.Send();
  sent_ = std::exchange(begun_, -1);
}

void Feed::Work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wakes_.wait(lock, [&] { return has_work_ || is_over_; });
      if (is_over_) return;
      has_work_ = false;
    }
    while (batches_.ReadSome()) {
    }
  }
}

}  // namespace cleave::runtime

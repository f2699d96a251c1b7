#include "runtime/train/feed.h"

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

Feed::Feed(const std::vector<ModelInput>& inputs, Batches& batches) : batches_(batches), staging_(Targets(inputs)) {}

void Feed::Training(int64_t step) {
  if (sent_ != step) Send(step);
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

void Feed::ReadAhead(int64_t step) {
  if (!TensorsAreOnHost()) Send(step);
}

void Feed::Send(int64_t step) {
  batches_.WriteTo(staging_.Next());
  batches_.LoadTraining(step);
  staging_.Send();
  sent_ = step;
}

}  // namespace cleave::runtime

#include "runtime/device/staging.h"

#include <cstring>
#include <utility>

namespace cleave::runtime {

// Of all targets; null where the host writes to these.
struct Staging::Copies {
  std::vector<std::unique_ptr<char[]>> of_targets;
};

Staging::Staging(std::vector<Target> targets, Writing writing) : targets_(std::move(targets)) {
  if (writing == Writing::kBetweenSteps) return;
  copies_ = std::make_unique<Copies>();
  for (const Target& target : targets_) {
    copies_->of_targets.push_back(std::make_unique<char[]>(static_cast<size_t>(target.bytes)));
  }
}

Staging::~Staging() = default;

std::vector<void*> Staging::Next() {
  std::vector<void*> places;
  for (size_t i = 0; i < targets_.size(); ++i) {
    places.push_back(copies_ == nullptr ? targets_[i].values : copies_->of_targets[i].get());
  }
  return places;
}

void Staging::Send() {}

void Staging::Deliver() {
  if (copies_ == nullptr) return;
  for (size_t i = 0; i < targets_.size(); ++i) {
    std::memcpy(targets_[i].values, copies_->of_targets[i].get(), static_cast<size_t>(targets_[i].bytes));
  }
}

}  // namespace cleave::runtime

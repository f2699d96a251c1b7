#include "runtime/device/staging.h"

#include <utility>

namespace cleave::runtime {

struct Staging::Copies {};

Staging::Staging(std::vector<Target> targets) : targets_(std::move(targets)) {}
Staging::~Staging() = default;

std::vector<void*> Staging::Next() {
  std::vector<void*> places;
  for (const Target& target : targets_) places.push_back(target.values);
  return places;
}

void Staging::Send() {}
void Staging::Deliver() {}

}  // namespace cleave::runtime

#include "ir/testing/seed.h"

#include <cstdlib>
#include <iostream>
#include <random>

namespace cleave::ir {

uint64_t TestSeed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("CLEAVE_TEST_SEED");
    const uint64_t chosen = given == nullptr ? std::random_device()() : std::strtoull(given, nullptr, 10);
    std::cout << "CLEAVE_TEST_SEED=" << chosen << std::endl;
    return chosen;
  }();
  return seed;
}

}  // namespace cleave::ir

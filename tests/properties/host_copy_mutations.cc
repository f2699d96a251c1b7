#include <cstddef>
#include <utility>
#include <vector>

#include "tests/properties/mutations.h"

namespace cleave::tests::properties {
namespace {

ir::HostCopy* CopyAt(ir::Program& program, size_t at, ir::HostCopy::Direction direction) {
  ir::HostCopy* const copy = HostCopyAt(program, at);
  return copy != nullptr && copy->direction == direction ? copy : nullptr;
}
ir::HostCopy* CopyOutAt(ir::Program& program, size_t at) { return CopyAt(program, at, ir::HostCopy::Direction::kOut); }
ir::HostCopy* CopyBackAt(ir::Program& program, size_t at) {
  return CopyAt(program, at, ir::HostCopy::Direction::kBack);
}

bool CopyOutLost(ir::Program& program, size_t at) {
  if (CopyOutAt(program, at) == nullptr) return false;
  Erase(program, at);
  return true;
}

// Readers take what lies in the host's memory.
bool CopyBackLost(ir::Program& program, size_t at) {
  const ir::HostCopy* copy = CopyBackAt(program, at);
  if (copy == nullptr) return false;
  const ir::HostCopy lost = *copy;
  Erase(program, at);
  ReplaceReads(program, lost.output, lost.input);
  return true;
}

// The next copy out, after `at`, of a value of the same type and layout.
ir::HostCopy* TwinOf(ir::Program& program, size_t at) {
  const ir::Value& own = program.value(HostCopyAt(program, at)->input);
  for (size_t i = at + 1; i < program.steps.size(); ++i) {
    ir::HostCopy* const other = CopyOutAt(program, i);
    if (other == nullptr) continue;
    const ir::Value& value = program.value(other->input);
    if (value.type == own.type && value.layout == own.layout) return other;
  }
  return nullptr;
}

// Each of two values takes the other's place in the host's memory.
bool PlacesOnHostSwapped(ir::Program& program, size_t at) {
  ir::HostCopy* const copy = CopyOutAt(program, at);
  ir::HostCopy* const twin = copy == nullptr ? nullptr : TwinOf(program, at);
  if (twin == nullptr) return false;
  std::swap(copy->input, twin->input);
  return true;
}

// The same, and the descriptions of the places say so.
bool PlacesOnHostSwappedAndLie(ir::Program& program, size_t at) {
  if (!PlacesOnHostSwapped(program, at)) return false;
  const ir::HostCopy own = *CopyOutAt(program, at);
  std::swap(program.values[own.output].origin, program.values[TwinOf(program, at)->output].origin);
  return true;
}

// The place of another value is copied back.
bool OtherPlaceCopiedBack(ir::Program& program, size_t at) {
  ir::HostCopy* const copy = CopyBackAt(program, at);
  if (copy == nullptr) return false;
  for (size_t i = 0; i < at; ++i) {
    const ir::HostCopy* const other = CopyOutAt(program, i);
    if (other == nullptr || other->output == copy->input) continue;
    copy->input = other->output;
    return true;
  }
  return false;
}

// What has not been copied out yet is copied back.
bool CopiedBackTooEarly(ir::Program& program, size_t at) {
  const ir::HostCopy* const copy = CopyBackAt(program, at);
  if (copy == nullptr) return false;
  ir::Step back = program.steps[at];
  Erase(program, at);
  for (size_t i = 0; i < at; ++i) {
    const ir::HostCopy* const out = CopyOutAt(program, i);
    if (out == nullptr || out->output != std::get<ir::HostCopy>(back.action).input) continue;
    back.phase = program.steps[i].phase;
    back.repeat = program.steps[i].repeat;
    program.steps.insert(program.steps.begin() + static_cast<ptrdiff_t>(i), std::move(back));
    return true;
  }
  return false;
}

// A reader takes the value before it is back.
bool ReadBeforeItIsBack(ir::Program& program, size_t at) {
  const ir::HostCopy* const copy = CopyBackAt(program, at);
  if (copy == nullptr) return false;
  const ir::ValueId value = copy->output;
  for (size_t i = at + 1; i < program.steps.size(); ++i) {
    for (const ir::ValueId read : ir::Reads(program.steps[i])) {
      if (read != value) continue;
      std::swap(program.steps[at], program.steps[i]);
      return program.steps[at].phase == program.steps[i].phase;
    }
  }
  return false;
}

// A piece is copied back as if it lay in another layout.
bool CopiedBackAsAnotherPiece(ir::Program& program, size_t at) {
  const ir::HostCopy* const copy = CopyBackAt(program, at);
  if (copy == nullptr) return false;
  for (ir::AxisList& axes : program.values[copy->output].layout.dimensions) {
    if (axes.empty()) continue;
    axes.pop_back();
    return true;
  }
  return false;
}

}  // namespace

std::vector<Mutation> HostCopyMutations() {
  return {
      {"a copy out lost", CopyOutLost},
      {"a copy back lost", CopyBackLost},
      {"two places on the host swapped", PlacesOnHostSwapped},
      {"two places on the host swapped, and their descriptions", PlacesOnHostSwappedAndLie},
      {"another place on the host copied back", OtherPlaceCopiedBack},
      {"a copy back before the copy out", CopiedBackTooEarly},
      {"a value read before it is back", ReadBeforeItIsBack},
      {"a copy back as another piece", CopiedBackAsAnotherPiece},
  };
}

}  // namespace cleave::tests::properties

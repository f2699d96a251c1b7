// A set of a program's values, which takes one byte for each of them.
//
//   ValueSet inside;
//   inside.insert(value);
//   if (inside.contains(value)) ...
#ifndef CLEAVE_IR_PROGRAM_VALUE_SET_H_
#define CLEAVE_IR_PROGRAM_VALUE_SET_H_

#include <cstddef>
#include <cstdint>

#include "base/strong_id/strong_id.h"
#include "ir/program/program.h"

namespace cleave::ir {

class ValueSet {
 public:
  bool contains(ValueId value) const { return has_.contains(value) && has_[value] != 0; }

  // Returns whether it is new.
  bool insert(ValueId value) {
    if (contains(value)) return false;
    if (!has_.contains(value)) has_.resize(static_cast<size_t>(value.value()) + 1);
    has_[value] = 1;
    return true;
  }

  void erase(ValueId value) {
    if (contains(value)) has_[value] = 0;
  }

 private:
  IdVector<ValueId, uint8_t> has_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_VALUE_SET_H_

// How large a value is on the rank with the largest piece of it. Private to ir/program/memory.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_LOCAL_SIZE_H_
#define CLEAVE_IR_PROGRAM_MEMORY_LOCAL_SIZE_H_

#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave::ir {

inline int64_t LocalElements(const Program& program, ValueId value) {
  return ElementCount(LargestLocalShape(program, value));
}

inline Bytes LocalBytes(const Program& program, ValueId value) {
  return ElementSize(program.value(value).type.dtype) * LocalElements(program, value);
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_LOCAL_SIZE_H_

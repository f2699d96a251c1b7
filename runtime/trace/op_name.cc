#include "runtime/trace/op_name.h"

namespace cleave::runtime {

std::string OpName::ToString() const {
  std::string name;
  for (const char* c = text; *c != '\0'; ++c) {
    if (*c == '#' && layer >= 0) {
      name += std::to_string(layer);
    } else {
      name += *c;
    }
  }
  return name;
}

}  // namespace cleave::runtime

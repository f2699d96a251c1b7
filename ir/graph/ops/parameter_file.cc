#include "ir/graph/ops/parameter_file.h"

#include "absl/strings/str_replace.h"

namespace cleave::ir {

std::string ParameterFileOf(absl::string_view name, const Attributes& attributes) {
  return absl::StrReplaceAll(attributes.Get(attribute::kFile), {{"{name}", name}});
}

}  // namespace cleave::ir

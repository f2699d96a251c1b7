// The file that holds the first values of a parameter.
#ifndef CLEAVE_IR_GRAPH_OPS_PARAMETER_FILE_H_
#define CLEAVE_IR_GRAPH_OPS_PARAMETER_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ir/graph/attributes/keys.h"

namespace cleave::ir {

// The path that the attributes of the parameter `name` give, in which `{name}` stands for its name; empty where it has
// no file. The attribute itself keeps `{name}`, so that equal layers have equal attributes.
std::string ParameterFileOf(absl::string_view name, const Attributes& attributes);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_PARAMETER_FILE_H_

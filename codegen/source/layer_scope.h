// What stands in the text of a function that is written once for several layers.
#ifndef CLEAVE_CODEGEN_SOURCE_LAYER_SCOPE_H_
#define CLEAVE_CODEGEN_SOURCE_LAYER_SCOPE_H_

#include <cstdint>
#include <map>
#include <string>

#include "codegen/cpp/cpp.h"
#include "codegen/roll/forms.h"

namespace cleave::codegen {

struct LayerScope {
  cpp::Expr number;   // "layer.i"
  int64_t first = 0;  // The layers for which the function is written.
  int64_t last = 0;
  int64_t step = 1;                       // From one to the next.
  bool is_function = true;                // Rather than a loop in a function for the whole model.
  std::map<std::string, NameForm> names;  // By the name in the layer by which it is written.
};

// An OpName of the runtime: `"h1.matmul"`, or `{"x.#.norm1.layer_norm", layer.i}`. `scope` may be null.
cpp::Expr OpNameOf(const LayerScope* scope, const std::string& name);

// The line of the model that a name comes from: "8", "layer.i == 0 ? 6 : 8".
cpp::Expr LineOf(const LayerScope* scope, const std::string& name, int line);

// The name with '#' for the number of the layer; as it is in a scope that does not know it.
std::string NameOfAll(const LayerScope* scope, const std::string& name);

// For comments: the line that most layers have.
int ShownLine(const LayerScope* scope, const std::string& name, int line);

// The name as a std::string, and as characters that live to the end of the statement.
cpp::Expr NameString(const LayerScope* scope, const std::string& name);
cpp::Expr NameCharacters(const LayerScope* scope, const std::string& name);

// "0 to 11", or "0, 2 to 10" where layers have numbers `step` apart.
std::string LayerNumbers(int64_t first, int64_t last, int64_t step);

// For comments: "x.0..11.norm1.layer_norm", "x.0,2..10.norm1.layer_norm".
std::string ShownName(const LayerScope* scope, const std::string& name);

// The wish for a local identifier: "norm1.layer_norm".
std::string LocalWish(const LayerScope* scope, const std::string& name);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_LAYER_SCOPE_H_

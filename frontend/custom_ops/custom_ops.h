// The ops that a model defines, as far as they can be understood without a call.
#ifndef CLEAVE_FRONTEND_CUSTOM_OPS_CUSTOM_OPS_H_
#define CLEAVE_FRONTEND_CUSTOM_OPS_CUSTOM_OPS_H_

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/functions/functions.h"
#include "frontend/imports/imports.h"
#include "frontend/report/report.h"
#include "ir/tensor/formula/formula.h"

namespace cleave::frontend {

// A file with C++ bodies, as the generated program includes it.
struct BodyFile {
  std::string path;    // In the output folder: "custom/soft_cap.h".
  std::string source;  // Where it was read.
  std::string text;

  bool operator==(const BodyFile&) const = default;
};

struct CustomOp {
  const dsl::syntax::OpDefinition* syntax = nullptr;
  // Its signature, as a function without a body: calls are matched with it and bound to it.
  dsl::syntax::Function head;
  Function function;
  std::optional<ir::Formula> rule;               // May hold `..n`, as the signature does.
  std::vector<std::string> whole;                // Names of the rule that are whole.
  std::vector<std::vector<std::string>> linear;  // Groups of tensors.
  const BodyFile* body = nullptr;
  Span body_place;      // The setting that names the body's file.
  bool broken = false;  // It has a mistake that was reported: its calls are not expanded.

  const std::string& name() const { return syntax->name.text; }
};

class CustomOps {
 public:
  // Those of the model's file and of the files that it imports; paths of bodies are relative to the file in which the
  // op stands. `target`: the target whose bodies are read, "cpu" or "cuda". Keeps pointers into the files.
  CustomOps(const dsl::syntax::File& model, const Imports& imports, const SourceSet& sources, const std::string& target,
            Reporter& reporter);
  CustomOps(const CustomOps&) = delete;
  CustomOps& operator=(const CustomOps&) = delete;

  // REQUIRES: the definition is in one of the files.
  const CustomOp& Get(const dsl::syntax::OpDefinition& syntax) const { return *by_syntax_.at(&syntax); }

  // The header with the functions that make samples, one for each of these inputs; null after a mistake, which has been
  // reported at `place`.
  struct Input {
    std::string name;
    bool is_float = true;
  };
  const BodyFile* LoadSamples(const std::string& path, Span place, const std::vector<Input>& inputs,
                              Reporter& reporter);

 private:
  void Add(const dsl::syntax::File& file, const std::string& folder, const std::string& target, Reporter& reporter);

  const std::string folder_;  // Of the model file.
  // A list, because pointers to the elements are kept.
  std::list<CustomOp> ops_;
  std::list<BodyFile> files_;
  std::map<const dsl::syntax::OpDefinition*, const CustomOp*> by_syntax_;
};

// Whether a parameter of an op or function is a tensor: it has brackets.
inline bool IsTensor(const dsl::syntax::Parameter& parameter) { return parameter.type.dimensions.has_value(); }

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_CUSTOM_OPS_CUSTOM_OPS_H_

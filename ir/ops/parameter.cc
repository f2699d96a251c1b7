// A trained tensor. Its initial values, by `init`:
//   constant  first
//   uniform   in [first, second)
//   normal    with mean first and deviation second
//   npy       what the .npy file `file` holds; its path starts from the folder of the model file
// `local`: of a manual model, each rank has values of its own.
// Bounds that hang on the fans of the tensor (he_uniform and the like) are resolved by the frontend.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/define.h"
#include "ir/ops/sources.h"

namespace cleave {
namespace {

InferResult InferParameter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckWord(attributes, attribute::kInit, {"constant", "uniform", "normal", "npy"})) return *error;
  const std::string& init = attributes.Get(attribute::kInit);
  const double first = attributes.Get(attribute::kFirst);
  const double second = attributes.Get(attribute::kSecond);
  if (init == "uniform" && first > second) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("uniform values from ", FormatDouble(first), " to ", FormatDouble(second)),
                   .notes = {"the first bound is not above the second"}};
  }
  if ((init == "npy") == attributes.Get(attribute::kFile).empty()) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`", init, "` values ", init == "npy" ? "without a file" : "and a file"),
                   .notes = {"`file` goes with `npy`, and only with it"}};
  }
  if (init == "normal" && second < 0) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("normal values with deviation ", FormatDouble(second)),
                   .notes = {"a deviation is not negative"}};
  }
  return InferSource(inputs, attributes);
}

}  // namespace

OpDefinition DefineParameter() {
  OpDefinition definition = SourceOp(false, "a trained tensor");
  definition.signature.push_back(OptionalAttribute(attribute::kInit, "constant"));
  definition.signature.push_back(OptionalAttribute(attribute::kFirst, 0.0));
  definition.signature.push_back(OptionalAttribute(attribute::kSecond, 0.0));
  definition.signature.push_back(OptionalAttribute(attribute::kFile, ""));
  definition.signature.push_back(OptionalAttribute(attribute::kLocal, false));
  definition.infer = InferParameter;
  return definition;
}

}  // namespace cleave

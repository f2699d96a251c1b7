#include "search/testing/model_builder.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::testing {

OpId ModelBuilder::Input(const std::string& name, DType dtype, const Shape& shape) {
  return builder_.Add(OpKind::kInput, {},
                      {{attribute::kData, name}, {attribute::kDType, dtype}, {attribute::kShape, shape}}, name);
}

OpId ModelBuilder::Parameter(const std::string& name, const Shape& shape) {
  return builder_.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}, {attribute::kInit, "constant"}}, name);
}

OpId ModelBuilder::Add(OpKind kind, std::vector<OpId> inputs, const std::string& name, Attributes attributes) {
  builder_.SetLine(++line_);
  return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
}

OpId ModelBuilder::Dense(OpId x, const std::string& name, const std::string& weight, int64_t units) {
  const OpId product =
      Add(OpKind::kMatmul, {x, Parameter(weight, {units, shape(x).back()})}, name, {{attribute::kTransposeB, true}});
  return Add(OpKind::kBiasAdd, {product, Parameter(absl::StrCat(name, ".b"), {units})}, absl::StrCat(name, ".bias"));
}

OpId ModelBuilder::Norm(OpId x, const std::string& name) {
  const Shape features = {shape(x).back()};
  return Add(OpKind::kLayerNorm, {x, Parameter(name + ".weight", features), Parameter(name + ".shift", features)},
             name);
}

OpId ModelBuilder::Reshape(OpId x, const Shape& shape, const std::string& name) {
  return Add(OpKind::kReshape, {x}, name, {{attribute::kShape, shape}});
}

OpId ModelBuilder::Transpose(OpId x, const std::vector<int64_t>& permutation, const std::string& name) {
  return Add(OpKind::kTranspose, {x}, name, {{attribute::kPermutation, permutation}});
}

Graph ModelBuilder::Trained(OpId loss, Optimizer::Kind kind) && {
  builder_.mutable_graph().loss = loss;
  builder_.mutable_graph().model = "Test";
  builder_.mutable_graph().file = "test.model";
  absl::StatusOr<Graph> graph = Differentiate(std::move(builder_).Build(), {.kind = kind, .learning_rate = {}});
  CLEAVE_CHECK(graph.ok()) << std::string(graph.status().message());
  return *std::move(graph);
}

Graph ModelBuilder::Forward() && { return std::move(builder_).Build(); }

}  // namespace cleave::testing

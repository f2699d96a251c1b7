#include "search/testing/model_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/testing/graphs.h"
#include "ir/testing/sources.h"

namespace cleave::search::testing {

ir::OpId ModelBuilder::Input(const std::string& name, ir::DType dtype, const ir::Shape& shape) {
  return ir::AddInput(builder_, name, shape, dtype);
}

ir::OpId ModelBuilder::Parameter(const std::string& name, const ir::Shape& shape) {
  return ir::AddParameter(builder_, name, shape);
}

ir::OpId ModelBuilder::Add(ir::OpKind kind, std::vector<ir::OpId> inputs, const std::string& name,
                           ir::Attributes attributes) {
  builder_.SetLine(++line_);
  return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
}

ir::OpId ModelBuilder::Dense(ir::OpId x, const std::string& name, const std::string& weight, int64_t units) {
  const ir::OpId product = Add(ir::OpKind::kMatmul, {x, Parameter(weight, {units, shape(x).back()})}, name,
                               {{ir::attribute::kTransposeB, true}});
  return Add(ir::OpKind::kBiasAdd, {product, Parameter(absl::StrCat(name, ".b"), {units})},
             absl::StrCat(name, ".bias"));
}

ir::OpId ModelBuilder::Norm(ir::OpId x, const std::string& name) {
  const ir::Shape features = {shape(x).back()};
  return Add(ir::OpKind::kLayerNorm, {x, Parameter(name + ".weight", features), Parameter(name + ".shift", features)},
             name);
}

ir::OpId ModelBuilder::Reshape(ir::OpId x, const ir::Shape& shape, const std::string& name) {
  return Add(ir::OpKind::kReshape, {x}, name, {{ir::attribute::kShape, shape}});
}

ir::OpId ModelBuilder::Transpose(ir::OpId x, const std::vector<int64_t>& permutation, const std::string& name) {
  return Add(ir::OpKind::kTranspose, {x}, name, {{ir::attribute::kPermutation, permutation}});
}

ir::Graph ModelBuilder::Trained(ir::OpId loss, ir::TestOptimizer::Kind kind) && {
  builder_.mutable_graph().loss = loss;
  builder_.mutable_graph().model = "Test";
  builder_.mutable_graph().file = "test.model";
  return ir::TrainingGraph(std::move(builder_).Build(), {.kind = kind});
}

ir::Graph ModelBuilder::Forward() && { return std::move(builder_).Build(); }

}  // namespace cleave::search::testing

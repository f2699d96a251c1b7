#include "search/testing/model_builder.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/differentiate/differentiate.h"

namespace cleave::testing {

OpId ModelBuilder::Input(const std::string& name, const std::string& dtype, const Shape& shape) {
  return builder_.Add("input", {}, {{"data", name}, {"dtype", dtype}, {"shape", shape}}, name);
}

OpId ModelBuilder::Parameter(const std::string& name, const Shape& shape) {
  return builder_.Add("parameter", {}, {{"shape", shape}, {"init", std::string("constant")}}, name);
}

OpId ModelBuilder::Add(const std::string& kind, std::vector<OpId> inputs, const std::string& name,
                       std::map<std::string, AttributeValue> attributes) {
  builder_.SetLine(++line_);
  return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
}

OpId ModelBuilder::Dense(OpId x, const std::string& name, const std::string& weight, int64_t units) {
  const OpId product = Add("matmul", {x, Parameter(weight, {units, shape(x).back()})}, name, {{"transpose_b", true}});
  return Add("bias_add", {product, Parameter(absl::StrCat(name, ".b"), {units})}, absl::StrCat(name, ".bias"));
}

OpId ModelBuilder::Norm(OpId x, const std::string& name) {
  const Shape features = {shape(x).back()};
  return Add("layer_norm", {x, Parameter(name + ".weight", features), Parameter(name + ".shift", features)}, name);
}

OpId ModelBuilder::Reshape(OpId x, const Shape& shape, const std::string& name) {
  return Add("reshape", {x}, name, {{"shape", shape}});
}

OpId ModelBuilder::Transpose(OpId x, const std::vector<int64_t>& permutation, const std::string& name) {
  return Add("transpose", {x}, name, {{"permutation", permutation}});
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

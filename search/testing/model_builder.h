// Builds the forward graph of a model, op by op, and differentiates it. Inside of search/testing only.
//
//   ModelBuilder b;
//   const OpId x = b.Input("x", DType::kF32, {8, 16});
//   Graph graph = b.Trained(b.Add(OpKind::kMae, {b.Dense(x, "h0", "w0", 4), target}, "loss"),
//   TestOptimizer::Kind::kSgd);
#ifndef CLEAVE_SEARCH_TESTING_MODEL_BUILDER_H_
#define CLEAVE_SEARCH_TESTING_MODEL_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"
#include "ir/testing/optimizers.h"

namespace cleave::search::testing {

class ModelBuilder {
 public:
  ir::OpId Input(const std::string& name, ir::DType dtype, const ir::Shape& shape);
  ir::OpId Parameter(const std::string& name, const ir::Shape& shape);
  ir::OpId Add(ir::OpKind kind, std::vector<ir::OpId> inputs, const std::string& name, ir::Attributes attributes = {});
  // A product with the transposed `weight`, called `name`, and `name`.bias.
  ir::OpId Dense(ir::OpId x, const std::string& name, const std::string& weight, int64_t units);
  // layer_norm over the last dimension with its own scale and shift.
  ir::OpId Norm(ir::OpId x, const std::string& name);
  ir::OpId Reshape(ir::OpId x, const ir::Shape& shape, const std::string& name);
  ir::OpId Transpose(ir::OpId x, const std::vector<int64_t>& permutation, const std::string& name);

  // What is added up to EndLoop is of this pass of the model's loop.
  void BeginPass(int64_t number) { builder_.SetSource({.of = ir::InPass({}, /*loop=*/1, number)}); }
  void EndLoop() { builder_.SetSource(ir::GraphBuilder::Source()); }

  const ir::Shape& shape(ir::OpId value) const { return builder_.type(value).shape; }

  // The training graph.
  ir::Graph Trained(ir::OpId loss, ir::TestOptimizer::Kind kind) &&;
  ir::Graph Forward() &&;

 private:
  ir::GraphBuilder builder_;
  int line_ = 0;
};

}  // namespace cleave::search::testing

#endif  // CLEAVE_SEARCH_TESTING_MODEL_BUILDER_H_

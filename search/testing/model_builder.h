// Builds the forward graph of a model, op by op, and differentiates it. Inside of search/testing only.
//
//   ModelBuilder b;
//   const OpId x = b.Input("x", DType::kF32, {8, 16});
//   Graph graph = b.Trained(b.Add(OpKind::kMae, {b.Dense(x, "h0", "w0", 4), target}, "loss"), Optimizer::Kind::kSgd);
#ifndef CLEAVE_SEARCH_TESTING_MODEL_BUILDER_H_
#define CLEAVE_SEARCH_TESTING_MODEL_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/training/training.h"

namespace cleave::testing {

class ModelBuilder {
 public:
  OpId Input(const std::string& name, DType dtype, const Shape& shape);
  OpId Parameter(const std::string& name, const Shape& shape);
  OpId Add(OpKind kind, std::vector<OpId> inputs, const std::string& name, Attributes attributes = {});
  // A product with the transposed `weight`, called `name`, and `name`.bias.
  OpId Dense(OpId x, const std::string& name, const std::string& weight, int64_t units);
  // layer_norm over the last dimension with its own scale and shift.
  OpId Norm(OpId x, const std::string& name);
  OpId Reshape(OpId x, const Shape& shape, const std::string& name);
  OpId Transpose(OpId x, const std::vector<int64_t>& permutation, const std::string& name);

  const Shape& shape(OpId value) const { return builder_.type(value).shape; }

  // The training graph.
  Graph Trained(OpId loss, Optimizer::Kind kind) &&;
  Graph Forward() &&;

 private:
  GraphBuilder builder_;
  int line_ = 0;
};

}  // namespace cleave::testing

#endif  // CLEAVE_SEARCH_TESTING_MODEL_BUILDER_H_

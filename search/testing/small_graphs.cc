#include "search/testing/small_graphs.h"

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "search/testing/model_builder.h"

namespace cleave::search::testing {
namespace {

// A chain of matrices, each made from the one before and sometimes from an earlier one.
class SmallGraphMaker {
 public:
  SmallGraphMaker(uint64_t seed, const SmallGraphOptions& options) : random_(seed), options_(options) {
    sizes_ = {RandomSize(), RandomSize()};
    Push(b_.Input("x", ir::DType::kF32, {OneOf(sizes_), OneOf(sizes_)}));
  }

  ir::Graph Make() && {
    int products = static_cast<int>(Between(2, options_.most_products));
    int light_ops = static_cast<int>(Between(0, options_.most_light_ops));
    while (products > 0 || light_ops > 0) {
      const bool product = Between(1, products + light_ops) <= products;
      if (product) {
        products -= AddProducts(products);
      } else {
        AddLightOp();
        --light_ops;
      }
    }
    return std::move(b_).Trained(Loss(), Chance(2) ? ir::TestOptimizer::Kind::kSgd : ir::TestOptimizer::Kind::kAdam);
  }

 private:
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool Chance(int64_t one_in) { return Between(1, one_in) == 1; }
  template <typename T>
  const T& OneOf(const std::vector<T>& items) {
    return items[static_cast<size_t>(Between(0, static_cast<int64_t>(items.size()) - 1))];
  }
  int64_t RandomSize() { return Between(1, options_.largest_size); }
  // Sizes repeat, so that shapes often agree.
  int64_t Size() { return Chance(3) ? RandomSize() : OneOf(sizes_); }

  void Push(ir::OpId value) { values_.push_back(value); }
  ir::OpId last() const { return values_.back(); }
  std::string Name() { return absl::StrCat("v", names_++); }

  ir::OpId Weight(const ir::Shape& shape) {
    weights_.push_back(b_.Parameter(absl::StrCat("w", weights_.size()), shape));
    return weights_.back();
  }
  ir::OpId Matmul(ir::OpId left, ir::OpId right, bool transpose_b) {
    return b_.Add(ir::OpKind::kMatmul, {left, right}, Name(), {{ir::attribute::kTransposeB, transpose_b}});
  }
  ir::OpId Dense(ir::OpId x, int64_t units) {
    const int64_t features = b_.shape(x)[1];
    const bool transposed = Chance(2);
    return Matmul(x, Weight(transposed ? ir::Shape{units, features} : ir::Shape{features, units}), transposed);
  }
  // A product with a weight that exists already, as it is or transposed.
  std::optional<ir::OpId> TiedDense() {
    if (weights_.empty()) return std::nullopt;
    const ir::OpId weight = OneOf(weights_);
    const int64_t features = b_.shape(last())[1];
    if (b_.shape(weight)[0] == features) return Matmul(last(), weight, false);
    if (b_.shape(weight)[1] == features) return Matmul(last(), weight, true);
    return std::nullopt;
  }

  // At most `most` products; returns how many.
  int AddProducts(int most) {
    const int64_t kind = Between(1, 8);
    if (kind == 1) {
      if (const std::optional<ir::OpId> tied = TiedDense()) {
        Push(*tied);
        return 1;
      }
    }
    if (kind == 2) {
      Push(Matmul(last(), last(), true));
      return 1;
    }
    if (kind == 3 && most >= 3) {
      const int64_t units = Size();
      const ir::OpId left = Dense(last(), units), right = Dense(last(), units);
      Push(Matmul(left, right, true));
      return 3;
    }
    if (kind == 4 && most >= 2) {
      const int64_t units = Size();
      const ir::OpId left = Dense(last(), units), right = Dense(last(), units);
      Push(b_.Add(Chance(2) ? ir::OpKind::kAdd : ir::OpKind::kMul, {left, right}, Name()));
      return 2;
    }
    Push(Dense(last(), Size()));
    return 1;
  }

  void AddLightOp() {
    switch (Between(1, 7)) {
      case 1:
        return Push(b_.Add(ir::OpKind::kSoftmax, {last()}, Name()));
      case 2:
        return Push(b_.Add(ir::OpKind::kBiasAdd, {last(), Weight1d()}, Name()));
      case 3:
        return Push(b_.Transpose(last(), {1, 0}, Name()));
      case 4:
        return Push(Reshaped());
      case 5:
      case 6:
        return Push(Residual());
      default:
        return Push(b_.Add(ir::OpKind::kRelu, {last()}, Name()));
    }
  }
  ir::OpId Weight1d() { return b_.Parameter(absl::StrCat("b", names_), {b_.shape(last())[1]}); }
  ir::OpId Reshaped() {
    const ir::Shape shape = b_.shape(last());
    std::vector<int64_t> rows;
    for (int64_t count = 1; count <= shape[0] * shape[1]; ++count) {
      const int64_t columns = shape[0] * shape[1] / count;
      if (count * columns != shape[0] * shape[1]) continue;
      if (count <= options_.largest_size && columns <= options_.largest_size) rows.push_back(count);
    }
    const int64_t count = OneOf(rows);
    return b_.Reshape(last(), {count, shape[0] * shape[1] / count}, Name());
  }
  // The sum with an earlier value of the same shape, the last one itself where there is none.
  ir::OpId Residual() {
    std::vector<ir::OpId> alike;
    for (ir::OpId value : values_) {
      if (value != last() && b_.shape(value) == b_.shape(last())) alike.push_back(value);
    }
    return b_.Add(ir::OpKind::kAdd, {last(), alike.empty() ? last() : OneOf(alike)}, Name());
  }

  ir::OpId Loss() {
    const ir::Shape shape = b_.shape(last());
    if (Chance(2))
      return b_.Add(ir::OpKind::kCrossEntropy, {last(), b_.Input("label", ir::DType::kI32, {shape[0]})}, "loss");
    return b_.Add(ir::OpKind::kMse, {last(), b_.Input("target", ir::DType::kF32, shape)}, "loss");
  }

  std::mt19937_64 random_;
  SmallGraphOptions options_;
  ModelBuilder b_;
  std::vector<int64_t> sizes_;
  std::vector<ir::OpId> values_;  // Matrices.
  std::vector<ir::OpId> weights_;
  int names_ = 0;
};

}  // namespace

ir::Graph RandomSmallGraph(uint64_t seed, const SmallGraphOptions& options) {
  return SmallGraphMaker(seed, options).Make();
}

}  // namespace cleave::search::testing

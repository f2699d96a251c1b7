#include "tests/properties/sliced_graph.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/attributes/keys.h"
#include "ir/graph/ops/builder.h"
#include "ir/testing/sources.h"

namespace cleave::tests::properties {
namespace {

using ir::OpId;
using ir::OpKind;
using ir::Shape;

class Maker {
 public:
  explicit Maker(ir::Random& random) : random_(random) {}

  ir::Graph Run() && {
    const int64_t batch = Any(1, 4), head = Any(1, 4);
    const int64_t key_heads = Any(1, 2), heads = key_heads * Any(1, 2), rows = Any(1, 5);
    std::vector<OpId> results;
    const int64_t count = Any(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      results.push_back(Attention(batch, heads, key_heads, rows, i == 0 ? rows : Any(1, 5), head));
    }
    if (Any(0, 2) == 0) results.push_back(Tensor(builder_.type(results.front()).shape));
    if (results.size() > 1 && Any(0, 3) != 0) {
      results = {Add(OpKind::kConcat, results, {{ir::attribute::kAxis, Any(0, 3)}})};
    }
    for (const OpId result : results) AddToLoss(result);
    ir::Graph& graph = builder_.mutable_graph();
    graph.model = "Random";
    graph.file = "random.model";
    graph.loss = *loss_;
    return std::move(builder_).Build();
  }

 private:
  int64_t Any(int64_t low, int64_t high) { return ir::RandomInt(random_, low, high); }
  OpId Add(OpKind kind, std::vector<OpId> inputs, ir::Attributes attributes = {}) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes),
                        absl::StrCat("op", builder_.graph().ops.size()));
  }

  void AddToLoss(OpId value) {
    const OpId square = Add(OpKind::kSquare, {value});
    const OpId mean = Add(OpKind::kReduceMean, {square}, {{ir::attribute::kAxes, std::vector<int64_t>{}}});
    loss_ = loss_.has_value() ? Add(OpKind::kAdd, {*loss_, mean}) : mean;
  }
  void MayAddToLoss(OpId value) {
    if (Any(0, 3) == 0) AddToLoss(value);
  }

  // A parameter, or what is made of one. One of a shape may have been made before.
  OpId Tensor(const Shape& shape) {
    const auto made = tensors_.find(shape);
    if (made != tensors_.end() && Any(0, 3) != 0) return made->second;
    OpId tensor = ir::AddParameter(builder_, absl::StrCat("parameter", builder_.graph().ops.size()), shape);
    if (Any(0, 3) != 0) tensor = Add(OpKind::kSquare, {tensor});
    MayAddToLoss(tensor);
    return tensors_[shape] = tensor;
  }

  // Elements of a dimension, as many as `size`, from a random place on.
  OpId Slice(OpId of, size_t dimension, int64_t size) {
    Shape end = builder_.type(of).shape, begin(end.size(), 0);
    begin[dimension] = Any(0, end[dimension] - size);
    end[dimension] = begin[dimension] + size;
    const OpId slice = Add(OpKind::kSlice, {of}, {{ir::attribute::kBegin, begin}, {ir::attribute::kEnd, end}});
    MayAddToLoss(slice);
    return slice;
  }
  OpId Reshaped(OpId value, const Shape& shape) {
    return builder_.type(value).shape == shape ? value
                                               : Add(OpKind::kReshape, {value}, {{ir::attribute::kShape, shape}});
  }

  // A tensor of four dimensions of that shape: by itself, or as a slice.
  OpId Operand(const Shape& shape) {
    switch (Any(0, 5)) {
      case 0:
        return Tensor(shape);
      case 1: {  // One of several along a dimension of their own, which also may be the last.
        const auto dimension = static_cast<size_t>(Any(0, 4));
        Shape whole = shape;
        whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(dimension), Any(2, 3));
        return Reshaped(Slice(Tensor(whole), dimension, 1), shape);
      }
      case 2: {  // Of one that is longer along a dimension.
        const auto dimension = static_cast<size_t>(Any(0, 3));
        Shape whole = shape;
        whole[dimension] += Any(0, 2);
        return Slice(Tensor(whole), dimension, shape[dimension]);
      }
      case 3: {  // Of one whose last dimensions are one.
        const int64_t width = shape[2] * shape[3];
        return Reshaped(Slice(Tensor({shape[0], shape[1], width + Any(0, 2) * shape[3]}), 2, width), shape);
      }
      case 4: {  // A slice of a slice.
        Shape whole = shape;
        whole[1] += 1;
        whole[2] += Any(1, 2);
        return Slice(Slice(Tensor(whole), 2, shape[2]), 1, shape[1]);
      }
      default: {  // Reshaped in front and behind.
        const Shape parts = {shape[0], shape[1], shape[2], 3, shape[3]};
        const OpId whole = Reshaped(Tensor({shape[0], shape[1], shape[2] * 3 * shape[3]}), parts);
        return Reshaped(Slice(whole, 3, 1), shape);
      }
    }
  }

  OpId Attention(int64_t batch, int64_t heads, int64_t key_heads, int64_t rows, int64_t columns, int64_t head) {
    // Results have one shape, so that they may be parts of one tensor.
    const std::vector<int64_t> inside = {Any(0, 1), Any(0, 1), Any(0, 1), 1};
    const auto operand = [&](size_t part, int64_t own_heads, int64_t own_rows) {
      return Operand(inside[part] != 0 ? Shape{batch, own_rows, own_heads, head}
                                       : Shape{batch, own_heads, own_rows, head});
    };
    const OpId q = operand(0, heads, rows), k = operand(1, key_heads, columns), v = operand(2, key_heads, columns);
    ir::Attributes attributes = {{ir::attribute::kFactor, 0.5}, {ir::attribute::kHeadsInside, inside}};
    if (Any(0, 1) == 0) {
      attributes.Set(ir::attribute::kCausal, true);
      attributes.Set(ir::attribute::kWindow, Any(0, 3));
    }
    if (Any(0, 2) == 0) attributes.Set(ir::attribute::kCap, 0.5);
    if (Any(0, 2) == 0) {
      attributes.Set(ir::attribute::kRate, 0.4);
      attributes.Set(ir::attribute::kKey, std::string("attention.dropout"));
    }
    const OpId statistics = Add(OpKind::kAttentionLogsumexp, {q, k}, attributes);
    const OpId result = Add(OpKind::kAttention, {q, k, v, statistics}, attributes);
    MayAddToLoss(result);
    return result;
  }

  ir::Random& random_;
  ir::GraphBuilder builder_;
  std::map<Shape, OpId> tensors_;
  std::optional<OpId> loss_;
};

}  // namespace

ir::Graph SlicedGraph(ir::Random& random) { return Maker(random).Run(); }

}  // namespace cleave::tests::properties

#include "ir/testing/random_manual_model.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

constexpr int64_t kMaxModelElements = 160;  // Of one value.

using Ints = std::vector<int64_t>;

// Grows a graph from a pool of f32 matrices, from which each step takes its operands.
class Maker {
 public:
  Maker(const std::vector<RankAxis>& axes, Random& random) : axes_(axes), random_(random) {
    builder_.mutable_graph().rank_axes = axes;
    ranks_ = RankCount(axes);
  }

  Graph Run(const RandomModelOptions& options) {
    builder_.SetLine(1);
    AddSource();
    AddSource();
    const int special = options.primitive.empty() ? -1 : static_cast<int>(Below(options.steps));
    for (int step = 0; step < options.steps; ++step) {
      builder_.SetLine(step + 2);
      if (step == special) {
        Communicate(options.primitive, Below(2) == 0 ? AddParameter({ranks_, 2}) : Some());
      } else {
        Step();
      }
    }
    AddLoss();
    return std::move(builder_).Build();
  }

 private:
  int64_t Below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  OpId Some() { return pool_[static_cast<size_t>(Below(static_cast<int64_t>(pool_.size())))]; }
  const Shape& ShapeOf(OpId id) { return builder_.type(id).shape; }
  OpId Keep(OpId id) {
    if (builder_.type(id).elements() <= kMaxModelElements) pool_.push_back(id);
    return id;
  }
  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {}) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), std::string(OpKindName(kind)));
  }

  OpId AddParameter(const Shape& shape) {
    return Keep(builder_.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}, {attribute::kLocal, Below(3) == 0}},
                             "parameter"));
  }

  OpId AddInput(const Shape& shape) {
    const std::string name = absl::StrCat("input", builder_.graph().ops.size());
    return builder_.Add(OpKind::kInput, {}, {{attribute::kShape, shape}, {attribute::kData, name}}, name);
  }

  void AddSource() {
    const Shape shape = {Below(2) == 0 ? ranks_ : 2, Below(2) == 0 ? ranks_ : 3};
    if (Below(4) == 0) {
      Keep(AddInput(shape));
    } else {
      AddParameter(shape);
    }
  }

  void Step() {
    switch (Below(8)) {
      case 0:
        return AddSource();
      case 1:
        return Elementwise();
      case 2:
        return Product();
      case 3:
        return OwnPlace();
      case 4:
        Keep(Add(OpKind::kMul, {Some(), OwnValue()}));
        return;
      default: {
        const std::vector<std::string> primitives = CommunicationPrimitives();
        return Communicate(primitives[static_cast<size_t>(Below(static_cast<int64_t>(primitives.size())))], Some());
      }
    }
  }

  void Elementwise() {
    const OpId x = Some();
    const OpId y = Some();
    if (ShapeOf(x) == ShapeOf(y) && Below(3) > 0) {
      Keep(Add(Below(2) == 0 ? OpKind::kAdd : OpKind::kMul, {x, y}));
    } else {
      Keep(Add(Below(2) == 0 ? OpKind::kRelu : OpKind::kTanh, {x}));
    }
  }

  void Product() {
    const OpId x = Some();
    const OpId weight = AddParameter({ShapeOf(x)[1], Below(2) == 0 ? 2 : ranks_});
    Keep(Add(OpKind::kTanh, {Add(OpKind::kMatmul, {x, weight})}));
  }

  OpId OwnValue() {
    std::vector<double> values;
    for (int64_t rank = 0; rank < ranks_; ++rank) values.push_back(0.5 + 0.25 * static_cast<double>(Below(5)));
    return Add(OpKind::kRankValue, {}, {{attribute::kValues, values}});
  }

  // A slice or a padding, at any place or where the members of a group have theirs.
  void OwnPlace() {
    const OpId x = Some();
    const int64_t axis = Below(2);
    const int64_t elements = ShapeOf(x)[static_cast<size_t>(axis)];
    const bool pads = Below(2) == 0;
    const int64_t size = pads ? elements + Below(3) : 1 + Below(elements);
    const int64_t places = pads ? size - elements + 1 : elements - size + 1;
    const RankAxisSet group = SomeGroup();
    const bool by_group = Below(2) == 0;
    Ints starts;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      starts.push_back(by_group ? GroupIndex(axes_, group, rank) % places : Below(places));
    }
    Keep(Add(pads ? OpKind::kRankPad : OpKind::kRankSlice, {x},
             {{attribute::kAxis, axis}, {attribute::kSize, size}, {attribute::kStarts, starts}}));
  }

  RankAxisSet SomeGroup() { return {1 + static_cast<uint64_t>(Below((int64_t{1} << axes_.size()) - 1))}; }

  Attributes OfGroup(RankAxisSet group) {
    return {{attribute::kGroup, GroupText(axes_, group)}, {attribute::kSize, GroupSize(axes_, group)}};
  }

  // Repeats x along `axis` until the group's size divides it.
  OpId Divisible(OpId x, int64_t axis, int64_t size) {
    const int64_t elements = ShapeOf(x)[static_cast<size_t>(axis)];
    if (elements % size == 0) return x;
    return Add(OpKind::kConcat, std::vector<OpId>(static_cast<size_t>(size), x), {{attribute::kAxis, axis}});
  }

  void Communicate(const std::string& primitive, OpId x) {
    const RankAxisSet group = SomeGroup();
    const int64_t size = GroupSize(axes_, group);
    Attributes attributes = OfGroup(group);
    const int64_t axis = Below(2);
    if (primitive == "all_gather") {
      attributes.Set(attribute::kAxis, axis);
      Keep(Add(OpKind::kAllGather, {x}, attributes));
    } else if (primitive == "reduce_scatter") {
      attributes.Set(attribute::kAxis, axis);
      Keep(Add(OpKind::kTanh, {Add(OpKind::kReduceScatter, {Divisible(x, axis, size)}, attributes)}));
    } else if (primitive == "broadcast") {
      attributes.Set(attribute::kRoot, Below(size));
      Keep(Add(OpKind::kBroadcast, {x}, attributes));
    } else if (primitive == "all_to_all") {
      attributes.Set(attribute::kSplitAxis, axis);
      attributes.Set(attribute::kConcatAxis, Below(2));
      Keep(Add(OpKind::kAllToAll, {Divisible(x, axis, size)}, attributes));
    } else if (primitive == "send_recv" || primitive == "neighbor_exchange" || primitive == "neighbor_exchange_v2") {
      Keep(Exchange(primitive, x));
    } else {
      attributes.Set(attribute::kReduction, primitive);
      Keep(Add(OpKind::kTanh, {Add(OpKind::kAllReduce, {x}, attributes)}));
    }
  }

  // Exchanges one to three parts. The parts with the same number form a permutation of the ranks with gaps, or a ring
  // within a group.
  OpId Exchange(const std::string& primitive, OpId x) {
    const Shape shape = ShapeOf(x);
    const int64_t elements = builder_.type(x).elements();
    const OpId flat = Add(OpKind::kReshape, {x}, {{attribute::kShape, Ints{elements}}});
    const int64_t parts = primitive == "send_recv" ? 1 : 1 + Below(std::min<int64_t>(3, elements));
    Ints sizes(static_cast<size_t>(parts), elements / parts);
    sizes.back() += elements % parts;
    Ints send(static_cast<size_t>(ranks_ * parts), -1);
    Ints receive = send;
    for (int64_t part = 0; part < parts; ++part) {
      const Ints to = Below(2) == 0 ? Ring() : PartialPermutation();
      for (int64_t rank = 0; rank < ranks_; ++rank) {
        const int64_t peer = to[static_cast<size_t>(rank)];
        if (peer < 0) continue;
        send[static_cast<size_t>(rank * parts + part)] = peer;
        receive[static_cast<size_t>(peer * parts + part)] = rank;
      }
    }
    const OpId exchanged = Add(OpKind::kNeighborExchange, {flat},
                               {{attribute::kPrimitive, primitive},
                                {attribute::kSendSizes, sizes},
                                {attribute::kReceiveSizes, sizes},
                                {attribute::kSendRanks, send},
                                {attribute::kReceiveRanks, receive}});
    return Add(OpKind::kReshape, {exchanged}, {{attribute::kShape, shape}});
  }

  Ints Ring() {
    const RankAxisSet group = SomeGroup();
    Ints to;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const Ints members = GroupMembers(axes_, group, rank);
      const size_t next = static_cast<size_t>(GroupIndex(axes_, group, rank) + 1);
      to.push_back(members[next % members.size()]);
    }
    return to;
  }

  Ints PartialPermutation() {
    Ints to(static_cast<size_t>(ranks_));
    std::iota(to.begin(), to.end(), 0);
    std::shuffle(to.begin(), to.end(), random_);
    for (int64_t& peer : to) {
      if (Below(3) == 0) peer = -1;
    }
    return to;
  }

  // The weighted mean of every value that nothing reads, then the sum over the ranks on which they differ, or over all.
  void AddLoss() {
    const IdVector<OpId, std::vector<OpId>> users = Users(builder_.graph());
    std::optional<OpId> sum;
    for (OpId id : pool_) {
      if (!users[id].empty()) continue;
      const OpId weighted = Add(OpKind::kMul, {Add(OpKind::kTanh, {id}), AddInput(ShapeOf(id))});
      const OpId mean = Add(OpKind::kReduceMean, {weighted});
      sum = sum.has_value() ? Add(OpKind::kAdd, {*sum, mean}) : mean;
    }
    CLEAVE_CHECK(sum.has_value());
    const RankAxisSet varies = VarianceOf(builder_.graph())[*sum];
    const RankAxisSet group = varies.empty() || Below(2) == 0 ? AllAxes(axes_) : varies;
    builder_.mutable_graph().loss = Add(OpKind::kAllReduce, {*sum}, OfGroup(group));
  }

  const std::vector<RankAxis>& axes_;
  Random& random_;
  GraphBuilder builder_;
  int64_t ranks_ = 1;
  std::vector<OpId> pool_;
};

Tensor RandomValues(const Shape& shape, Random& random) {
  Tensor tensor = Zeros(shape);
  for (double& value : tensor.values) {
    value = std::uniform_real_distribution<double>(0.3, 1.2)(random) * (random() % 2 == 0 ? 1 : -1);
  }
  return tensor;
}

}  // namespace

std::vector<std::string> CommunicationPrimitives() {
  return {"sum",
          "max",
          "min",
          "prod",
          "all_gather",
          "reduce_scatter",
          "broadcast",
          "all_to_all",
          "send_recv",
          "neighbor_exchange",
          "neighbor_exchange_v2"};
}

Graph RandomManualModel(const RandomModelOptions& options, Random& random) {
  return Maker(options.axes, random).Run(options);
}

RankSources RandomRankSources(const Graph& graph, Random& random) {
  const size_t ranks = static_cast<size_t>(RankCount(graph.rank_axes));
  RankSources sources;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kInput && op.kind != OpKind::kParameter && op.kind != OpKind::kState) continue;
    TensorOnRanks values(ranks, RandomValues(op.type.shape, random));
    if (op.kind != OpKind::kInput && op.attributes.Get(attribute::kLocal)) {
      for (Tensor& value : values) value = RandomValues(op.type.shape, random);
    }
    sources[op.id] = std::move(values);
  }
  return sources;
}

}  // namespace cleave::ir

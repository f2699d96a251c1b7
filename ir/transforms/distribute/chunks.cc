// Reading guide. `ChunkingOf` decides: which layouts the value has, and which dimension of its rows becomes chunks. The
// `Chunker` writes the ops again, and in `AddChunks` what a product becomes.

#include "ir/transforms/distribute/chunks.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"
#include "ir/graph/unique_names.h"
#include "ir/transforms/distribute/append.h"
#include "ir/transforms/distribute/built_form.h"

namespace cleave::ir {
namespace {

// Row dimensions [begin, end) of a product become three: [pieces, chunks, rows]. Where `begin` was cut, `pieces` is. In
// the layout that cuts most, a rank has one element of it and of each dimension in front.
struct Chunking {
  size_t begin = 0;
  size_t end = 0;
  int64_t pieces = 1;
  int64_t chunks = 1;
  int64_t rows = 1;
  Layout target;  // In which the readers want the value.

  Shape In(const Shape& shape) const {
    Shape changed(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(begin));
    changed.insert(changed.end(), {pieces, chunks, rows});
    changed.insert(changed.end(), shape.begin() + static_cast<std::ptrdiff_t>(end), shape.end());
    return changed;
  }
  Layout In(const Layout& layout) const {
    Layout changed = {.dimensions = {}, .partial = layout.partial};
    for (size_t d = 0; d < layout.dimensions.size(); ++d) {
      if (d <= begin || d >= end) changed.dimensions.push_back(layout.dimensions[d]);
      if (d == begin) changed.dimensions.insert(changed.dimensions.end(), 2, AxisList());
    }
    return changed;
  }
  size_t axis() const { return begin + 1; }
};

bool IsPrefix(const AxisList& a, const AxisList& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// Finds the chunking of products.
class ChunkFinder {
 public:
  ChunkFinder(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan), readers_(graph.ops.size()) {
    for (const Op& op : graph.ops) {
      for (size_t i = 0; i < op.inputs.size(); ++i) readers_[op.inputs[i]].push_back({op.id, static_cast<int>(i)});
    }
  }

  std::variant<Chunking, std::string> Find(const Op& op, int64_t chunks) {
    const OpPlan& planned = plan_.ops[op.id];
    const bool is_shared = op.kind == OpKind::kMatmul && graph_.op(op.inputs[1]).type.rank() == 2;
    if (!is_shared || op.attributes.Get(attribute::kTransposeA)) return "it is no product of rows and a weight";
    if (graph_.is_manual()) return "the model says itself what each rank computes";
    const Rule& rule = rules_.Of(graph_, op);
    std::vector<Layout> layouts = {InputLayout(planned.strategy, rule, 0), OutputLayout(planned.strategy, rule)};
    if (!planned.strategy.passes.empty() || !layouts[1].is_partial()) return "its sums are not divided between ranks";
    Chunking chunking{.chunks = chunks, .target = {}};
    if (std::optional<std::string> why = FindTarget(op, chunking.target); why.has_value()) return *std::move(why);
    layouts.push_back(chunking.target);
    return FindRows(op.type.shape, layouts, std::move(chunking));
  }

 private:
  // The layout in which the readers of its own phase want the value, or, where there are none, those of other phases.
  std::optional<std::string> FindTarget(const Op& op, Layout& target) {
    if (const std::optional<Layout>& output = plan_.ops[op.id].output; output.has_value()) {
      target = *output;
      return target.is_partial() ? std::make_optional("its sums stay divided") : std::nullopt;
    }
    std::vector<Layout> own, others;
    for (const Reader& reader : readers_[op.id]) {
      const Op& by = graph_.op(reader.op);
      if (by.phase == Phase::kMetric) continue;
      Layout layout = InputLayout(plan_.ops[by.id].strategy, rules_.Of(graph_, by), reader.input).WithoutWindows();
      if (layout.is_partial()) return absl::StrCat("its sums are completed behind `", by.name, "`");
      (by.phase == op.phase ? own : others).push_back(std::move(layout));
    }
    const std::vector<Layout>& wanted = own.empty() ? others : own;
    if (wanted.empty()) return "nothing reads it";
    target = wanted.front();
    const bool is_one = std::all_of(wanted.begin(), wanted.end(), [&](const Layout& other) { return other == target; });
    return is_one ? std::nullopt : std::make_optional("its readers want it in several layouts");
  }

  // The first dimension of which a rank has several elements becomes chunks; all rows behind it, where chunks are not
  // its divisor and no rank cuts them.
  std::variant<Chunking, std::string> FindRows(const Shape& shape, const std::vector<Layout>& layouts,
                                               Chunking chunking) const {
    const size_t rows = shape.size() - 1;
    for (size_t d = 0; d < rows; ++d) {
      const std::optional<int64_t> pieces = PiecesOf(d, layouts);
      if (!pieces.has_value()) return "ranks cut its rows in several ways";
      const int64_t size = shape[d];
      if (size % *pieces != 0) return absl::StrCat("ranks have unequal parts of its ", size, " rows");
      const int64_t own = size / *pieces;
      if (own == 1) continue;
      chunking.begin = d;
      chunking.end = d + 1;
      chunking.pieces = *pieces;
      int64_t all = own;
      if (own % chunking.chunks != 0) {
        const bool fits = d + 1 < rows && chunking.chunks % own == 0 && shape[d + 1] % (chunking.chunks / own) == 0;
        if (!fits) return absl::StrCat("the ", own, " rows of a rank are not ", chunking.chunks, " equal chunks");
        for (size_t next = d + 1; next < rows; ++next) {
          if (PiecesOf(next, layouts) != 1) return "ranks cut its rows in several dimensions";
          all *= shape[next];
        }
        chunking.end = rows;
      }
      chunking.rows = all / chunking.chunks;
      return chunking;
    }
    return "a rank has one row of it";
  }

  // Into how many pieces ranks and micro-batches cut row dimension `d`, in all layouts; nullopt where the pieces of one
  // layout are not made of those of another.
  std::optional<int64_t> PiecesOf(size_t d, const std::vector<Layout>& layouts) const {
    AxisList longest;
    for (const Layout& layout : layouts) {
      const AxisList& axes = layout.dimensions[d];
      if (!IsPrefix(axes, longest) && !IsPrefix(longest, axes)) return std::nullopt;
      if (axes.size() > longest.size()) longest = axes;
    }
    return plan_.mesh.Size(longest) * (d == 0 ? plan_.micro_batches : 1);
  }

  struct Reader {
    OpId op;
    int input = 0;
  };

  const Graph& graph_;
  const Plan& plan_;
  RuleTable rules_;
  IdVector<OpId, std::vector<Reader>> readers_;
};

class Chunker {
 public:
  Chunker(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan), names_(graph) {
    result_.plan = plan;
    result_.plan.ops = {};
    result_.by_rows = IdVector<OpId, uint8_t>(graph.ops.size());
    result_.in_slices = IdVector<OpId, uint8_t>(graph.ops.size());
    is_in_chunks_ = IdVector<OpId, uint8_t>(graph.ops.size());
  }

  std::optional<Distributed> Run() && {
    bool some = false;
    ChunkFinder finder(graph_, plan_);
    for (const Op& op : graph_.ops) {
      const int64_t chunks = plan_.ops[op.id].chunks;
      if (chunks > 1) {
        auto found = finder.Find(op, chunks);
        if (const auto* chunking = std::get_if<Chunking>(&found); chunking != nullptr) {
          some = true;
          is_in_chunks_[op.id] = 1;
          result_.values.push_back(AddChunks(op, *chunking));
          continue;
        }
      }
      Keep(op);
    }
    if (!some) return std::nullopt;
    CopyRoles(graph_, result_.values, result_.graph);
    return std::move(result_);
  }

 private:
  void Keep(const Op& op) {
    // The factors of a product that is chunks now do not exist any more.
    const bool inherits = op.inherits.has_value() && is_in_chunks_[op.inherits->op] == 0;
    result_.values.push_back(AppendKept(op, plan_.ops[op.id], inherits, result_));
  }

  // Returns the op that has the value of `op`.
  OpId AddChunks(const Op& op, const Chunking& chunking) {
    const OpPlan& planned = plan_.ops[op.id];
    const Layout read = InputLayout(planned.strategy, RuleOf(graph_, op), 0);
    const Shape& x = graph_.op(op.inputs[0]).type.shape;
    const OpId rows = AddBuilt(op, OpKind::kReshape, {result_.values[op.inputs[0]]},
                               {{attribute::kShape, chunking.In(x)}}, "rows", read);
    std::vector<OpId> chunks;
    for (int64_t i = 0; i < chunking.chunks; ++i) {
      std::vector<int64_t> begin(result_.graph.op(rows).type.shape.size(), 0), end = result_.graph.op(rows).type.shape;
      begin[chunking.axis()] = i;
      end[chunking.axis()] = i + 1;
      const OpId own = AddBuilt(op, OpKind::kSlice, {rows},
                                {{attribute::kBegin, std::move(begin)}, {attribute::kEnd, std::move(end)}},
                                absl::StrCat("rows.", i), chunking.In(read));
      chunks.push_back(AddProduct(op, chunking, own, i));
    }
    const Layout target = chunking.In(chunking.target);
    const OpId all = AddBuilt(op, OpKind::kConcat, std::move(chunks),
                              {{attribute::kAxis, static_cast<int64_t>(chunking.axis())}}, "chunks", target);
    const OpId value =
        AddBuilt(op, OpKind::kReshape, {all}, {{attribute::kShape, op.type.shape}}, std::string(), target);
    Op& made = result_.graph.ops[value];
    made.name = op.name;
    made.repetition = op.repetition;
    if (op.gradient_of.has_value()) made.gradient_of = result_.values[*op.gradient_of];
    OpPlan& plan = result_.plan.ops[value];
    plan.output = planned.output;
    plan.retention = planned.retention;
    return value;
  }

  OpId AddProduct(const Op& op, const Chunking& chunking, OpId rows, int64_t i) {
    Op product = Derive(op, absl::StrCat(i));
    product.kind = op.kind;
    product.inputs = {rows, result_.values[op.inputs[1]]};
    product.attributes = op.attributes;
    product.type = TypeIn(result_.graph, product.kind, product.inputs, product.attributes);
    const Strategy& whole = plan_.ops[op.id].strategy;
    const Rule from = RuleOf(graph_, op), to = RuleOf(result_.graph, product);
    Strategy strategy = Strategy::Replicated(to);
    const auto cut = [&](const FactorList& as, const FactorList& factor) {
      strategy.cuts[static_cast<size_t>(factor.front())] = whole.cuts[static_cast<size_t>(as.front())];
    };
    for (size_t d = 0; d < from.output.size(); ++d) {
      if (d <= chunking.begin) cut(from.output[d], to.output[d]);
      if (d >= chunking.end) cut(from.output[d], to.output[d + 3 - (chunking.end - chunking.begin)]);
    }
    cut(from.inputs[0].back(), to.inputs[0].back());
    return Append(std::move(product), op, PlanOf(op, std::move(strategy), chunking.In(chunking.target)));
  }

  // Adds an op that reads its inputs in `layout`, cut along the same elements.
  OpId AddBuilt(const Op& original, OpKind kind, std::vector<OpId> inputs, Attributes attributes,
                const std::string& role, const Layout& layout) {
    Op op = Derive(original, role);
    op.kind = kind;
    op.type = TypeIn(result_.graph, kind, inputs, attributes);
    op.inputs = std::move(inputs);
    op.attributes = std::move(attributes);
    const std::vector<const Layout*> read(op.inputs.size(), &layout);
    Strategy strategy = StrategyOfBuilt(RuleOf(result_.graph, op), read, {}, plan_.mesh, /*cuts_compounds=*/true);
    return Append(std::move(op), original, PlanOf(original, std::move(strategy), std::nullopt));
  }

  // What is in the place of `original` beside its value.
  Op Derive(const Op& original, const std::string& role) {
    Op op{.id = {},
          .name = {},
          .kind = original.kind,
          .phase = original.phase,
          .inputs = {},
          .attributes = {},
          .type = {},
          .line = original.line};
    if (!role.empty()) op.name = names_.Take(absl::StrCat(original.name, ".", role));
    op.repetition = Derived(original.repetition, absl::StrCat("chunks ", role));
    return op;
  }

  OpPlan PlanOf(const Op& original, Strategy strategy, std::optional<Layout> output) const {
    const OpPlan& planned = plan_.ops[original.id];
    const bool is_made_again = planned.retention == Retention::kRecompute;
    return {.strategy = std::move(strategy),
            .output = std::move(output),
            .retention = is_made_again ? Retention::kRecompute : Retention::kKeep,
            .stage = planned.stage,
            .decided_by = planned.decided_by,
            .reason = absl::StrCat(original.name, " in chunks"),
            .choices = {}};
  }

  OpId Append(Op op, const Op& original, OpPlan plan) {
    return ir::Append(std::move(op), original, std::move(plan), result_);
  }

  const Graph& graph_;
  const Plan& plan_;
  Distributed result_;
  UniqueNames names_;
  IdVector<OpId, uint8_t> is_in_chunks_;
};

}  // namespace

std::vector<OpId> ProductsInChunks(const Graph& graph, const Plan& plan, int64_t chunks) {
  std::vector<OpId> products;
  ChunkFinder finder(graph, plan);
  for (const Op& op : graph.ops) {
    if (std::holds_alternative<Chunking>(finder.Find(op, chunks))) products.push_back(op.id);
  }
  return products;
}

std::optional<std::string> WhyNotInChunks(const Graph& graph, const Plan& plan, OpId op, int64_t chunks) {
  auto found = ChunkFinder(graph, plan).Find(graph.op(op), chunks);
  auto* const why = std::get_if<std::string>(&found);
  return why == nullptr ? std::nullopt : std::make_optional(std::move(*why));
}

std::optional<Distributed> WithChunkedProducts(const Graph& graph, const Plan& plan) {
  const bool has_any = std::any_of(plan.ops.begin(), plan.ops.end(), [](const OpPlan& op) { return op.chunks > 1; });
  return has_any ? Chunker(graph, plan).Run() : std::nullopt;
}

}  // namespace cleave::ir

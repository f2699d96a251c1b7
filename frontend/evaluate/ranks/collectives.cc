#include "frontend/evaluate/ranks/collectives.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/ranks/primitive_arguments.h"
#include "frontend/evaluate/tensors/tuples.h"
#include "ir/graph/manual/communication.h"

namespace cleave::frontend {
namespace {

Value AddCollective(ir::OpKind kind, const PrimitiveArgument& x, ir::OpId tensor, ir::RankAxisSet group,
                    ir::Attributes attributes, const Origin& origin, const Context& context) {
  const std::vector<ir::RankAxis>& axes = context.graph().rank_axes;
  attributes.Set(ir::attribute::kGroup, ir::GroupText(axes, group));
  attributes.Set(ir::attribute::kSize, ir::GroupSize(axes, group));
  return context.ops.AddOpOfRanks(kind, {{x.expression, tensor}}, std::move(attributes), origin);
}

Value Reduce(const PrimitiveArguments& given, ir::OpId x, ir::RankAxisSet group, const Origin& origin,
             const Context& context) {
  const std::optional<std::string> reduction = ReductionArgument(given.at(kReduction), context);
  if (!reduction) return Value{Poison()};
  const bool is_mean = *reduction == "mean";
  const Value result =
      AddCollective(ir::OpKind::kAllReduce, given.at("x"), x, group,
                    {{ir::attribute::kReduction, is_mean ? std::string("sum") : *reduction}}, origin, context);
  if (!is_mean || result.is_poison()) return result;
  const double members = static_cast<double>(ir::GroupSize(context.graph().rank_axes, group));
  return context.ops.AddOp(ir::OpKind::kScale, {{given.at("x").expression, result.as_tensor()}},
                           {{ir::attribute::kFactor, 1.0 / members}}, origin);
}

}  // namespace

Value CallCollective(Primitive primitive, const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const std::string name = SignatureOf(primitive).callee;
  const ir::OpKind kind = *ir::ParseOpKind(name);
  const ir::Communication collective = *ir::CommunicationOf(kind);
  const auto given = ReadArguments(primitive, site, context);
  if (!given) return Value{Poison()};
  const auto x = TensorArgument(given->at("x"), "x", primitive, context);
  const auto group = GroupArgument(given->at("group"), site, context);
  if (!x || !group) return Value{Poison()};
  const int first = context.ops.size();
  const int64_t rank = context.ops.type(*x).rank();
  bool ok = true;
  const auto axis = [&](const std::string& argument) -> int64_t {
    const auto number = IntArgument(given->at(argument), argument, 0, Code::kE0702, site, context);
    const dsl::syntax::Expression* expression = given->at(argument).expression;
    const auto place = number
                           ? AxisArgument(expression ? *expression : *site.call.callee, Value{*number}, rank, context)
                           : std::nullopt;
    ok &= place.has_value();
    return static_cast<int64_t>(place.value_or(0));
  };
  const auto root = [&]() -> int64_t {
    const auto number = IntArgument(given->at("root"), "root", 0, Code::kE0703, site, context);
    const int64_t members = ir::GroupSize(context.graph().rank_axes, *group);
    if (number && (*number < 0 || *number >= members)) {
      context.reporter.Report(
          Error(Code::kE0709, absl::StrCat("member ", *number, " of a group of ", Plural(members, "rank")))
              .At(given->at("root").expression->span, absl::StrCat("members are 0 to ", members - 1)));
      ok = false;
    }
    ok &= number.has_value();
    return number.value_or(0);
  };
  ir::Attributes attributes;
  switch (collective) {
    case ir::Communication::kAllReduce:
    case ir::Communication::kNeighborExchange:
      break;
    case ir::Communication::kAllGather:
    case ir::Communication::kReduceScatter:
      attributes.Set(ir::attribute::kAxis, axis("axis"));
      break;
    case ir::Communication::kAllToAll:
      attributes.Set(ir::attribute::kSplitAxis, axis("split"));
      attributes.Set(ir::attribute::kConcatAxis, axis("concat"));
      break;
    case ir::Communication::kBroadcast:
      attributes.Set(ir::attribute::kRoot, root());
      break;
  }
  if (!ok) return Value{Poison()};
  const Value result =
      collective == ir::Communication::kAllReduce
          ? Reduce(*given, *x, *group, frame.At(span), context)
          : AddCollective(kind, given->at("x"), *x, *group, std::move(attributes), frame.At(span), context);
  context.ops.EndOperation(span, name, first);
  return result;
}

Value CallGroup(const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  if (!MatchArguments(SignatureOf(Primitive::kGroup), call.arguments, span, context.reporter)) return Value{Poison()};
  const std::vector<ir::RankAxis>& axes = context.graph().rank_axes;
  std::vector<std::string> names;
  for (const ir::RankAxis& axis : axes) names.push_back(axis.name);
  GroupValue group;
  for (const dsl::syntax::Argument& argument : call.arguments) {
    const Value value = context.Evaluate(*argument.value, frame);
    if (value.is_poison()) return value;
    const auto* name = std::get_if<std::string>(&value.kind);
    if (name == nullptr) {
      context.reporter.Report(Error(Code::kE0204, "a group names axes of the mesh")
                                  .At(argument.span, absl::StrCat("this is ", DescribeType(value, context.graph())))
                                  .Note(absl::StrCat("axes are ", QuotedList(names, "and"))));
      return Value{Poison()};
    }
    const ir::RankAxisSet before = group.axes;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].name == *name) group.axes = group.axes | ir::RankAxisSet{uint64_t{1} << i};
    }
    if (group.axes == before) {
      Diagnostic error = Error(Code::kE0310, absl::StrCat("unknown mesh axis `", *name, "`"))
                             .At(argument.span, absl::StrCat("axes are ", QuotedList(names, "and")));
      const bool twice = std::find(names.begin(), names.end(), *name) != names.end();
      if (twice)
        error = Error(Code::kE0308, absl::StrCat("mesh axis `", *name, "` is used twice in one group"))
                    .At(argument.span, "used again here");
      context.reporter.Report(std::move(error));
      return Value{Poison()};
    }
  }
  return Value{group};
}

Value CallSizeOrIndex(Primitive primitive, const CallSite& site, const Context& context) {
  const auto given = ReadArguments(primitive, site, context);
  const auto group = given ? GroupArgument(given->at("group"), site, context) : std::nullopt;
  if (!group) return Value{Poison()};
  const std::vector<ir::RankAxis>& axes = context.graph().rank_axes;
  if (primitive == Primitive::kSize) return Value{ir::GroupSize(axes, *group)};
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < ir::RankCount(axes); ++rank)
    ranks.emplace_back().kind = ir::GroupIndex(axes, *group, rank);
  return PerRank(std::move(ranks)).value_or(Value{Poison()});
}

}  // namespace cleave::frontend

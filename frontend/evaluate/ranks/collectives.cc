#include "frontend/evaluate/ranks/collectives.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/ranks/primitive_arguments.h"
#include "frontend/evaluate/tensors/tuples.h"

namespace cleave::frontend {
namespace {

Value AddCollective(Primitive primitive, const PrimitiveArgument& x, ir::OpId tensor, ir::RankAxisSet group,
                    ir::Attributes attributes, const Origin& origin, const Context& context) {
  const std::vector<ir::RankAxis>& axes = context.graph().rank_axes;
  attributes.Set(ir::attribute::kGroup, ir::GroupText(axes, group));
  attributes.Set(ir::attribute::kSize, ir::GroupSize(axes, group));
  return context.ops.AddOpOfRanks(*ir::ParseOpKind(SignatureOf(primitive).callee), {{x.expression, tensor}},
                                  std::move(attributes), origin);
}

Value Reduce(const PrimitiveArguments& given, ir::OpId x, ir::RankAxisSet group, const Origin& origin,
             const Context& context) {
  const std::optional<std::string> reduction = ReductionArgument(given.at(kReduction), context);
  if (!reduction) return Value{Poison()};
  const bool is_mean = *reduction == "mean";
  const Value result =
      AddCollective(Primitive::kAllReduce, given.at("x"), x, group,
                    {{ir::attribute::kReduction, is_mean ? std::string("sum") : *reduction}}, origin, context);
  if (!is_mean || result.is_poison()) return result;
  const double members = static_cast<double>(ir::GroupSize(context.graph().rank_axes, group));
  return context.ops.AddOp(ir::OpKind::kScale, {{given.at("x").expression, result.as_tensor()}},
                           {{ir::attribute::kFactor, 1.0 / members}}, origin);
}

}  // namespace

Value CallCollective(Primitive primitive, const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const auto given = ReadArguments(primitive, site, context);
  if (!given) return Value{Poison()};
  const auto x = TensorArgument(given->at("x"), "x", primitive, context);
  const auto group = GroupArgument(given->at("group"), site, context);
  if (!x || !group) return Value{Poison()};
  const int first = context.ops.size();
  const int64_t rank = context.ops.type(*x).rank();
  bool ok = true;
  const auto axis = [&](const std::string& name) -> int64_t {
    const auto number = IntArgument(given->at(name), name, 0, Code::kE0702, site, context);
    const dsl::syntax::Expression* expression = given->at(name).expression;
    const auto place =
        number ? AxisArgument(expression ? *expression : *call.callee, Value{*number}, rank, context) : std::nullopt;
    ok &= place.has_value();
    return static_cast<int64_t>(place.value_or(0));
  };
  ir::Attributes attributes;
  if (primitive == Primitive::kAllGather || primitive == Primitive::kReduceScatter) {
    attributes.Set(ir::attribute::kAxis, axis("axis"));
  } else if (primitive == Primitive::kAllToAll) {
    attributes.Set(ir::attribute::kSplitAxis, axis("split"));
    attributes.Set(ir::attribute::kConcatAxis, axis("concat"));
  } else if (primitive == Primitive::kBroadcast) {
    const auto root = IntArgument(given->at("root"), "root", 0, Code::kE0703, site, context);
    const int64_t members = ir::GroupSize(context.graph().rank_axes, *group);
    if (root && (*root < 0 || *root >= members)) {
      context.reporter.Report(
          Error(Code::kE0709, absl::StrCat("member ", *root, " of a group of ", Plural(members, "rank")))
              .At(given->at("root").expression->span, absl::StrCat("members are 0 to ", members - 1)));
      ok = false;
    }
    ok &= root.has_value();
    attributes.Set(ir::attribute::kRoot, root.value_or(0));
  }
  if (!ok) return Value{Poison()};
  const Value result =
      primitive == Primitive::kAllReduce
          ? Reduce(*given, *x, *group, frame.At(span), context)
          : AddCollective(primitive, given->at("x"), *x, *group, std::move(attributes), frame.At(span), context);
  context.ops.EndOperation(span, SignatureOf(primitive).callee, first);
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

// The primitives of manual models that all ranks of a group call together, and groups.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {
namespace {

// Read as a word, not as a value: which reduction an all_reduce does.
constexpr char kReduction[] = "reduction";

}  // namespace

Value Evaluator::CallPrimitive(Primitive primitive, const syntax::Call& call, Span span, Frame& frame) {
  if (!graph().is_manual()) {
    ReportNotManual(absl::StrCat("`", SignatureOf(primitive).callee, "`"), call.callee->span,
                    "ranks of a model for one device do not speak of each other");
    return Value{Poison()};
  }
  switch (primitive) {
    case Primitive::kAllReduce:
    case Primitive::kAllGather:
    case Primitive::kReduceScatter:
    case Primitive::kBroadcast:
    case Primitive::kAllToAll:
      return Collect(primitive, call, span, frame);
    case Primitive::kNeighborExchange:
      return ExchangeWithNeighbors(call, span, frame);
    case Primitive::kNeighborExchangeV2:
      return ExchangeHalo(call, span, frame);
    case Primitive::kSend:
      reporter_.Report(Error(Code::kE0211, "`send` is a statement")
                           .At(span, "sends, and has no value")
                           .Help("write it alone: `send(x, to = …);`"));
      return Value{Poison()};
    case Primitive::kReceive:
      return Receive(call, span, frame);
    case Primitive::kGroup:
      return MakeGroup(call, span, frame);
    case Primitive::kSize:
    case Primitive::kIndex:
      return OfGroup(primitive, call, span, frame);
  }
  return Value{Poison()};
}

std::optional<Evaluator::GivenArguments> Evaluator::ReadArguments(Primitive primitive, const syntax::Call& call,
                                                                  Span span, Frame& frame) {
  const Signature signature = SignatureOf(primitive);
  const auto matched = MatchArguments(signature, call.arguments, span, reporter_);
  if (!matched) return std::nullopt;
  GivenArguments arguments;
  bool ok = true;
  for (size_t i = 0; i < matched->size(); ++i) {
    const std::string& name = signature.arguments[i].name;
    Given& given = arguments[name];
    if ((*matched)[i] == nullptr) continue;
    given.expression = &*(*matched)[i]->value;
    if (name == kReduction) continue;
    given.value = Evaluate(*given.expression, frame);
    ok &= !given.value.is_poison();
  }
  if (!ok) return std::nullopt;
  return arguments;
}

std::optional<OpId> Evaluator::TensorArgument(const Given& given, const std::string& name, Primitive primitive) {
  if (given.value.is_tensor()) return given.value.as_tensor();
  const Signature signature = SignatureOf(primitive);
  reporter_.Report(Error(Code::kE0204, absl::StrCat("argument `", name, "` of `", signature.callee, "` is a tensor"))
                       .At(given.expression->span, absl::StrCat("this is ", DescribeType(given.value, graph())))
                       .Note(absl::StrCat("the signature is `", signature.ToString(), "`")));
  return std::nullopt;
}

// `otherwise` where it is not given. `differs`: the mistake of a number that is not the same on all ranks.
std::optional<int64_t> Evaluator::IntArgument(const Given& given, const std::string& name, int64_t otherwise,
                                              Code differs, Span span, Frame& frame) {
  if (given.expression == nullptr) return otherwise;
  if (given.value.is_int()) return given.value.as_int();
  if (given.value.is_per_rank()) {
    reporter_.Report(
        Differs(differs, absl::StrCat("`", name, "` differs between ranks"), *given.expression, given.value, frame)
            .At(span, "all ranks of a group call this together, with the same arguments"));
  } else {
    reporter_.Report(Error(Code::kE0204, absl::StrCat("argument `", name, "` is an int"))
                         .At(given.expression->span, absl::StrCat("this is ", DescribeType(given.value, graph()))));
  }
  return std::nullopt;
}

// All ranks where none is given.
std::optional<RankAxisSet> Evaluator::GroupArgument(const Given& given, Span span, Frame& frame) {
  if (given.expression == nullptr) return AllAxes(graph().rank_axes);
  if (const auto* group = std::get_if<GroupValue>(&given.value.kind)) return group->axes;
  if (given.value.is_per_rank() && std::holds_alternative<GroupValue>(OnRank(given.value, 0).kind)) {
    reporter_.Report(Differs(Code::kE0703, "the group differs between ranks", *given.expression, given.value, frame)
                         .At(span, "ranks would wait here for others that are not in their group"));
    return std::nullopt;
  }
  reporter_.Report(Error(Code::kE0204, "argument `group` is a group of ranks")
                       .At(given.expression->span, absl::StrCat("this is ", DescribeType(given.value, graph())))
                       .Help(absl::StrCat("name axes of the mesh: `group(\"", graph().rank_axes.front().name, "\")`")));
  return std::nullopt;
}

std::optional<std::string> Evaluator::ReductionArgument(const Given& given) {
  if (given.expression == nullptr) return "sum";
  static const auto& kWords = *new std::vector<std::string>{"sum", "max", "min", "prod", "mean"};
  const auto* name = std::get_if<syntax::Name>(&given.expression->kind);
  for (const std::string& word : kWords) {
    if (name != nullptr && name->text == word) return word;
  }
  Diagnostic error = Error(Code::kE0204, "unknown reduction")
                         .At(given.expression->span, absl::StrCat("expected ", QuotedList(kWords, "or")));
  if (auto nearest = name ? NearestName(name->text, kWords) : std::nullopt) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  reporter_.Report(std::move(error));
  return std::nullopt;
}

Value Evaluator::AddCollective(Primitive primitive, const Given& x, OpId tensor, RankAxisSet group,
                               Attributes attributes, Span span, const Frame& frame) {
  const std::vector<RankAxis>& axes = graph().rank_axes;
  attributes.Set(attribute::kGroup, GroupText(axes, group));
  attributes.Set(attribute::kSize, GroupSize(axes, group));
  const Value result =
      AddOp(*ParseOpKind(SignatureOf(primitive).callee), {{x.expression, tensor}}, std::move(attributes), span, frame);
  if (result.is_tensor()) expansion_.rank_places[result.as_tensor()] = span;
  return result;
}

Value Evaluator::Reduce(const GivenArguments& given, OpId x, RankAxisSet group, Span span, Frame& frame) {
  const std::optional<std::string> reduction = ReductionArgument(given.at(kReduction));
  if (!reduction) return Value{Poison()};
  const bool is_mean = *reduction == "mean";
  const Value result = AddCollective(Primitive::kAllReduce, given.at("x"), x, group,
                                     {{attribute::kReduction, is_mean ? std::string("sum") : *reduction}}, span, frame);
  if (!is_mean || result.is_poison()) return result;
  const double members = static_cast<double>(GroupSize(graph().rank_axes, group));
  return AddOp(OpKind::kScale, {{given.at("x").expression, result.as_tensor()}}, {{attribute::kFactor, 1.0 / members}},
               span, frame);
}

Value Evaluator::Collect(Primitive primitive, const syntax::Call& call, Span span, Frame& frame) {
  const auto given = ReadArguments(primitive, call, span, frame);
  if (!given) return Value{Poison()};
  const auto x = TensorArgument(given->at("x"), "x", primitive);
  const auto group = GroupArgument(given->at("group"), call.callee->span, frame);
  if (!x || !group) return Value{Poison()};
  const int first = static_cast<int>(graph().ops.size());
  const int64_t rank = builder_.type(*x).rank();
  bool ok = true;
  const auto axis = [&](const std::string& name) -> int64_t {
    const auto number = IntArgument(given->at(name), name, 0, Code::kE0702, call.callee->span, frame);
    const syntax::Expression* expression = given->at(name).expression;
    const auto place =
        number ? AxisArgument(expression ? *expression : *call.callee, Value{*number}, rank) : std::nullopt;
    ok &= place.has_value();
    return static_cast<int64_t>(place.value_or(0));
  };
  Attributes attributes;
  if (primitive == Primitive::kAllGather || primitive == Primitive::kReduceScatter) {
    attributes.Set(attribute::kAxis, axis("axis"));
  } else if (primitive == Primitive::kAllToAll) {
    attributes.Set(attribute::kSplitAxis, axis("split"));
    attributes.Set(attribute::kConcatAxis, axis("concat"));
  } else if (primitive == Primitive::kBroadcast) {
    const auto root = IntArgument(given->at("root"), "root", 0, Code::kE0703, call.callee->span, frame);
    const int64_t members = GroupSize(graph().rank_axes, *group);
    if (root && (*root < 0 || *root >= members)) {
      reporter_.Report(Error(Code::kE0709, absl::StrCat("member ", *root, " of a group of ", Plural(members, "rank")))
                           .At(given->at("root").expression->span, absl::StrCat("members are 0 to ", members - 1)));
      ok = false;
    }
    ok &= root.has_value();
    attributes.Set(attribute::kRoot, root.value_or(0));
  }
  if (!ok) return Value{Poison()};
  const Value result = primitive == Primitive::kAllReduce
                           ? Reduce(*given, *x, *group, span, frame)
                           : AddCollective(primitive, given->at("x"), *x, *group, std::move(attributes), span, frame);
  last_operation_ = {span, SignatureOf(primitive).callee, first, static_cast<int>(graph().ops.size()), false};
  return result;
}

// `group("dp", "tp")`: names of axes of the mesh, in any order.
Value Evaluator::MakeGroup(const syntax::Call& call, Span span, Frame& frame) {
  if (!MatchArguments(SignatureOf(Primitive::kGroup), call.arguments, span, reporter_)) return Value{Poison()};
  const std::vector<RankAxis>& axes = graph().rank_axes;
  std::vector<std::string> names;
  for (const RankAxis& axis : axes) names.push_back(axis.name);
  GroupValue group;
  for (const syntax::Argument& argument : call.arguments) {
    const Value value = Evaluate(*argument.value, frame);
    if (value.is_poison()) return value;
    const auto* name = std::get_if<std::string>(&value.kind);
    if (name == nullptr) {
      reporter_.Report(Error(Code::kE0204, "a group names axes of the mesh")
                           .At(argument.span, absl::StrCat("this is ", DescribeType(value, graph())))
                           .Note(absl::StrCat("axes are ", QuotedList(names, "and"))));
      return Value{Poison()};
    }
    const RankAxisSet before = group.axes;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].name == *name) group.axes = group.axes | RankAxisSet{uint64_t{1} << i};
    }
    if (group.axes == before) {
      Diagnostic error = Error(Code::kE0310, absl::StrCat("unknown mesh axis `", *name, "`"))
                             .At(argument.span, absl::StrCat("axes are ", QuotedList(names, "and")));
      const bool twice = std::find(names.begin(), names.end(), *name) != names.end();
      if (twice)
        error = Error(Code::kE0308, absl::StrCat("mesh axis `", *name, "` is used twice in one group"))
                    .At(argument.span, "used again here");
      reporter_.Report(std::move(error));
      return Value{Poison()};
    }
  }
  return Value{group};
}

// `size(g)`: how many ranks there are in a group; `index(g)`: the rank's number in its group.
Value Evaluator::OfGroup(Primitive primitive, const syntax::Call& call, Span span, Frame& frame) {
  const auto given = ReadArguments(primitive, call, span, frame);
  const auto group = given ? GroupArgument(given->at("group"), call.callee->span, frame) : std::nullopt;
  if (!group) return Value{Poison()};
  const std::vector<RankAxis>& axes = graph().rank_axes;
  if (primitive == Primitive::kSize) return Value{GroupSize(axes, *group)};
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < world(); ++rank) ranks.emplace_back().kind = GroupIndex(axes, *group, rank);
  return PerRank(std::move(ranks)).value_or(Value{Poison()});
}

}  // namespace cleave::frontend

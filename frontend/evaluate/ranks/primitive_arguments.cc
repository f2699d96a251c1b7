#include "frontend/evaluate/ranks/primitive_arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/arguments/arguments.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/evaluate/types/types.h"

namespace cleave::frontend {

std::optional<PrimitiveArguments> ReadArguments(Primitive primitive, const CallSite& site, const Context& context) {
  const auto& [call, span, frame] = site;
  const Signature signature = SignatureOf(primitive);
  const auto matched = MatchArguments(signature, call.arguments, span, context.reporter);
  if (!matched) return std::nullopt;
  PrimitiveArguments arguments;
  bool ok = true;
  for (size_t i = 0; i < matched->size(); ++i) {
    const std::string& name = signature.arguments[i].name;
    PrimitiveArgument& given = arguments[name];
    if ((*matched)[i] == nullptr) continue;
    given.expression = &*(*matched)[i]->value;
    if (name == kReduction) continue;
    given.value = context.Evaluate(*given.expression, frame);
    ok &= !given.value.is_poison();
  }
  if (!ok) return std::nullopt;
  return arguments;
}

std::optional<ir::OpId> TensorArgument(const PrimitiveArgument& given, const std::string& name, Primitive primitive,
                                       const Context& context) {
  if (given.value.is_tensor()) return given.value.as_tensor();
  const Signature signature = SignatureOf(primitive);
  context.reporter.Report(
      Error(Code::kE0204, absl::StrCat("argument `", name, "` of `", signature.callee, "` is a tensor"))
          .At(given.expression->span, absl::StrCat("this is ", DescribeType(given.value, context.graph())))
          .Note(absl::StrCat("the signature is `", signature.ToString(), "`")));
  return std::nullopt;
}

std::optional<int64_t> IntArgument(const PrimitiveArgument& given, const std::string& name, int64_t otherwise,
                                   Code differs, const CallSite& site, const Context& context) {
  if (given.expression == nullptr) return otherwise;
  if (given.value.is_int()) return given.value.as_int();
  if (given.value.is_per_rank()) {
    context.reporter.Report(
        DifferenceBetweenRanks(differs, absl::StrCat("`", name, "` differs between ranks"), *given.expression,
                               given.value, site.frame.scope, context.graph())
            .At(site.call.callee->span, "all ranks of a group call this together, with the same arguments"));
  } else {
    context.reporter.Report(
        Error(Code::kE0204, absl::StrCat("argument `", name, "` is an int"))
            .At(given.expression->span, absl::StrCat("this is ", DescribeType(given.value, context.graph()))));
  }
  return std::nullopt;
}

std::optional<ir::RankAxisSet> GroupArgument(const PrimitiveArgument& given, const CallSite& site,
                                             const Context& context) {
  if (given.expression == nullptr) return ir::AllAxes(context.graph().rank_axes);
  if (const auto* group = std::get_if<GroupValue>(&given.value.kind)) return group->axes;
  if (given.value.is_per_rank() && std::holds_alternative<GroupValue>(OnRank(given.value, 0).kind)) {
    context.reporter.Report(
        DifferenceBetweenRanks(Code::kE0703, "the group differs between ranks", *given.expression, given.value,
                               site.frame.scope, context.graph())
            .At(site.call.callee->span, "ranks would wait here for others that are not in their group"));
    return std::nullopt;
  }
  context.reporter.Report(
      Error(Code::kE0204, "argument `group` is a group of ranks")
          .At(given.expression->span, absl::StrCat("this is ", DescribeType(given.value, context.graph())))
          .Help(absl::StrCat("name axes of the mesh: `group(\"", context.graph().rank_axes.front().name, "\")`")));
  return std::nullopt;
}

std::optional<std::string> ReductionArgument(const PrimitiveArgument& given, const Context& context) {
  if (given.expression == nullptr) return "sum";
  static const auto& kWords = *new std::vector<std::string>{"sum", "max", "min", "prod", "mean"};
  const auto* name = std::get_if<dsl::syntax::Name>(&given.expression->kind);
  for (const std::string& word : kWords) {
    if (name != nullptr && name->text == word) return word;
  }
  Diagnostic error = Error(Code::kE0204, "unknown reduction")
                         .At(given.expression->span, absl::StrCat("expected ", QuotedList(kWords, "or")));
  if (auto nearest = name ? NearestName(name->text, kWords) : std::nullopt) {
    error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
  }
  context.reporter.Report(std::move(error));
  return std::nullopt;
}

std::optional<std::vector<int64_t>> RanksArgument(const dsl::syntax::Expression& expression, const Value& value,
                                                  const std::string& name, const Context& context) {
  if (!OnRank(value, 0).is_int()) {
    context.reporter.Report(Error(Code::kE0204, absl::StrCat("`", name, "` names a rank"))
                                .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph())))
                                .Note("an int, which may differ between ranks; -1 is nobody"));
    return std::nullopt;
  }
  const int64_t world = ir::RankCount(context.graph().rank_axes);
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < world; ++rank) {
    const int64_t other = OnRank(value, rank).as_int();
    ranks.push_back(other);
    if (other >= -1 && other < world) continue;
    Diagnostic error = Error(Code::kE0709, absl::StrCat("rank ", other, " of ", Plural(world, "rank")))
                           .At(expression.span, value.is_per_rank() ? absl::StrCat("this is ", other, " on rank ", rank)
                                                                    : absl::StrCat("this is ", other))
                           .Note(absl::StrCat("ranks are 0 to ", world - 1, ", and -1 is nobody"));
    const std::string text = ExpressionText(expression);
    error.help.push_back(other >= world
                             ? absl::StrCat("`choose(", text, " < world, ", text, ", -1)`, or `(", text, ") % world`")
                             : absl::StrCat("`choose(", text, " < 0, -1, ", text, ")`"));
    context.reporter.Report(std::move(error));
    return std::nullopt;
  }
  return ranks;
}

std::optional<ir::Shape> ShapeArgument(const dsl::syntax::Expression& expression, const Value& value, Frame& frame,
                                       const Context& context) {
  if (value.is_tensor()) return context.ops.type(value.as_tensor()).shape;
  if (DiffersBetweenRanks(value)) {
    context.reporter.Report(ShapeDiffersBetweenRanks("a shape that differs between ranks", expression, value,
                                                     frame.scope, context.graph()));
    return std::nullopt;
  }
  const auto sizes = ToInts(value);
  if (!sizes) {
    context.reporter.Report(Error(Code::kE0204, "a shape is a tuple of ints")
                                .At(expression.span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    return std::nullopt;
  }
  const ir::Shape& shape = *sizes;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 1; })) {
    context.reporter.Report(Error(Code::kE0207, "a dimension must be positive")
                                .At(expression.span, absl::StrCat("the shape is ", ir::ShapeText(shape))));
    return std::nullopt;
  }
  if (!CheckElementCount({ir::DType::kF32, shape}, expression.span, context.reporter)) return std::nullopt;
  return shape;
}

const dsl::syntax::Expression& ElementOf(const dsl::syntax::Expression& expression, size_t i) {
  const auto* tuple = std::get_if<dsl::syntax::Tuple>(&expression.kind);
  return tuple != nullptr && i < tuple->elements.size() ? *tuple->elements[i].value : expression;
}

}  // namespace cleave::frontend

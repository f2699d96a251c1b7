// `x[a .. b, i]`: a slice, and a reshape that drops the dimensions that an index picks one element of. Where a range
// begins may differ between ranks, how long it is may not.
#include "absl/strings/str_cat.h"
#include "frontend/evaluate/evaluator.h"

namespace cleave::frontend {

Value Evaluator::EvaluateIndex(const syntax::Index& index, Span span, Frame& frame) {
  const Value base = Evaluate(*index.base, frame);
  if (base.is_tuple()) return TupleElement(index, std::get<TupleValue>(base.kind), frame);
  bool poisoned = base.is_poison();
  if (!poisoned && !base.is_tensor()) {
    reporter_.Report(Error(Code::kE0214, "only a tensor or a tuple has subscripts")
                         .At(index.base->span, absl::StrCat("this is ", DescribeType(base, graph()))));
    poisoned = true;
  }
  const Shape shape = poisoned ? Shape() : builder_.type(base.as_tensor()).shape;
  if (!poisoned && index.subscripts.size() > shape.size()) {
    reporter_.Report(
        Error(Code::kE0214, absl::StrCat("more subscripts than the tensor has dimensions"))
            .At(index.subscripts[shape.size()].span, absl::StrCat("the tensor is ", DescribeType(base, graph()))));
    poisoned = true;
  }
  std::vector<Range> ranges;
  for (size_t d = 0; d < index.subscripts.size(); ++d) {
    // Of what has no such dimension only the mistakes within the subscript count.
    const Value whole = poisoned || d >= shape.size() ? Value{Poison()} : base;
    const auto range = RangeOf(index.subscripts[d], d, whole, frame);
    poisoned |= !range.has_value();
    if (range) ranges.push_back(*range);
  }
  if (poisoned) return Value{Poison()};

  const int first = static_cast<int>(builder_.graph().ops.size());
  const Value result = TakeRanges({&*index.base, base.as_tensor()}, ranges, span, frame);
  last_operation_ = {span, "[…]", first, static_cast<int>(builder_.graph().ops.size()), false};
  return result;
}

std::optional<Evaluator::Range> Evaluator::RangeOf(const syntax::Subscript& subscript, size_t dimension,
                                                   const Value& base, Frame& frame) {
  bool ok = !base.is_poison();
  const int64_t size = ok ? builder_.type(base.as_tensor()).shape[dimension] : 1;
  const auto bound = [&](const std::optional<syntax::Box<syntax::Expression>>& expression, int64_t otherwise) {
    if (!expression) return Value{otherwise};
    Value value = Evaluate(**expression, frame);
    const bool is_int = !value.is_poison() && OnRank(value, 0).is_int();
    if (!is_int && !value.is_poison()) {
      reporter_.Report(Error(Code::kE0204, "a subscript must be an int")
                           .At((*expression)->span, absl::StrCat("this is ", DescribeType(value, graph()))));
    }
    ok &= is_int;
    return value;
  };
  const Value begin = bound(subscript.begin, 0);
  const Value end = subscript.is_range ? bound(subscript.end, size) : Value{Poison()};
  if (!ok) return std::nullopt;
  return CheckRange(subscript, dimension, begin, end, base, frame);
}

// `end`: of an index Poison.
std::optional<Evaluator::Range> Evaluator::CheckRange(const syntax::Subscript& subscript, size_t dimension,
                                                      const Value& begin, const Value& end, const Value& base,
                                                      Frame& frame) {
  const int64_t size = builder_.type(base.as_tensor()).shape[dimension];
  const bool differs = begin.is_per_rank() || end.is_per_rank();
  std::vector<Value> sizes;
  for (int64_t rank = 0; rank < (differs ? world() : 1); ++rank) {
    const int64_t low = OnRank(begin, rank).as_int();
    const int64_t high = subscript.is_range ? OnRank(end, rank).as_int() : low < size ? low + 1 : low;
    sizes.emplace_back().kind = high - low;
    if (low >= 0 && high <= size && low < high) continue;
    const std::string what = subscript.is_range ? absl::StrCat("elements ", low, " to ", high, ", the end excluded,")
                                                : absl::StrCat("element ", low);
    const bool is_empty = subscript.is_range && low >= high && low >= 0 && high <= size;
    Diagnostic error = Error(Code::kE0214, absl::StrCat(what, subscript.is_range ? " are" : " is", " not in dimension ",
                                                        dimension, " of size ", size))
                           .At(subscript.span, is_empty ? "the range is empty"
                                                        : absl::StrCat("the tensor is ", DescribeType(base, graph())));
    if (differs) error.notes.push_back(absl::StrCat("on rank ", rank));
    reporter_.Report(std::move(error));
    return std::nullopt;
  }
  const Value length = *PerRank(std::move(sizes));
  if (!length.is_per_rank()) return Range{begin, length.as_int(), !subscript.is_range};
  const syntax::Expression& bound = begin.is_per_rank() ? **subscript.begin : **subscript.end;
  Diagnostic error = Differs(Code::kE0702, "a slice whose length differs between ranks", bound,
                             begin.is_per_rank() ? begin : end, frame);
  error.labels.front() = {subscript.span, absl::StrCat("the length is ", FirstDifference(length, graph()))};
  reporter_.Report(std::move(error).Note("all ranks run one program, on tensors of the same shapes"));
  return std::nullopt;
}

// Dimensions beyond `ranges` are whole.
Value Evaluator::TakeRanges(const Operand& tensor, const std::vector<Range>& ranges, Span span, const Frame& frame) {
  Value result{TensorValue{tensor.op}};
  const Shape shape = builder_.type(tensor.op).shape;
  std::vector<int64_t> begin(shape.size(), 0);
  std::vector<int64_t> end = shape;
  std::vector<int64_t> kept = shape;
  bool drops = false;
  for (size_t d = 0; d < ranges.size(); ++d) {
    kept[d] = ranges[d].size;
    drops |= ranges[d].dropped;
    if (!ranges[d].begin.is_int()) continue;
    begin[d] = ranges[d].begin.as_int();
    end[d] = begin[d] + ranges[d].size;
  }
  if (end != shape || begin != std::vector<int64_t>(shape.size(), 0)) {
    result = AddOp(OpKind::kSlice, {tensor}, {{attribute::kBegin, begin}, {attribute::kEnd, end}}, span, frame);
  }
  for (size_t d = 0; d < ranges.size() && !result.is_poison(); ++d) {
    if (!ranges[d].begin.is_per_rank()) continue;
    std::vector<int64_t> starts;
    for (const Value& start : ranges[d].begin.as_per_rank()) starts.push_back(start.as_int());
    result = AddOp(
        OpKind::kRankSlice, {{tensor.expression, result.as_tensor()}},
        {{attribute::kAxis, static_cast<int64_t>(d)}, {attribute::kSize, ranges[d].size}, {attribute::kStarts, starts}},
        span, frame);
    if (result.is_tensor()) expansion_.rank_places[result.as_tensor()] = span;
  }
  if (!drops || result.is_poison()) return result;
  for (size_t d = ranges.size(); d-- > 0;) {
    if (ranges[d].dropped) kept.erase(kept.begin() + static_cast<int64_t>(d));
  }
  return AddOp(OpKind::kReshape, {{tensor.expression, result.as_tensor()}}, {{attribute::kShape, kept}}, span, frame);
}

}  // namespace cleave::frontend

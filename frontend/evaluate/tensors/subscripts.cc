#include "frontend/evaluate/tensors/subscripts.h"

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/statics/per_rank.h"

namespace cleave::frontend {

namespace {

// The elements of one dimension that a subscript selects: `size` elements from `begin` on, which may differ between
// ranks.
struct Range {
  Value begin;
  int64_t size = 0;
  bool dropped = false;  // By an index: the dimension is dropped.
  int64_t step = 1;      // Of these, each so many-th is taken.
};

// A place that is written with a minus in front, as in `x[-1]` and `x[..-1]`, is counted from the end of `size`
// elements. One that only happens to be negative is a mistake, as `i - 1` in the first pass of a loop.
Value FromFront(Value place, const dsl::syntax::Expression& expression, int64_t size) {
  const bool is_from_end =
      std::holds_alternative<dsl::syntax::Negate>(expression.kind) && place.is_int() && place.as_int() < 0;
  return is_from_end ? Value{place.as_int() + size} : place;
}

Value TupleElement(const dsl::syntax::Index& index, const TupleValue& tuple, Frame& frame, const Context& context) {
  const dsl::syntax::Subscript& subscript = index.subscripts.front();
  if (index.subscripts.size() > 1 || subscript.is_range) {
    context.reporter.Report(Error(Code::kE0214, "an element of a tuple has one number")
                                .At(subscript.span, "expected an index, counted from 0"));
    return Value{Poison()};
  }
  std::optional<int64_t> place = context.EvaluateInt(**subscript.begin, "an index", frame);
  if (!place) return Value{Poison()};
  const int64_t size = static_cast<int64_t>(tuple.elements.size());
  place = FromFront(Value{*place}, **subscript.begin, size).as_int();
  if (*place >= 0 && *place < size) return tuple.elements[static_cast<size_t>(*place)];
  context.reporter.Report(Error(Code::kE0214, absl::StrCat("element ", *place, " of a tuple of ", size))
                              .At(subscript.span, absl::StrCat("elements are 0 to ", size - 1)));
  return Value{Poison()};
}

// `end`: Poison for an index.
std::optional<Range> CheckRange(const dsl::syntax::Subscript& subscript, size_t dimension, const Value& begin,
                                const Value& end, const Value& base, Frame& frame, const Context& context) {
  const int64_t size = context.ops.type(base.as_tensor()).shape[dimension];
  const bool differs = begin.is_per_rank() || end.is_per_rank();
  std::vector<Value> sizes;
  for (int64_t rank = 0; rank < (differs ? ir::RankCount(context.graph().rank_axes) : 1); ++rank) {
    const int64_t low = OnRank(begin, rank).as_int();
    const int64_t high = subscript.is_range ? OnRank(end, rank).as_int() : low < size ? low + 1 : low;
    sizes.emplace_back().kind = high - low;
    if (low >= 0 && high <= size && low < high) continue;
    const std::string what = subscript.is_range ? absl::StrCat("elements ", low, " to ", high, ", the end excluded,")
                                                : absl::StrCat("element ", low);
    const bool is_empty = subscript.is_range && low >= high && low >= 0 && high <= size;
    Diagnostic error =
        Error(Code::kE0214, absl::StrCat(what, subscript.is_range ? " are" : " is", " not in dimension ", dimension,
                                         " of size ", size))
            .At(subscript.span,
                is_empty ? "the range is empty" : absl::StrCat("the tensor is ", DescribeType(base, context.graph())));
    if (differs) error.notes.push_back(absl::StrCat("on rank ", rank));
    context.reporter.Report(std::move(error));
    return std::nullopt;
  }
  const Value length = *PerRank(std::move(sizes));
  if (!length.is_per_rank()) return Range{begin, length.as_int(), !subscript.is_range};
  const dsl::syntax::Expression& bound = begin.is_per_rank() ? **subscript.begin : **subscript.end;
  Diagnostic error = ShapeDiffersBetweenRanks("a slice whose length differs between ranks", bound,
                                              begin.is_per_rank() ? begin : end, frame.scope, context.graph());
  error.labels.front() = {subscript.span, absl::StrCat("the length is ", FirstDifference(length, context.graph()))};
  context.reporter.Report(std::move(error));
  return std::nullopt;
}

std::optional<Range> RangeOf(const dsl::syntax::Subscript& subscript, size_t dimension, const Value& base, Frame& frame,
                             const Context& context) {
  bool ok = !base.is_poison();
  const int64_t size = ok ? context.ops.type(base.as_tensor()).shape[dimension] : 1;
  const auto bound = [&](const std::optional<dsl::syntax::Box<dsl::syntax::Expression>>& expression,
                         int64_t otherwise) {
    if (!expression) return Value{otherwise};
    Value value = context.Evaluate(**expression, frame);
    const bool is_int = !value.is_poison() && OnRank(value, 0).is_int();
    if (!is_int && !value.is_poison()) {
      context.reporter.Report(
          Error(Code::kE0204, "a subscript must be an int")
              .At((*expression)->span, absl::StrCat("this is ", DescribeType(value, context.graph()))));
    }
    ok &= is_int;
    return is_int ? FromFront(std::move(value), **expression, size) : value;
  };
  const Value begin = bound(subscript.begin, 0);
  const Value end = subscript.is_range ? bound(subscript.end, size) : Value{Poison()};
  int64_t step = 1;
  if (subscript.step) {
    const std::optional<int64_t> given = context.EvaluateInt(**subscript.step, "a step", frame);
    ok &= given.has_value();
    step = given.value_or(1);
    if (step < 1) {
      context.reporter.Report(
          Error(Code::kE0214, absl::StrCat("a step of ", step)).At((*subscript.step)->span, "a step is at least 1"));
      ok = false;
    }
  }
  if (!ok) return std::nullopt;
  std::optional<Range> range = CheckRange(subscript, dimension, begin, end, base, frame, context);
  if (range) range->step = step;
  return range;
}

// Of dimension `d` each `step`-th element, beginning with the first: the dimension becomes (parts, step), and the first
// element of each part is taken. Zeros fill up the last part.
Value TakeSteps(Value x, size_t d, int64_t step, const Origin& origin, OpWriter& ops) {
  ir::Shape shape = ops.type(x.as_tensor()).shape;
  const int64_t parts = (shape[d] + step - 1) / step;
  if (parts * step > shape[d]) {
    std::vector<int64_t> none(shape.size(), 0), after = none;
    after[d] = parts * step - shape[d];
    x = ops.AddOp(ir::OpKind::kPad, {{nullptr, x.as_tensor()}},
                  {{ir::attribute::kBefore, none}, {ir::attribute::kAfter, after}}, origin);
    if (x.is_poison()) return x;
  }
  ir::Shape taken = shape;
  taken[d] = parts;
  shape[d] = parts;
  shape.insert(shape.begin() + static_cast<int64_t>(d) + 1, step);
  x = ops.AddOp(ir::OpKind::kReshape, {{nullptr, x.as_tensor()}}, {{ir::attribute::kShape, shape}}, origin);
  if (x.is_poison()) return x;
  std::vector<int64_t> end = shape;
  end[d + 1] = 1;
  x = ops.AddOp(ir::OpKind::kSlice, {{nullptr, x.as_tensor()}},
                {{ir::attribute::kBegin, std::vector<int64_t>(shape.size(), 0)}, {ir::attribute::kEnd, end}}, origin);
  if (x.is_poison()) return x;
  return ops.AddOp(ir::OpKind::kReshape, {{nullptr, x.as_tensor()}}, {{ir::attribute::kShape, taken}}, origin);
}

// Dimensions beyond `ranges` are whole.
Value TakeRanges(const Operand& tensor, const std::vector<Range>& ranges, const Origin& origin, OpWriter& ops) {
  Value result{TensorValue{tensor.op}};
  const ir::Shape shape = ops.type(tensor.op).shape;
  std::vector<int64_t> begin(shape.size(), 0);
  std::vector<int64_t> end = shape;
  std::vector<int64_t> kept = shape;
  bool drops = false;
  for (size_t d = 0; d < ranges.size(); ++d) {
    kept[d] = (ranges[d].size + ranges[d].step - 1) / ranges[d].step;
    drops |= ranges[d].dropped;
    if (!ranges[d].begin.is_int()) continue;
    begin[d] = ranges[d].begin.as_int();
    end[d] = begin[d] + ranges[d].size;
  }
  if (end != shape || begin != std::vector<int64_t>(shape.size(), 0)) {
    result =
        ops.AddOp(ir::OpKind::kSlice, {tensor}, {{ir::attribute::kBegin, begin}, {ir::attribute::kEnd, end}}, origin);
  }
  for (size_t d = 0; d < ranges.size() && !result.is_poison(); ++d) {
    if (!ranges[d].begin.is_per_rank()) continue;
    std::vector<int64_t> starts;
    for (const Value& start : ranges[d].begin.as_per_rank()) starts.push_back(start.as_int());
    result = ops.AddOpOfRanks(ir::OpKind::kRankSlice, {{tensor.expression, result.as_tensor()}},
                              {{ir::attribute::kAxis, static_cast<int64_t>(d)},
                               {ir::attribute::kSize, ranges[d].size},
                               {ir::attribute::kStarts, starts}},
                              origin);
  }
  for (size_t d = 0; d < ranges.size() && !result.is_poison(); ++d) {
    // A range that is no longer than a step has one element.
    if (ranges[d].step == 1 || ranges[d].size == 1) continue;
    result = TakeSteps(result, d, ranges[d].step, origin, ops);
  }
  if (!drops || result.is_poison()) return result;
  for (size_t d = ranges.size(); d-- > 0;) {
    if (ranges[d].dropped) kept.erase(kept.begin() + static_cast<int64_t>(d));
  }
  return ops.AddOp(ir::OpKind::kReshape, {{tensor.expression, result.as_tensor()}}, {{ir::attribute::kShape, kept}},
                   origin);
}

}  // namespace

Value EvaluateIndex(const dsl::syntax::Index& index, Span span, Frame& frame, const Context& context) {
  const Value base = context.Evaluate(*index.base, frame);
  if (base.is_tuple()) return TupleElement(index, std::get<TupleValue>(base.kind), frame, context);
  bool poisoned = base.is_poison();
  if (!poisoned && !base.is_tensor()) {
    context.reporter.Report(Error(Code::kE0214, "only a tensor or a tuple has subscripts")
                                .At(index.base->span, absl::StrCat("this is ", DescribeType(base, context.graph()))));
    poisoned = true;
  }
  const ir::Shape shape = poisoned ? ir::Shape() : context.ops.type(base.as_tensor()).shape;
  if (!poisoned && index.subscripts.size() > shape.size()) {
    context.reporter.Report(Error(Code::kE0214, absl::StrCat("more subscripts than the tensor has dimensions"))
                                .At(index.subscripts[shape.size()].span,
                                    absl::StrCat("the tensor is ", DescribeType(base, context.graph()))));
    poisoned = true;
  }
  std::vector<Range> ranges;
  for (size_t d = 0; d < index.subscripts.size(); ++d) {
    // If there is no such dimension, only the mistakes within the subscript are reported.
    const Value whole = poisoned || d >= shape.size() ? Value{Poison()} : base;
    const auto range = RangeOf(index.subscripts[d], d, whole, frame, context);
    poisoned |= !range.has_value();
    if (range) ranges.push_back(*range);
  }
  if (poisoned) return Value{Poison()};

  const int first = context.ops.size();
  const Value result = TakeRanges({&*index.base, base.as_tensor()}, ranges, frame.At(span), context.ops);
  context.ops.EndOperation(span, "[…]", first);
  return result;
}

}  // namespace cleave::frontend

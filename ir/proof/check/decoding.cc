#include "ir/proof/check/decoding.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/conditioning.h"
#include "ir/proof/check/shrink.h"
#include "ir/proof/check/size_classes.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::ir {
namespace {

constexpr int64_t kNoTraining = 0;  // The step of what is not trained.

// The graph with small sizes, of which the sequence is the longest: it has a first, a last, and other places.
absl::StatusOr<Graph> Small(const Graph& graph, const DecodeOptions& options) {
  std::vector<Rule> rules;
  for (const Op& op : graph.ops) rules.push_back(RuleOf(graph, op));
  SizeClasses classes(graph, rules);
  constexpr int64_t kFewPlaces = 3;
  classes.AddCut(options.tokens, /*factor=*/1, kFewPlaces, kFewPlaces);
  classes.ChooseSizes();
  for (const Op& op : graph.ops) {
    Rule& rule = rules[static_cast<size_t>(op.id.value())];
    rule = classes.Resized(op.id, rule);
  }
  Graph small = graph;
  const std::vector<std::string> errors = ResizeGraph(rules, small);
  if (errors.empty()) return small;
  return absl::InternalError(absl::StrCat("the small model is not sound: ", absl::StrJoin(errors, "; ")));
}

// Elements [begin, begin + count) of a dimension.
Tensor Slices(const Tensor& x, size_t dimension, int64_t begin, int64_t count) {
  Shape shape = x.shape;
  shape[dimension] = count;
  Tensor result = Zeros(shape);
  const int64_t inner = ElementCount(Shape(shape.begin() + static_cast<int64_t>(dimension) + 1, shape.end()));
  const int64_t run = count * inner, stride = x.shape[dimension] * inner;
  for (int64_t i = 0; i < static_cast<int64_t>(result.values.size()); ++i) {
    result.values[static_cast<size_t>(i)] = x.values[static_cast<size_t>(i / run * stride + begin * inner + i % run)];
  }
  return result;
}

// A row of each tensor, one above the other.
Tensor Stacked(const std::vector<Tensor>& rows, Shape shape) {
  Tensor all{.shape = std::move(shape), .values = {}};
  for (const Tensor& row : rows) all.values.insert(all.values.end(), row.values.begin(), row.values.end());
  return all;
}

// The step on some places of sequences after others, one in each slot.
class Steps {
 public:
  // `models`: the sources of the model for each slot. What the step remembers begins with random values, as another
  // sequence may have left it: nothing of it may show.
  Steps(const Graph& model, const Decoding& decoding, const std::vector<SourceValues>& models, OpId tokens,
        uint64_t seed)
      : decoding_(decoding), sources_(RandomSources(decoding.graph, seed)) {
    for (const SourceValues& one : models) tokens_.push_back(one.at(tokens));
    for (const Op& op : decoding.graph.ops) {
      const bool is_given = op.kind == OpKind::kInput && ReadingOf(op.attributes) == InputReading::kOnce;
      if (op.kind == OpKind::kParameter || is_given) sources_[op.id] = models.front().at(*model.Find(op.name));
    }
  }

  // `first`: of the places in each slot.
  IdVector<OpId, Tensor> Run(const std::vector<int64_t>& first) {
    const Shape& shape = decoding_.graph.op(decoding_.places).type.shape;
    std::vector<Tensor> tokens, places;
    for (size_t slot = 0; slot < first.size(); ++slot) {
      tokens.push_back(Slices(tokens_[slot], 1, first[slot], shape[1]));
      places.push_back(Zeros({shape[1]}));
      std::iota(places.back().values.begin(), places.back().values.end(), static_cast<double>(first[slot]));
    }
    sources_[decoding_.tokens] = Stacked(tokens, shape);
    sources_[decoding_.places] = Stacked(places, shape);
    IdVector<OpId, Tensor> values = InterpretGraph(decoding_.graph, sources_, kNoTraining);
    for (const StateUpdate& update : decoding_.graph.updates) sources_[update.state] = values[update.value];
    return values;
  }

 private:
  const Decoding& decoding_;
  SourceValues sources_;
  std::vector<Tensor> tokens_;
};

// What one slot has of the value of the step.
Tensor OfSlot(const Counterpart& counterpart, const Tensor& value, size_t slot) {
  if (counterpart.is_shared) return value;
  Tensor own = Slices(value, 0, static_cast<int64_t>(slot), 1);
  own.shape.erase(own.shape.begin());
  return own;
}

// For each op of the model whether the step's value hangs on what is not remembered yet, that of later places: whether
// it differs where only that does. Only ops with a counterpart have places.
IdVector<OpId, char> LooksAhead(const Graph& model, const Decoding& decoding, const IdVector<OpId, Tensor>& values,
                                const IdVector<OpId, Tensor>& others) {
  IdVector<OpId, char> looks(model.ops.size(), 0);
  for (const Counterpart& one : decoding.counterparts) {
    looks[one.whole] = LargestDifference(values[one.step], values[one.step], others[one.step]).relative > kTolerance;
  }
  return looks;
}

// The op through which later places come into this one, which looks ahead.
OpId Cause(const Graph& model, const IdVector<OpId, char>& looks_ahead, OpId op) {
  for (;;) {
    const std::vector<OpId>& inputs = model.op(op).inputs;
    const auto earlier =
        std::find_if(inputs.begin(), inputs.end(), [&](OpId input) { return looks_ahead[input] != 0; });
    if (earlier == inputs.end()) return op;
    op = *earlier;
  }
}

}  // namespace

absl::StatusOr<std::optional<DecodeProblem>> CheckDecoding(const Graph& graph, const DecodeOptions& options) {
  absl::StatusOr<Graph> small = Small(graph, options);
  if (!small.ok()) return small.status();
  const int64_t time = small->op(options.tokens).type.shape[1];
  DecodeOptions few = options;
  few.places = std::min(options.places, time);
  few.slots = 2;
  const std::variant<Decoding, DecodeProblem> made = MakeDecoding(*small, few);
  if (const auto* problem = std::get_if<DecodeProblem>(&made)) return *problem;
  const Decoding& decoding = std::get<Decoding>(made);
  constexpr uint64_t kSeed = 1, kOtherSeed = 2;
  // The same parameters and other tokens in each slot.
  std::vector<SourceValues> models(static_cast<size_t>(few.slots), RandomSources(*small, kSeed));
  std::vector<IdVector<OpId, Tensor>> wholes;
  for (size_t slot = 0; slot < models.size(); ++slot) {
    if (slot > 0) models[slot][options.tokens] = RandomSources(*small, kSeed + slot + 1).at(options.tokens);
    wholes.push_back(InterpretGraph(*small, models[slot], kNoTraining));
  }
  const IdVector<OpId, char> hangs = HangOnRounding(*small, models.front(), kNoTraining);
  Steps steps(*small, decoding, models, options.tokens, kSeed);
  Steps others(*small, decoding, models, options.tokens, kOtherSeed);
  // The second slot is a step behind the first.
  for (int64_t next = 0; next < time + few.places; next += few.places) {
    std::vector<int64_t> first;
    for (int64_t slot = 0; slot < few.slots; ++slot) {
      first.push_back(std::clamp<int64_t>(next - slot * few.places, 0, time - few.places));
    }
    const IdVector<OpId, Tensor> values = steps.Run(first);
    const IdVector<OpId, char> looks_ahead = LooksAhead(*small, decoding, values, others.Run(first));
    if (looks_ahead[options.logits]) {
      return DecodeProblem{Cause(*small, looks_ahead, options.logits),
                           "looks at later places, which are not there yet"};
    }
    for (const Counterpart& one : decoding.counterparts) {
      // What looks ahead and is masked afterwards.
      if (looks_ahead[one.whole] || hangs[one.whole]) continue;
      for (size_t slot = 0; slot < first.size(); ++slot) {
        const Tensor& whole = wholes[slot][one.whole];
        const Tensor expected = Slices(whole, one.dimension, first[slot], few.places);
        const Tensor found = OfSlot(one, values[one.step], slot);
        const Difference difference = LargestDifference(whole, expected, found);
        if (difference.relative <= kTolerance) continue;
        return absl::InternalError(absl::StrCat("the step of `", small->op(one.whole).name, "` is wrong at place ",
                                                first[slot], " of slot ", slot, ": element ", difference.element,
                                                " is ", found.values[difference.element], ", the model gives ",
                                                expected.values[difference.element]));
      }
    }
  }
  return std::nullopt;
}

}  // namespace cleave::ir

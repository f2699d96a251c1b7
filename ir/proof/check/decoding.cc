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

// The step on some places of the sequence after others.
class Steps {
 public:
  // `whole`: the sources of the model. What the step remembers begins with random values, as another sequence may have
  // left it: nothing of it may show.
  Steps(const Graph& model, const Decoding& decoding, const SourceValues& whole, uint64_t seed)
      : decoding_(decoding), sources_(RandomSources(decoding.graph, seed)) {
    for (const Op& op : decoding.graph.ops) {
      if (op.kind == OpKind::kParameter) sources_[op.id] = whole.at(*model.Find(op.name));
    }
  }

  IdVector<OpId, Tensor> Run(const Tensor& tokens, int64_t first) {
    Tensor places = Zeros(decoding_.graph.op(decoding_.places).type.shape);
    std::iota(places.values.begin(), places.values.end(), static_cast<double>(first));
    sources_[decoding_.tokens] = Slices(tokens, 1, first, places.shape[0]);
    sources_[decoding_.places] = std::move(places);
    IdVector<OpId, Tensor> values = InterpretGraph(decoding_.graph, sources_, kNoTraining);
    for (const StateUpdate& update : decoding_.graph.updates) sources_[update.state] = values[update.value];
    return values;
  }

 private:
  const Decoding& decoding_;
  SourceValues sources_;
};

// For each op of the model whether the step's value hangs on what is not remembered yet, that of later places: whether
// it differs where only that does. Only ops with a counterpart have places.
IdVector<OpId, char> LooksAhead(const Graph& model, const Decoding& decoding, const IdVector<OpId, Tensor>& values,
                                const IdVector<OpId, Tensor>& others) {
  IdVector<OpId, char> looks(model.ops.size(), 0);
  for (const auto& [step, whole, dimension] : decoding.counterparts) {
    looks[whole] = LargestDifference(values[step], values[step], others[step]).relative > kTolerance;
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
  const std::variant<Decoding, DecodeProblem> made = MakeDecoding(*small, few);
  if (const auto* problem = std::get_if<DecodeProblem>(&made)) return *problem;
  const Decoding& decoding = std::get<Decoding>(made);
  constexpr uint64_t kSeed = 1, kOtherSeed = 2;
  const SourceValues sources = RandomSources(*small, kSeed);
  const IdVector<OpId, Tensor> whole = InterpretGraph(*small, sources, kNoTraining);
  const IdVector<OpId, char> hangs = HangOnRounding(*small, sources, kNoTraining);
  Steps steps(*small, decoding, sources, kSeed), others(*small, decoding, sources, kOtherSeed);
  for (int64_t next = 0; next < time; next += few.places) {
    const int64_t first = std::min(next, time - few.places);
    const IdVector<OpId, Tensor> values = steps.Run(sources.at(options.tokens), first);
    const IdVector<OpId, char> looks_ahead =
        LooksAhead(*small, decoding, values, others.Run(sources.at(options.tokens), first));
    if (looks_ahead[options.logits]) {
      return DecodeProblem{Cause(*small, looks_ahead, options.logits),
                           "looks at later places, which are not there yet"};
    }
    for (const auto& [step, op, dimension] : decoding.counterparts) {
      // What looks ahead and is masked afterwards.
      if (looks_ahead[op] || hangs[op]) continue;
      const Tensor expected = Slices(whole[op], dimension, first, few.places);
      const Difference difference = LargestDifference(whole[op], expected, values[step]);
      if (difference.relative <= kTolerance) continue;
      return absl::InternalError(absl::StrCat(
          "the step of `", small->op(op).name, "` is wrong at place ", first, ": element ", difference.element, " is ",
          values[step].values[difference.element], ", the model gives ", expected.values[difference.element]));
    }
  }
  return std::nullopt;
}

}  // namespace cleave::ir

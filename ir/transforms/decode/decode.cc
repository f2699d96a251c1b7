// Reading guide: Decoder makes the step of one sequence: FindTimes goes forward, Plan backward and Build forward again.
// PerPlace says whether an op can be computed at the places of a step, and what it then reads. InSlots makes the step
// of several sequences of it. OfOneDocument goes before all of it.
#include "ir/transforms/decode/decode.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::ir {
namespace {

// Where time is in a dimension, which may be compound: the dimension has major * time * minor elements.
struct TimeDimension {
  size_t dimension = 0;
  int64_t major = 1;
  int64_t minor = 1;

  bool operator==(const TimeDimension&) const = default;
};

// The same in a factor of a rule.
struct TimeFactor {
  int factor = 0;
  int64_t major = 1;
  int64_t minor = 1;
};

// An op as it is computed at the places of a step.
struct PlaceForm {
  OpKind kind{};
  bool reads_places = false;  // The numbers of the places are a further input, or what follows from them.
  Attributes attributes = {};
  std::vector<std::optional<TimeDimension>> inputs = {};  // nullopt: read as a whole.
};

// How the step has a value.
struct Need {
  std::optional<TimeDimension> at;  // Computed at the places along this dimension.
  bool whole = false;
  bool is_kept = false;  // The whole is a state, into which the places go.
};

class Decoder {
 public:
  Decoder(const Graph& graph, const DecodeOptions& options)
      : graph_(graph),
        options_(options),
        time_(graph.op(options.tokens).type.shape[1]),
        varies_(graph.ops.size(), 0),
        times_(graph.ops.size()),
        needs_(graph.ops.size()),
        forms_(graph.ops.size()),
        at_(graph.ops.size()),
        whole_(graph.ops.size()) {}

  // With tokens [1, places] and places [places].
  std::variant<Decoding, DecodeProblem> Run() && {
    FindTimes();
    const TimeDimension wanted = {.dimension = 1};
    Ask(options_.logits, wanted);
    for (size_t i = graph_.ops.size(); i-- > 0 && !problem_.has_value();)
      Plan(graph_.op(OpId(static_cast<int64_t>(i))));
    if (!problem_.has_value()) Build();
    if (problem_.has_value()) return *std::move(problem_);
    return Decoding{.graph = std::move(builder_).Build(),
                    .tokens = *at_[options_.tokens],
                    .places = places_,
                    .logits = *At(options_.logits, wanted),
                    .counterparts = std::move(counterparts_)};
  }

 private:
  void Fail(OpId op, std::string why) {
    if (!problem_.has_value()) problem_ = DecodeProblem{op, std::move(why)};
  }

  // The factor in which the time of a dimension with these factors is; nullopt where it is in parts of several.
  std::optional<TimeFactor> FactorOf(const Rule& rule, const FactorList& factors, const TimeDimension& time) const {
    int64_t major = time.major;
    for (const int factor : factors) {
      const int64_t size = rule.factors[static_cast<size_t>(factor)].size;
      if (major % size == 0 && (major > 1 || size == 1)) {
        major /= size;
      } else if (size % (major * time_) == 0) {
        return TimeFactor{.factor = factor, .major = major, .minor = size / (major * time_)};
      } else {
        break;
      }
    }
    return std::nullopt;
  }

  // Where the factor's time is in a tensor with these dimensions: usually once or not at all.
  static std::vector<TimeDimension> DimensionsOf(const Rule& rule, const std::vector<FactorList>& dimensions,
                                                 const TimeFactor& time) {
    std::vector<TimeDimension> found;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const auto place = std::find(dimensions[d].begin(), dimensions[d].end(), time.factor);
      if (place == dimensions[d].end()) continue;
      TimeDimension one = {.dimension = d, .major = time.major, .minor = time.minor};
      for (auto f = dimensions[d].begin(); f != dimensions[d].end(); ++f) {
        if (f < place) one.major *= rule.factors[static_cast<size_t>(*f)].size;
        if (f > place) one.minor *= rule.factors[static_cast<size_t>(*f)].size;
      }
      found.push_back(one);
    }
    return found;
  }

  bool HasTime(OpId value, const TimeDimension& time) const {
    return std::find(times_[value].begin(), times_[value].end(), time) != times_[value].end();
  }

  void FindTimes() {
    times_[options_.tokens] = {{.dimension = 1}};
    varies_[options_.tokens] = 1;
    for (const Op& op : graph_.ops) {
      for (const OpId input : op.inputs) varies_[op.id] |= varies_[input];
      if (varies_[op.id] == 0 || op.inputs.empty()) continue;
      const Rule rule = RuleOf(graph_, op);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        for (const TimeDimension& time : times_[op.inputs[i]]) {
          if (rule.WindowOf(static_cast<int>(i), time.dimension) != nullptr) continue;
          const std::optional<TimeFactor> factor = FactorOf(rule, rule.inputs[i][time.dimension], time);
          if (!factor.has_value()) continue;
          for (const TimeDimension& own : DimensionsOf(rule, rule.output, *factor)) {
            if (PerPlace(op, own).has_value() && !HasTime(op.id, own)) times_[op.id].push_back(own);
          }
        }
      }
    }
  }

  // The op computed at the places along this dimension of its value, where each place of it depends on the same place
  // of the inputs or on all of an input.
  std::optional<PlaceForm> PerPlace(const Op& op, const TimeDimension& time) const {
    Rule rule = RuleOf(graph_, op);
    const std::optional<TimeFactor> factor = FactorOf(rule, rule.output[time.dimension], time);
    if (!factor.has_value()) return std::nullopt;
    Factor& resized = rule.factors[static_cast<size_t>(factor->factor)];
    if (resized.kind != FactorKind::kParallel || resized.fixed_size) return std::nullopt;
    PlaceForm form = {.kind = op.kind, .attributes = op.attributes};
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::vector<TimeDimension> own = DimensionsOf(rule, rule.inputs[i], *factor);
      if (own.size() > 1) return std::nullopt;
      const bool is_windowed = !own.empty() && rule.WindowOf(static_cast<int>(i), own[0].dimension) != nullptr;
      if (is_windowed) return std::nullopt;
      form.inputs.push_back(own.empty() ? std::nullopt : std::optional(own[0]));
    }
    // What no input has along this dimension is the same at all places only where it is repeated: the result of
    // scatter_add is other slices.
    const bool is_new =
        std::none_of(form.inputs.begin(), form.inputs.end(), [](const auto& own) { return own.has_value(); });
    if (is_new && op.kind != OpKind::kBroadcastTo) return std::nullopt;
    if (!TakesPlaces(op, time, form)) return std::nullopt;
    resized.size = factor->major * options_.places * factor->minor;
    const OpDefinition& definition = DefinitionOf(op);
    if (definition.resize != nullptr) form.attributes = definition.resize(op.attributes, rule);
    return form;
  }

  // False where the op depends on the place and has no form that reads the numbers of the places.
  static bool TakesPlaces(const Op& op, const TimeDimension& time, PlaceForm& form) {
    const size_t rank = op.type.shape.size();
    const bool is_simple = time.major == 1 && time.minor == 1;
    switch (op.kind) {
      case OpKind::kCausalMask:  // What a row sees is a range of keys.
        if (time.dimension + 2 != rank) return time.dimension + 2 < rank;
        form.kind = OpKind::kRangeMask;
        form.reads_places = true;
        form.attributes = {{attribute::kFill, op.attributes.Get(attribute::kFill)}};
        return is_simple && rank > 2;
      case OpKind::kRangeMask:  // Its ranges are those of the rows that are there.
        return time.dimension + 1 < rank;
      case OpKind::kRope:
        if (static_cast<size_t>(RopeAxis(op)) != time.dimension) return true;
        form.kind = OpKind::kRopeAt;
        form.reads_places = true;
        return is_simple;
      default:
        return !DefinitionOf(op).depends_on_place;
    }
  }

  static int64_t RopeAxis(const Op& op) {
    const int64_t axis = op.attributes.Get(attribute::kAxis);
    return axis < 0 ? axis + static_cast<int64_t>(op.type.shape.size()) : axis;
  }

  // Asks for a value at the places along a dimension, or for its whole.
  void Ask(OpId value, const std::optional<TimeDimension>& time) {
    Need& need = needs_[value];
    const bool is_free = time.has_value() && (!need.at.has_value() || need.at == time);
    if (is_free && (value == options_.tokens || IsComputedPerPlace(value, *time))) {
      need.at = time;
    } else {
      need.whole = true;  // The places are taken of it.
    }
  }

  // Whether the places of the value are computed one by one. Those of what does not depend on the tokens, such as the
  // cosines of rotary embeddings, need not be taken of a whole that each step would compute anew.
  bool IsComputedPerPlace(OpId value, const TimeDimension& time) const {
    const Op& op = graph_.op(value);
    const std::optional<PlaceForm> form = op.inputs.empty() ? std::nullopt : PerPlace(op, time);
    if (!form.has_value() || varies_[value] != 0) return form.has_value();
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::optional<TimeDimension>& own = form->inputs[i];
      if (!own.has_value() || IsComputedPerPlace(op.inputs[i], *own)) continue;
      if (!CanBeSliced(op.inputs[i], *own)) return false;
    }
    return true;
  }

  // Whether slices of the whole can be taken at the places.
  bool CanBeSliced(OpId value, const TimeDimension& time) const {
    return time.major == 1 && time.minor == 1 && graph_.op(value).type.dtype == DType::kF32;
  }

  void Plan(const Op& op) {
    Need& need = needs_[op.id];
    if (!need.at.has_value() && !need.whole) return;
    if (op.kind == OpKind::kInput) {
      const bool is_given = ReadingOf(op.attributes) == InputReading::kOnce;
      if (op.id != options_.tokens && !is_given) return Fail(op.id, "is data that no prompt gives");
      if (need.whole && !is_given) return Fail(op.id, "is needed at all places at once, by an op that mixes them");
      return;
    }
    if (need.whole && varies_[op.id] != 0) {
      const std::optional<TimeDimension> time = need.at.has_value() ? need.at : TimeOf(op.id);
      const bool can_be_kept = time.has_value() && time->major == 1 && time->minor == 1 && op.type.dtype == DType::kF32;
      need.is_kept = can_be_kept && !IsBetterBefore(op);
      if (need.is_kept) need.at = time;
    }
    if (need.at.has_value()) {
      forms_[op.id] = PerPlace(op, *need.at);
      const PlaceForm& form = *forms_[op.id];
      for (size_t i = 0; i < op.inputs.size(); ++i) Ask(op.inputs[i], form.inputs[i]);
    }
    if (need.whole && !need.is_kept) {
      for (const OpId input : op.inputs) Ask(input, std::nullopt);
    }
  }

  std::optional<TimeDimension> TimeOf(OpId value) const {
    return times_[value].empty() ? std::nullopt : std::optional(times_[value].front());
  }

  // Whether the value repeats elements of another, of which alone it is made, by any number of ops: that is smaller to
  // keep. So keys and values have the heads of their projections, not those of the queries. What only has another shape
  // is kept as it was before, so that nothing lies between the last repetition and who reads it.
  bool IsBetterBefore(const Op& op) const {
    const auto can_be_kept = [&](const Op& value) {
      const std::optional<TimeDimension> time = TimeOf(value.id);
      return time.has_value() && time->major == 1 && time->minor == 1;
    };
    for (const Op* of = &op;;) {
      const OpClass op_class = DefinitionOf(*of).op_class;
      if (op_class != OpClass::kMovement && op_class != OpClass::kElementwise) return false;
      const Op* from = nullptr;
      for (const OpId input : of->inputs) {
        if (varies_[input] == 0) continue;
        if (from != nullptr || graph_.op(input).type.dtype != DType::kF32) return false;
        from = &graph_.op(input);
      }
      if (from == nullptr) return false;
      if (of == &op && op.kind == OpKind::kReshape && can_be_kept(*from)) return true;
      if (from->type.elements() < op.type.elements() && can_be_kept(*from)) return true;
      of = from;
    }
  }

  void Build() {
    builder_ = GraphBuilder(Graph{.model = graph_.model, .file = graph_.file, .hash = graph_.hash});
    places_ = builder_.Add(OpKind::kInput, {},
                           {{attribute::kShape, Shape{options_.places}},
                            {attribute::kDType, DType::kI32},
                            {attribute::kData, std::string(kPlacesInput)}},
                           kPlacesInput);
    for (const Op& op : graph_.ops) {
      const bool is_mask = forms_[op.id].has_value() && op.kind == OpKind::kCausalMask;
      if (is_mask && forms_[op.id]->reads_places) MakeRanges(op);
    }
    for (const Op& op : graph_.ops) {
      if (problem_.has_value()) return;
      builder_.SetLine(op.line);
      builder_.SetSource(op);
      const Need& need = needs_[op.id];
      if (op.id == options_.tokens) {
        Attributes attributes = op.attributes;
        attributes.Set(attribute::kShape, Shape{op.type.shape[0], options_.places});
        at_[op.id] = builder_.Add(op.kind, {}, std::move(attributes), op.name);
        continue;
      }
      if (need.at.has_value()) BuildAt(op, *need.at);
      if (need.is_kept && at_[op.id].has_value()) Keep(op, *need.at);
      if (need.whole && !need.is_kept) BuildWhole(op);
    }
  }

  void BuildAt(const Op& op, const TimeDimension& time) {
    const PlaceForm& form = *forms_[op.id];
    std::vector<OpId> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::optional<OpId> input = At(op.inputs[i], form.inputs[i]);
      if (!input.has_value()) return;
      inputs.push_back(*input);
    }
    if (form.reads_places && form.kind == OpKind::kRangeMask) {
      const std::vector<OpId>& ranges = MakeRanges(op);
      inputs.insert(inputs.end(), ranges.begin(), ranges.end());
    } else if (form.reads_places) {
      inputs.push_back(places_);
    }
    at_[op.id] = Add(op, form.kind, std::move(inputs), form.attributes);
    if (at_[op.id].has_value() && time.major == 1 && time.minor == 1) {
      counterparts_.push_back({.step = *at_[op.id], .whole = op.id, .dimension = time.dimension});
    }
  }

  // The first key that each row of a causal mask [samples.., heads, rows, keys] sees, and the end of those: [samples..,
  // places]. Masks that see the same share them.
  const std::vector<OpId>& MakeRanges(const Op& mask) {
    const int64_t own = mask.attributes.Get(attribute::kWindow);
    const int64_t window = own == 0 ? time_ : own;
    Shape samples(mask.type.shape.begin(), mask.type.shape.end() - 3);
    const auto [known, is_new] = ranges_.try_emplace({window, samples});
    if (!is_new) return known->second;
    const auto number = [&](int64_t value) {
      return builder_.Add(OpKind::kConstant, {},
                          {{attribute::kValue, static_cast<double>(value)},
                           {attribute::kDType, DType::kI32},
                           {attribute::kShape, Shape{}}},
                          "number");
    };
    Shape rows(samples.size(), 1);
    for (Shape* const shape : {&rows, &samples}) shape->push_back(options_.places);
    OpId place = builder_.Add(OpKind::kReshape, {places_}, {{attribute::kShape, rows}}, "places");
    if (rows != samples) place = builder_.Add(OpKind::kBroadcastTo, {place}, {{attribute::kShape, samples}}, "places");
    const OpId begin = builder_.Add(OpKind::kAdd, {place, number(1 - window)}, {}, "window");
    known->second = {builder_.Add(OpKind::kMaximum, {begin, number(0)}, {}, "first_key"),
                     builder_.Add(OpKind::kAdd, {place, number(1)}, {}, "end_of_keys")};
    return known->second;
  }

  void BuildWhole(const Op& op) {
    std::vector<OpId> inputs;
    for (const OpId input : op.inputs) inputs.push_back(*whole_[input]);
    whole_[op.id] = Add(op, op.kind, std::move(inputs), op.attributes);
  }

  std::optional<OpId> Add(const Op& op, OpKind kind, std::vector<OpId> inputs, const Attributes& attributes) {
    const auto added = builder_.TryAdd(kind, std::move(inputs), attributes, op.name);
    if (const auto* error = std::get_if<OpError>(&added)) {
      Fail(op.id, absl::StrCat("cannot be computed place by place: ", error->message));
      return std::nullopt;
    }
    return std::get<OpId>(added);
  }

  void Keep(const Op& op, const TimeDimension& time) {
    const auto axis = static_cast<int64_t>(time.dimension);
    const OpId state =
        builder_.Add(OpKind::kState, {}, {{attribute::kShape, op.type.shape}}, absl::StrCat(op.name, ".cache"));
    whole_[op.id] = builder_.Add(OpKind::kScatter, {state, *at_[op.id], places_}, {{attribute::kAxis, axis}},
                                 absl::StrCat(op.name, ".cached"));
    builder_.mutable_graph().updates.push_back({.state = state, .value = *whole_[op.id]});
  }

  // The value as an input of the step, at the places or whole.
  std::optional<OpId> At(OpId value, const std::optional<TimeDimension>& time) {
    if (!time.has_value()) return whole_[value];
    if (needs_[value].at == time) return at_[value];
    const auto axis = static_cast<int64_t>(time->dimension);
    const auto known = slices_.find({value, axis});
    if (known != slices_.end()) return known->second;
    const Op& op = graph_.op(value);
    if (!CanBeSliced(value, *time)) {
      Fail(value, "has places that cannot be taken one by one");
      return std::nullopt;
    }
    const OpId slice = builder_.Add(OpKind::kGather, {*whole_[value], places_}, {{attribute::kAxis, axis}},
                                    absl::StrCat(op.name, ".at_place"));
    counterparts_.push_back({.step = slice, .whole = value, .dimension = time->dimension});
    return slices_[{value, axis}] = slice;
  }

  const Graph& graph_;
  const DecodeOptions& options_;
  const int64_t time_;
  IdVector<OpId, char> varies_;  // Depends on the tokens.
  IdVector<OpId, std::vector<TimeDimension>> times_;
  IdVector<OpId, Need> needs_;
  IdVector<OpId, std::optional<PlaceForm>> forms_;
  std::optional<DecodeProblem> problem_;
  // The step.
  GraphBuilder builder_;
  OpId places_;
  IdVector<OpId, std::optional<OpId>> at_, whole_;
  std::map<std::pair<OpId, int64_t>, OpId> slices_;  // At the places, of wholes, by value and dimension.
  std::map<std::pair<int64_t, Shape>, std::vector<OpId>> ranges_;
  std::vector<Counterpart> counterparts_;
};

// The step of one sequence for as many as there are slots, each of which has places and states of its own.
Decoding InSlots(const Decoding& one, const DecodeOptions& options) {
  GraphBuilder builder(Graph{.model = one.graph.model, .file = one.graph.file, .hash = one.graph.hash});
  const Shape of_step = {options.slots, options.places};
  std::vector<MappedInput> mapped;
  const auto add = [&](OpId element, const Shape& shape) {
    const Op& op = one.graph.op(element);
    Attributes attributes = op.attributes;
    attributes.Set(attribute::kShape, shape);
    builder.SetLine(op.line);
    builder.SetSource(op);
    mapped.push_back({.element = element, .whole = builder.Add(op.kind, {}, std::move(attributes), op.name)});
    return mapped.back().whole;
  };
  const OpId tokens = add(one.tokens, of_step);
  mapped.back().whole = builder.Add(OpKind::kReshape, {tokens},
                                    {{attribute::kShape, Shape{options.slots, 1, options.places}}}, "sequences");
  const OpId places = add(one.places, of_step);
  for (const StateUpdate& update : one.graph.updates) {
    Shape shape = one.graph.op(update.state).type.shape;
    shape.insert(shape.begin(), options.slots);
    add(update.state, shape);
  }
  const std::vector<Op> ops(one.graph.ops.begin(), one.graph.ops.end());
  const Vectorized all = Vectorize(builder, ops, mapped, options.slots);
  Decoding slots{.graph = {}, .tokens = tokens, .places = places, .logits = all.at(one.logits).value};
  for (const StateUpdate& update : one.graph.updates) {
    builder.mutable_graph().updates.push_back({all.at(update.state).value, all.at(update.value).value});
  }
  for (const Counterpart& own : one.counterparts) {
    const BatchedOp& step = all.at(own.step);
    slots.counterparts.push_back(
        {.step = step.value, .whole = own.whole, .dimension = own.dimension, .is_shared = !step.mapped});
  }
  const Shape& logits = builder.type(slots.logits).shape;
  slots.logits = builder.Add(OpKind::kReshape, {slots.logits},
                             {{attribute::kShape, Shape{options.slots, options.places, logits.back()}}}, "logits");
  slots.graph = std::move(builder).Build();
  return slots;
}

}  // namespace

std::variant<Decoding, DecodeProblem> MakeDecoding(const Graph& graph, const DecodeOptions& options) {
  const Shape& tokens = graph.op(options.tokens).type.shape;
  if (tokens[1] < 2) {
    return DecodeProblem{options.tokens, "has sequences of one place, which leave nothing to generate"};
  }
  if (tokens[0] != 1) {
    return DecodeProblem{options.tokens,
                         absl::StrCat("has ", tokens[0],
                                      " sequences: how many are continued at once must be an argument of the model, as "
                                      "in `input tokens: i32[batch, seq];`, and a number, as in `--set batch=8`")};
  }
  std::variant<Decoding, DecodeProblem> one = Decoder(graph, options).Run();
  if (const Decoding* const step = std::get_if<Decoding>(&one)) return InSlots(*step, options);
  return one;
}

Graph OfOneDocument(Graph graph) {
  IdVector<OpId, char> is_needed(graph.ops.size(), 0), is_read_otherwise(graph.ops.size(), 0);
  for (const Look& look : graph.looks) is_needed[look.value] = 1;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.op(OpId(static_cast<int64_t>(i)));
    if (is_needed[op.id] == 0) continue;
    for (const OpId input : op.inputs) {
      is_needed[input] = 1;
      if (op.kind != OpKind::kRun) is_read_otherwise[input] = 1;
    }
  }
  const auto is_run = [&](const Op& op) {
    return op.kind == OpKind::kRun && graph.op(op.inputs[0]).kind == OpKind::kInput &&
           is_read_otherwise[op.inputs[0]] == 0;
  };
  IdVector<OpId, std::optional<bool>> ends;  // For each op that is a run of documents: whether it gives ends.
  IdVector<OpId, OpId> instead;
  for (Op& op : graph.ops) {
    for (OpId& input : op.inputs) input = instead[input];
    instead.push_back(op.id);
    ends.push_back(std::nullopt);
    if (is_run(op)) {
      const bool is_end = op.attributes.Get(attribute::kReverse);
      ends[op.id] = is_end;
      op.kind = OpKind::kConstant;
      op.inputs.clear();
      op.attributes = {{attribute::kShape, op.type.shape},
                       {attribute::kDType, op.type.dtype},
                       {attribute::kValue, is_end ? static_cast<double>(op.type.shape.back()) : 0.0}};
    } else if (op.kind == OpKind::kRangeMask && ends[op.inputs[1]] == false && ends[op.inputs[2]] == true) {
      instead[op.id] = op.inputs[0];
    }
  }
  return graph;
}

}  // namespace cleave::ir

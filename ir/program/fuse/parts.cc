// Reading guide. How a value lies in another is a Part. Three functions make one from another: Contiguous, BoxIn (a
// slice, or an input of a concatenation) and Reshaped. PartFinder::Follow goes from a value that lies in a part to all
// that read it, through reshapes and slices of it, and says whether all of them can. It is asked for the inputs of each
// concatenation first, and then for all slices of each tensor together.
#include "ir/program/fuse/parts.h"

#include <optional>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"

namespace cleave::ir {
namespace {

bool IsInBackwardHalf(const Step& step) { return step.phase != Phase::kForward && step.phase != Phase::kMetric; }

// Sizes that differ between ranks are equal where all of this is.
using UnequalSize = std::tuple<int64_t, AxisList, int64_t, int64_t, int64_t, int64_t, int64_t>;

// A product of extents in one form for all that are equal on every rank.
struct NormalProduct {
  int64_t number = 1;
  std::vector<UnequalSize> others;  // Ordered.

  bool operator==(const NormalProduct&) const = default;
};

NormalProduct NormalOf(const Program& program, const Extents& extents) {
  NormalProduct product;
  for (const Extent& extent : extents) {
    const Value& value = program.value(extent.value);
    const auto d = static_cast<size_t>(extent.dimension);
    const int64_t elements = value.type.shape[d];
    const AxisList& axes = value.layout.dimensions[d];
    const Window* const window = value.layout.WindowOf(d);
    if (window == nullptr && elements % program.mesh.Size(axes) == 0) {
      product.number *= elements / program.mesh.Size(axes);
    } else {
      const Window own = window == nullptr ? Window{} : *window;
      product.others.emplace_back(elements, axes, own.outer, own.numerator, own.denominator, own.first, own.last);
    }
  }
  absl::c_sort(product.others);
  return product;
}

Extents operator*(Extents product, const Extent& extent) {
  product.push_back(extent);
  return product;
}

// How many dimensions a tensor has, and which of them have more than one element.
struct Dimensions {
  const Program& program;
  ValueId value;

  const Shape& shape() const { return program.value(value).type.shape; }
  int rank() const { return program.value(value).type.rank(); }
  // On every rank.
  bool IsOne(int d) const { return NormalOf(program, {(*this)[d]}) == NormalProduct{}; }
  Extent operator[](int d) const { return {value, d}; }
};

// Gives dimensions [begin, end) the strides with which they lie one behind another in steps of `inner`. Those with one
// element have the stride of the next one.
void StepOver(const Dimensions& dimensions, int begin, int end, Extents inner, std::vector<Extents>& strides) {
  for (int d = end; d-- > begin;) {
    strides[static_cast<size_t>(d)] = inner;
    if (!dimensions.IsOne(d)) inner = inner * dimensions[d];
  }
}

Part Contiguous(const Program& program, ValueId value) {
  const Dimensions dimensions{program, value};
  Part part{.whole = value, .strides = std::vector<Extents>(static_cast<size_t>(dimensions.rank()))};
  StepOver(dimensions, 0, dimensions.rank(), {}, part.strides);
  return part;
}

// Whether dimensions [begin, end) lie as one dimension does, with the stride of the last of them that has more than one
// element, which is `inner`.
bool LieAsOne(const Dimensions& dimensions, int begin, int end, const std::vector<Extents>& strides, Extents& inner) {
  std::optional<Extents> expected;
  for (int d = end; d-- > begin;) {
    if (dimensions.IsOne(d)) continue;
    const Extents& stride = strides[static_cast<size_t>(d)];
    if (!expected.has_value()) {
      inner = stride;
    } else if (NormalOf(dimensions.program, stride) != NormalOf(dimensions.program, *expected)) {
      return false;
    }
    expected = stride * dimensions[d];
  }
  return true;
}

// How `to` lies, whose elements are those of `from` in another shape; nullopt where that has no strides. What a view
// says of the whole tensors (View) is not looked at.
std::optional<Part> Reshaped(const Program& program, const Part& part, ValueId from, ValueId to) {
  const Dimensions source{program, from}, target{program, to};
  if (program.value(from).type.elements() != program.value(to).type.elements()) return std::nullopt;
  const auto extents = [](const Dimensions& dimensions, int begin, int end) {
    Extents product;
    for (int d = begin; d < end; ++d) product.push_back(dimensions[d]);
    return product;
  };
  Part result{
      .whole = part.whole, .strides = std::vector<Extents>(static_cast<size_t>(target.rank())), .shifts = part.shifts};
  // Both shapes have boundaries at the same places: [12, 64, 5] and [768, 5] behind 768 and behind 3840 elements.
  for (int i = 0, j = 0; i < source.rank() || j < target.rank();) {
    const int source_begin = i, target_begin = j;
    int64_t of_source = 1, of_target = 1;
    do {
      const bool takes_source = j == target.rank() || (i < source.rank() && of_source <= of_target);
      if (takes_source) {
        of_source *= source.shape()[static_cast<size_t>(i++)];
      } else {
        of_target *= target.shape()[static_cast<size_t>(j++)];
      }
    } while (of_source != of_target);
    Extents inner;
    if (!LieAsOne(source, source_begin, i, part.strides, inner)) return std::nullopt;
    if (NormalOf(program, extents(source, source_begin, i)) != NormalOf(program, extents(target, target_begin, j)))
      return std::nullopt;
    StepOver(target, target_begin, j, inner, result.strides);
  }
  return result;
}

// A tensor that is a box of another one.
struct BoxPlace {
  ValueId part;
  ValueId whole;
  std::vector<std::optional<int64_t>> numbers;  // Shift::number by dimension; nullopt where both begin alike.
};

// `shorter` says of a dimension whether the box and the whole differ in it.
template <typename Shorter>
BoxPlace BoxOf(ValueId part, ValueId whole, const std::vector<int64_t>& begins, Shorter shorter) {
  BoxPlace box{.part = part, .whole = whole, .numbers = {}};
  for (size_t d = 0; d < begins.size(); ++d) {
    box.numbers.push_back(shorter(d) ? std::optional(begins[d]) : std::nullopt);
  }
  return box;
}

const Boxes* BoxesOf(const Step& step, Boxes::Of of) {
  const Compute* const compute = ComputeOf(step);
  if (compute == nullptr) return nullptr;
  const std::optional<Boxes>& boxes = DefinitionOf(compute->kind).boxes;
  return boxes.has_value() && boxes->of == of ? &*boxes : nullptr;
}

// The boxes of a Compute with Boxes: one, or one for each input.
std::vector<BoxPlace> BoxesIn(const Program& program, const Compute& compute, const Boxes& boxes) {
  std::vector<TensorType> inputs;
  for (const ValueId input : compute.inputs) inputs.push_back(program.value(input).type);
  std::vector<BoxPlace> found;
  for (const std::vector<int64_t>& begins :
       boxes.begins(inputs, program.value(compute.output).type, compute.attributes)) {
    const ValueId input = compute.inputs[found.size()];
    const bool is_slice = boxes.of == Boxes::Of::kInput;
    const ValueId part = is_slice ? compute.output : input, whole = is_slice ? input : compute.output;
    found.push_back(BoxOf(part, whole, begins, [&](size_t d) {
      return program.value(part).type.shape[d] != program.value(whole).type.shape[d];
    }));
  }
  return found;
}

// The box of its input that the step makes; nullopt for other steps.
std::optional<BoxPlace> SliceIn(const Program& program, const Step& step) {
  if (const auto* slice = std::get_if<Slice>(&step.action)) {
    const Layout &from = program.value(slice->input).layout, &to = program.value(slice->output).layout;
    return BoxOf(slice->output, slice->input, std::vector<int64_t>(from.dimensions.size()),
                 [&](size_t d) { return from.dimensions[d] != to.dimensions[d] || to.WindowOf(d) != nullptr; });
  }
  const Boxes* const boxes = BoxesOf(step, Boxes::Of::kInput);
  if (boxes == nullptr) return std::nullopt;
  return BoxesIn(program, *ComputeOf(step), *boxes).front();
}

// How the box of a tensor lies that itself lies so.
Part BoxIn(Part part, const BoxPlace& box) {
  for (size_t d = 0; d < box.numbers.size(); ++d) {
    if (!box.numbers[d].has_value()) continue;
    part.shifts.push_back({.box = box.part,
                           .whole = box.whole,
                           .dimension = static_cast<int>(d),
                           .number = *box.numbers[d],
                           .stride = part.strides[d]});
  }
  return part;
}

// How a call reads or writes a tensor: Argument::strides and Argument::takes_runs.
struct Access {
  int strides = 0;
  bool takes_runs = false;
};

// Whether the elements lie one behind another.
bool IsRun(const Dimensions& dimensions, const Part& part) {
  Extents inner;
  return LieAsOne(dimensions, 0, dimensions.rank(), part.strides, inner) &&
         NormalOf(dimensions.program, inner) == NormalProduct{};
}

// Whether what reads or writes `value` can do so where it lies.
bool Takes(const Program& program, ValueId value, const Part& part, const Access& access) {
  const Dimensions dimensions{program, value};
  if (access.takes_runs && IsRun(dimensions, part)) return true;
  const int last = dimensions.rank() - 1, strides = access.strides;
  if (strides == 0 || last + 1 < strides) return false;
  const Extents& of_last = part.strides[static_cast<size_t>(last)];
  if (!dimensions.IsOne(last) && NormalOf(program, of_last) != NormalProduct{}) return false;
  Extents inner;
  return LieAsOne(dimensions, 0, last + 1 - strides, part.strides, inner);
}

class PartFinder {
 public:
  explicit PartFinder(const Program& program)
      : program_(program),
        readers_(program.values.size()),
        writer_(program.values.size(), nullptr),
        is_kept_(program.values.size(), 0) {
    for (const Step& step : program.steps) {
      const StepValues reads = Reads(step);
      for (size_t i = 0; i < reads.size(); ++i) readers_[reads[i]].push_back({&step, static_cast<int>(i)});
      for (const ValueId value : Writes(step)) writer_[value] = &step;
    }
    for (const ProgramUpdate& update : program.updates) is_kept_[update.value] = is_kept_[update.state] = 1;
    if (program.loss.has_value()) is_kept_[*program.loss] = 1;
    for (const ProgramMetric& metric : program.metrics) is_kept_[metric.value] = 1;
  }

  Parts Run() && {
    for (const Step& step : program_.steps) {
      if (const Boxes* const boxes = BoxesOf(step, Boxes::Of::kResult)) WriteInto(step, *boxes);
    }
    for (const Step& step : program_.steps) {
      if (IsAlias(step)) continue;
      for (const ValueId value : Writes(step)) {
        if (!parts_.contains(value)) ReadFrom(value);
      }
    }
    return std::move(parts_);
  }

 private:
  struct Reader {
    const Step* step;
    int input;

    bool operator==(const Reader&) const = default;
  };
  // Values that lie in parts if one does, and whether the backward pass reads one.
  struct Followers {
    Parts parts;
    bool wait = false;
  };

  // Adds `value`, which lies as `part`, and all that then lie in parts. Returns whether all that read them, but for
  // `except`, can do so.
  bool Follow(ValueId value, Part part, const Reader& except, Followers& followers) const {
    if (is_kept_[value] != 0) return false;
    const Part& own = followers.parts.insert_or_assign(value, std::move(part)).first->second;
    return absl::c_all_of(readers_[value], [&](const Reader& reader) {
      if (reader == except) return true;
      const Step& step = *reader.step;
      if (IsAlias(step)) {
        const ValueId output = Writes(step).front();
        std::optional<Part> reshaped = Reshaped(program_, own, value, output);
        return reshaped.has_value() && Follow(output, *std::move(reshaped), except, followers);
      }
      if (const std::optional<BoxPlace> box = SliceIn(program_, step))
        return Follow(box->part, BoxIn(own, *box), except, followers);
      followers.wait = followers.wait || IsInBackwardHalf(step);
      return Takes(program_, value, own, AccessOf(reader));
    });
  }

  static Access AccessOf(const Reader& reader) {
    const Compute* const compute = ComputeOf(*reader.step);
    if (compute == nullptr) return {};
    const std::vector<Argument>& signature = DefinitionOf(compute->kind).signature;
    const auto input = static_cast<size_t>(reader.input);
    if (input >= signature.size()) return {};
    return {.strides = signature[input].strides, .takes_runs = signature[input].takes_runs};
  }

  static Access ResultAccessOf(const Compute& compute) {
    const OpDefinition& definition = DefinitionOf(compute.kind);
    return {.strides = definition.result_strides, .takes_runs = definition.writes_runs};
  }

  // Whether a value that is made in the forward half of a step is read in the other half, by itself or reshaped.
  bool Waits(ValueId value) const {
    return is_kept_[value] != 0 || absl::c_any_of(readers_[value], [&](const Reader& reader) {
             return IsAlias(*reader.step) ? Waits(Writes(*reader.step).front()) : IsInBackwardHalf(*reader.step);
           });
  }

  // The reduction of one tensor that the step is, or null.
  static const Collective* ReductionOf(const Step& step) {
    const auto* const collective = std::get_if<Collective>(&step.action);
    const bool is_one =
        collective != nullptr && collective->transfers.size() == 1 &&
        (collective->kind == CollectiveKind::kAllReduce || collective->kind == CollectiveKind::kReduceScatter);
    return is_one ? collective : nullptr;
  }

  // Whether both run in the same passes of a step.
  bool RunTogether(const Step& a, const Step& b) const {
    return a.phase == b.phase && a.repeat == b.repeat && PassIn(program_, a) == PassIn(program_, b);
  }

  // Lets the inputs of a concatenation be written into their places of it, if all can be.
  void WriteInto(const Step& step, const Boxes& boxes) {
    const Compute& compute = *ComputeOf(step);
    const bool waits = IsInBackwardHalf(step) || Waits(compute.output);
    const Part whole = Contiguous(program_, compute.output);
    Parts found;
    int input = 0;
    for (const BoxPlace& box : BoxesIn(program_, compute, boxes)) {
      std::optional<Part> part = BoxIn(whole, box);
      ValueId value = box.part;
      while (part.has_value() && IsAlias(*writer_[value])) {
        const ValueId source = Reads(*writer_[value]).front();
        part = Reshaped(program_, *part, value, source);
        value = source;
      }
      if (!part.has_value() || parts_.contains(value) || found.contains(value)) return;
      Followers followers;
      Reader reader{&step, input++};
      if (const Collective* const reduced = ReductionOf(*writer_[value]); reduced != nullptr) {
        if (!RunTogether(*writer_[value], step) || !IsRun({program_, value}, *part)) return;
        if (!Follow(value, *part, reader, followers)) return;
        // An all_reduce is done where its input was made.
        reader = {writer_[value], 0};
        value = reduced->transfers.front().input;
        if (parts_.contains(value) || found.contains(value)) return;
        if (reduced->kind == CollectiveKind::kReduceScatter) part = std::nullopt;
      }
      if (part.has_value()) {
        const Step& writer = *writer_[value];
        const Compute* const made = ComputeOf(writer);
        if (made == nullptr || !RunTogether(writer, step)) return;
        if (!Takes(program_, value, *part, ResultAccessOf(*made))) return;
        if (!Follow(value, *std::move(part), reader, followers)) return;
      }
      if (followers.wait && !waits) return;
      found.merge(followers.parts);
    }
    parts_.merge(found);
  }

  // A slice of a tensor, or of a reshape of it, with those that lie in it then.
  struct Candidate {
    ValueId slice;
    Followers followers;
  };

  void AddSlices(ValueId value, std::vector<Candidate>& candidates) const {
    for (const Reader& reader : readers_[value]) {
      if (IsAlias(*reader.step)) {
        AddSlices(Writes(*reader.step).front(), candidates);
      } else if (const std::optional<BoxPlace> box = SliceIn(program_, *reader.step)) {
        Candidate candidate{.slice = box->part, .followers = {}};
        if (Follow(box->part, BoxIn(Contiguous(program_, value), *box), {}, candidate.followers))
          candidates.push_back(std::move(candidate));
      }
    }
  }

  // Lets slices of `value` lie in it. Where it would be kept for the backward pass only for slices that are smaller
  // than it, those that are kept are made.
  void ReadFrom(ValueId value) {
    std::vector<Candidate> candidates;
    AddSlices(value, candidates);
    if (candidates.empty()) return;
    const bool may_wait = IsSource(*writer_[value]) || IsInBackwardHalf(*writer_[value]) || Waits(value);
    Bytes kept;
    for (const Candidate& candidate : candidates) {
      if (candidate.followers.wait) kept += LargestLocalBytes(program_, candidate.slice);
    }
    const bool takes_all = may_wait || kept >= LargestLocalBytes(program_, value);
    for (Candidate& candidate : candidates) {
      if (takes_all || !candidate.followers.wait) parts_.merge(candidate.followers.parts);
    }
  }

  const Program& program_;
  IdVector<ValueId, absl::InlinedVector<Reader, 4>> readers_;
  IdVector<ValueId, const Step*> writer_;
  IdVector<ValueId, uint8_t> is_kept_;  // Updates, loss and metrics take it whole.
  Parts parts_;
};

}  // namespace

Parts FindParts(const Program& program) { return PartFinder(program).Run(); }

bool LiesInPlace(const Parts& parts, const Step& step) {
  if (IsAlias(step)) return true;
  if (std::holds_alternative<Slice>(step.action) || BoxesOf(step, Boxes::Of::kInput) != nullptr)
    return parts.contains(Writes(step).front());
  if (BoxesOf(step, Boxes::Of::kResult) == nullptr) return false;
  const Compute& compute = *ComputeOf(step);
  return absl::c_all_of(compute.inputs, [&](ValueId input) {
    const auto part = parts.find(input);
    return part != parts.end() && part->second.whole == compute.output;
  });
}

std::optional<PartOnRank> RunOf(const Program& program, ValueId value, const Part& part) {
  const bool is_alike = absl::c_all_of(part.shifts, [&](const Shift& shift) {
    const auto d = static_cast<size_t>(shift.dimension);
    return program.value(shift.box).layout.dimensions[d].empty() &&
           program.value(shift.whole).layout.dimensions[d].empty() && NormalOf(program, shift.stride).others.empty();
  });
  if (!is_alike || !IsRun({program, value}, part)) return std::nullopt;
  return PartOn(program, part, 0);
}

PartOnRank PartOn(const Program& program, const Part& part, int rank) {
  const auto pieces_of = [&](ValueId value) {
    return SliceOf(program.value(value).layout, program.mesh, program.value(value).type.shape, rank);
  };
  const auto elements = [&](const Extents& extents) {
    int64_t product = 1;
    for (const Extent& extent : extents) product *= pieces_of(extent.value)[static_cast<size_t>(extent.dimension)].size;
    return product;
  };
  PartOnRank local;
  for (const Extents& stride : part.strides) local.strides.push_back(elements(stride));
  for (const Shift& shift : part.shifts) {
    const auto d = static_cast<size_t>(shift.dimension);
    local.begin +=
        (pieces_of(shift.box)[d].begin + shift.number - pieces_of(shift.whole)[d].begin) * elements(shift.stride);
  }
  return local;
}

}  // namespace cleave::ir

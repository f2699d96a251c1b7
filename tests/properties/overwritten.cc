// Reading guide: Run plays a step, stage by stage. `Read` compares what lies in memory with what the value should be,
// `Write` puts elements of a value there that have not been before, and `Follow` says for a step that does nothing of
// which elements its value consists.
#include "tests/properties/overwritten.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/attributes/keys.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::tests::properties {
namespace {

class Memory {
 public:
  Memory(const ir::Program& program, const ir::MemoryPlan& memory, int rank)
      : program_(program),
        fusion_(memory.fusion),
        storage_(memory.storage),
        rank_(rank),
        bytes_(static_cast<size_t>((storage_.buffers.total + storage_.host.total).value()), -1),
        elements_(program.values.size()) {}

  std::optional<std::string> Run() && {
    const int64_t moments = ir::MicroBatches(program_);
    for (moment_ = 0; moment_ < moments; ++moment_) {
      for (const ir::Step& step : program_.steps) {
        if (!ir::IsSource(step)) continue;
        const bool is_input = ir::ComputeOf(step)->kind == ir::OpKind::kInput;
        if (is_input || moment_ == 0) Write(ir::ComputeOf(step)->output);
      }
    }
    RunForEach(ir::Repeat::kEachBefore);
    moment_ = 0;
    RunAll(ir::Repeat::kOnceBefore);
    RunForEach(ir::Repeat::kEach);
    RunAll(ir::Repeat::kOnceAfter);
    AskForResults();
    for (const ir::ProgramUpdate& copy : storage_.copies) Read(copy.value, "the copy of");
    return std::move(failure_);
  }

 private:
  // Ends at the last moment.
  void RunForEach(ir::Repeat repeat) {
    const int64_t moments = ir::MicroBatches(program_);
    for (moment_ = 0; moment_ < moments; ++moment_) {
      for (const ir::Step& step : program_.steps) {
        const ir::Compute* const compute = ir::ComputeOf(step);
        if (compute != nullptr && compute->kind == ir::OpKind::kInput) Name(compute->output);
      }
      RunAll(repeat);
    }
    --moment_;
  }

  const ir::Step& StepAt(int i) const { return program_.steps[static_cast<size_t>(i)]; }
  int rank() const { return ir::AtMoment(program_, rank_, moment_); }

  std::vector<ir::Piece> PiecesOf(ir::ValueId value) const {
    const ir::Value& info = program_.value(value);
    return ir::SliceOf(info.layout, program_.mesh, info.type.shape, rank());
  }

  // Calls f with the index of each element of a shape, in order.
  template <typename Function>
  static void ForEachIndex(const ir::Shape& shape, Function f) {
    const int64_t count = ir::ElementCount(shape);
    for (int64_t i = 0; i < count; ++i) {
      ir::Shape index(shape.size());
      int64_t rest = i;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
      f(index);
    }
  }
  static int64_t At(const ir::Shape& shape, const ir::Shape& index) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
    return at;
  }

  // The first byte of each element.
  std::vector<int64_t> PlacesOf(ir::ValueId value) const {
    const ir::ValueId root = *storage_.root[value];
    int64_t begin = storage_.BufferOf(root).offset + moment_ % storage_.PiecesOf(value) * storage_.StrideOf(value);
    if (storage_.host.Find(root) != nullptr) begin += storage_.buffers.total.value();
    const ir::Compute* const source = Source(root);
    if (source != nullptr && ir::IsSamples(source->kind, source->attributes) && program_.time.has_value())
      begin += moment_ * ir::InputStride(program_, root).value();
    const int64_t size = ir::ElementSize(program_.value(value).type.dtype).value();
    const ir::Shape shape = ir::LocalShape(program_, value, rank());
    std::vector<int64_t> places;
    const auto part = fusion_.parts.find(value);
    if (part == fusion_.parts.end()) {
      for (int64_t i = 0; i < ir::ElementCount(shape); ++i) places.push_back(begin + i * size);
      return places;
    }
    const ir::PartOnRank local = ir::PartOn(program_, part->second, rank());
    ForEachIndex(shape, [&](const ir::Shape& index) {
      int64_t element = local.begin;
      for (size_t d = 0; d < index.size(); ++d) element += index[d] * local.strides[d];
      places.push_back(begin + element * size);
    });
    return places;
  }

  const ir::Compute* Source(ir::ValueId value) const {
    for (const ir::Step& step : program_.steps) {
      if (ir::IsSource(step) && ir::ComputeOf(step)->output == value) return ir::ComputeOf(step);
    }
    return nullptr;
  }

  void Fail(ir::ValueId value, const std::string& reader, const std::string& what) {
    if (failure_.has_value()) return;
    failure_ = absl::StrCat("memory: on rank ", rank_, " in micro-batch ", moment_, " ", reader, " `",
                            program_.value(value).name, "` finds ", what);
  }

  void Read(ir::ValueId value, const std::string& reader) {
    if (!storage_.root[value].has_value()) return;
    const std::vector<int64_t> places = PlacesOf(value);
    const int64_t size = ir::ElementSize(program_.value(value).type.dtype).value();
    if (places.size() != elements_[value].size()) return Fail(value, reader, "another number of elements");
    for (size_t i = 0; i < places.size(); ++i) {
      for (int64_t byte = places[i]; byte < places[i] + size; ++byte) {
        if (byte < 0 || byte >= static_cast<int64_t>(bytes_.size())) return Fail(value, reader, "no memory");
        if (bytes_[static_cast<size_t>(byte)] != elements_[value][i])
          return Fail(value, reader, absl::StrCat("something else in element ", i));
      }
    }
  }

  // Elements of their own: inputs have one set for each micro-batch, which stays the same.
  void Name(ir::ValueId value) {
    elements_[value].clear();
    const int64_t count = ir::ElementCount(ir::LocalShape(program_, value, rank()));
    int64_t& first = named_.try_emplace({value, moment_}, next_).first->second;
    next_ = std::max(next_, first + count);
    for (int64_t i = 0; i < count; ++i) elements_[value].push_back(first + i);
  }

  void Write(ir::ValueId value) {
    Name(value);
    if (!storage_.root[value].has_value()) return;
    const std::vector<int64_t> places = PlacesOf(value);
    const int64_t size = ir::ElementSize(program_.value(value).type.dtype).value();
    for (size_t i = 0; i < places.size(); ++i) {
      for (int64_t byte = places[i]; byte < places[i] + size; ++byte) {
        if (byte < 0 || byte >= static_cast<int64_t>(bytes_.size())) return Fail(value, "the step of", "no memory");
        bytes_[static_cast<size_t>(byte)] = elements_[value][i];
      }
    }
  }

  void RunAll(ir::Repeat repeat) {
    for (const ir::FusedStage& stage : fusion_.stages) {
      if (stage.repeat != repeat) continue;
      if (stage.phase == ir::Phase::kUpdate) AskForResults();
      Run(stage);
    }
  }

  // Loops of a batch run at the same time: what one of them writes, no other one reads or writes.
  void CheckApart(const ir::FusedStage& stage) {
    std::map<int64_t, size_t> written_by;
    const auto for_each_place = [&](size_t loop, bool writes, auto f) {
      for (const int i : ir::LoopsOf(stage)[loop].steps) {
        for (const ir::ValueId value : writes ? ir::Writes(StepAt(i)) : ir::Reads(StepAt(i))) {
          if (!storage_.root[value].has_value()) continue;
          for (const int64_t place : PlacesOf(value)) f(place, value);
        }
      }
    };
    for (const bool writes : {true, false}) {
      for (size_t loop = 0; loop < ir::LoopsOf(stage).size(); ++loop) {
        for_each_place(loop, writes, [&](int64_t place, ir::ValueId value) {
          const auto found = writes ? written_by.try_emplace(place, loop).first : written_by.find(place);
          if (found != written_by.end() && found->second != loop)
            Fail(value, "a loop with", "what another loop of its batch writes");
        });
      }
    }
  }

  void Run(const ir::FusedStage& stage) {
    if (ir::LoopsOf(stage).size() > 1) CheckApart(stage);
    std::set<ir::ValueId> own;
    for (const int i : ir::StepsOf(stage)) {
      const ir::Step& step = StepAt(i);
      if (fusion_.DoesNothing(step)) {
        Follow(step);
        continue;
      }
      for (const ir::ValueId value : ir::Reads(step)) {
        if (own.count(value) == 0) Read(value, absl::StrCat("`", step.name, "`, which reads"));
      }
      const auto* collective = std::get_if<ir::Collective>(&step.action);
      const bool adds = collective != nullptr && ir::IsSumOverTime(program_, *collective) && moment_ > 0;
      for (const ir::ValueId value : ir::Writes(step)) {
        if (adds) Read(value, "the sum");
        own.insert(value);
      }
    }
    for (const ir::ValueId value : own) Write(value);
  }

  // Of a step that does nothing.
  void Follow(const ir::Step& step) {
    const ir::ValueId output = ir::Writes(step).front();
    const ir::StepValues inputs = ir::Reads(step);
    if (ir::IsAlias(step)) {
      elements_[output] = elements_[inputs.front()];
      return;
    }
    const ir::Compute* const compute = ir::ComputeOf(step);
    const ir::Shape shape = ir::LocalShape(program_, output, rank());
    elements_[output].assign(static_cast<size_t>(ir::ElementCount(shape)), -2);
    if (compute != nullptr && compute->kind == ir::OpKind::kConcat) {
      const auto axis = static_cast<size_t>(compute->attributes.Get(ir::attribute::kAxis));
      int64_t first = 0;
      for (const ir::ValueId input : inputs) {
        const ir::Shape own = ir::LocalShape(program_, input, rank());
        const int64_t shift = PiecesOf(input)[axis].begin + first - PiecesOf(output)[axis].begin;
        ForEachIndex(own, [&](ir::Shape index) {
          const int64_t element = elements_[input][static_cast<size_t>(At(own, index))];
          index[axis] += shift;
          elements_[output][static_cast<size_t>(At(shape, index))] = element;
        });
        first += program_.value(input).type.shape[axis];
      }
      return;
    }
    // A slice.
    const ir::ValueId input = inputs.front();
    const ir::Shape own = ir::LocalShape(program_, input, rank());
    const std::vector<ir::Piece> from = PiecesOf(input), to = PiecesOf(output);
    ForEachIndex(shape, [&](const ir::Shape& index) {
      ir::Shape place = index;
      for (size_t d = 0; d < place.size(); ++d) {
        place[d] += to[d].begin - from[d].begin;
        if (compute != nullptr) place[d] += compute->attributes.Get(ir::attribute::kBegin)[d];
      }
      elements_[output][static_cast<size_t>(At(shape, index))] = elements_[input][static_cast<size_t>(At(own, place))];
    });
  }

  void AskForResults() {
    if (std::exchange(asked_, true)) return;
    if (program_.loss.has_value()) Read(*program_.loss, "what asks for the loss");
    for (const ir::ProgramMetric& metric : program_.metrics) Read(metric.value, "what asks for the metric");
  }

  const ir::Program& program_;
  const ir::Fusion& fusion_;
  const ir::Storage& storage_;
  const int rank_;
  int64_t moment_ = 0;
  std::vector<int64_t> bytes_;                                // Of the arena, then of the host: the element there.
  IdVector<ir::ValueId, std::vector<int64_t>> elements_;      // Of which a value consists now.
  std::map<std::pair<ir::ValueId, int64_t>, int64_t> named_;  // By value and micro-batch, the first of its elements.
  int64_t next_ = 0;
  bool asked_ = false;
  std::optional<std::string> failure_;
};

}  // namespace

std::optional<std::string> FindOverwritten(const ir::Program& program, const ir::MemoryPlan& memory, int rank) {
  return Memory(program, memory, rank).Run();
}

}  // namespace cleave::tests::properties

// In the order of the struct: what the runtime gives the program, the rank's place (EmitPlace) with what moves on with
// micro-batches (EmitMicroBatch) and its groups (EmitGroups), then the arena (EmitArena) and all tensors in it
// (EmitBuffers, EmitBuckets).
#include "codegen/program/fields.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/program/facts.h"
#include "codegen/source/buckets.h"
#include "ir/graph/training/samples.h"

namespace cleave::codegen {
namespace {

cpp::Expr ConstNumber() { return cpp::Const(cpp::Name("int64_t")); }

// Declares a member that the runtime gives the program.
void Given(absl::string_view type, absl::string_view name, cpp::Code& code) {
  code.Member({cpp::Reference(cpp::Name(type)), std::string(name)});
}

// What differs between micro-batches, and the function that sets it.
void EmitMicroBatch(const Emission& emission, const LayeredText& text, cpp::Code& code) {
  const ir::Program& program = emission.program;
  const std::string& number = emission.sizes.AxisName(*program.time);
  const cpp::Expr i = cpp::Name("i");
  code.Gap();
  code.Comment("The micro-batch under way, the samples of it that this rank holds, and where they lie.");
  code.Declare({cpp::Name("int64_t"), number}, 0);
  cpp::Code body(code.indent() + 2);
  if (emission.target.is_device) body.Do(cpp::Call("Recorded::NextGraph", {}));
  body.Assign(cpp::Name(number), i);
  for (const Sizes::PieceDeclaration& piece : emission.sizes.Pieces()) {
    if (!piece.of_micro_batch) continue;
    code.Member({cpp::Name("Range"), piece.name});
    body.Assign(cpp::Name(piece.name), piece.value);
  }
  const auto declare = [&](ir::ValueId value, const cpp::Expr& place) {
    const cpp::Expr type = cpp::Pointer(emission.ElementTypeOf(value));
    code.Declare({type, emission.names[value].Text()}, cpp::Name("nullptr"), TensorText(emission, value));
    body.Assign(emission.names[value], emission.PointerTo(value, emission.OffsetOf(value) + place));
  };
  for (const ir::ValueId value : emission.names.declared) {
    const ir::Compute* source = emission.SourceOf(value);
    if (source == nullptr || !ir::IsSamples(source->kind, source->attributes)) continue;
    declare(value, i * ir::InputStride(program, value).value());
  }
  const ir::Storage& storage = emission.storage;
  if (!storage.waiting.empty()) {
    code.Gap();
    code.Comment(absl::StrCat("What waits for a later pass, of ", ir::MicroBatchesUnderWay(program),
                              " micro-batches under way."));
  }
  for (const ir::ValueId value : emission.names.declared) {
    if (storage.PiecesOf(value) == 1 || text.IsOfLayer(value)) continue;
    declare(value, i % storage.PiecesOf(value) * storage.StrideOf(value));
  }
  text.WriteBegin(i, body);
  code.Gap();
  code.Open(cpp::Function{.result = cpp::Name("void"), .name = "Begin", .parameters = {{cpp::Name("int64_t"), "i"}}})
      .Append(std::move(body));
}

// Who sends to whom: "{{0, 1}, {1, 0}}".
cpp::Expr WaysOf(const Lane& lane) {
  std::vector<cpp::Expr> ways;
  for (const auto& [from, to] : lane.ways) ways.push_back(cpp::Braces({from, to}));
  return cpp::Braces(std::move(ways));
}

void EmitGroups(const Emission& emission, cpp::Code& code) {
  if (emission.groups.by_axes.empty() && emission.groups.lanes.empty()) return;
  code.Gap();
  code.Comment("The ranks that differ from this one only on the named axes.");
  const auto add = [&](const std::string& name, const ir::AxisList& axes, std::vector<cpp::Expr> more) {
    std::string comment;
    if (emission.sizes.folded()) {
      const ir::Mesh mesh = ir::RankMesh(emission.program);
      comment = absl::StrCat("Ranks ", absl::StrJoin(mesh.Group(*emission.sizes.rank(), axes), ", "), ".");
    }
    std::vector<cpp::Expr> arguments = {AxisListOf(axes)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    code.Declare({cpp::Const(cpp::Name("Group")), name}, cpp::Call("comm.CreateGroup", std::move(arguments)), comment);
  };
  for (const auto& [number, lane] : emission.groups.lanes) {
    std::vector<cpp::Expr> more = {WaysOf(lane)};
    if (number != 0) more.push_back(number);
    add(lane.group, {emission.program.pipeline->axis}, std::move(more));
  }
  for (const auto& [axes, name] : emission.groups.by_axes) add(name, axes, {});
}

// Coordinates, pieces and groups.
void EmitPlace(const Emission& emission, const LayeredText& text, cpp::Code& code) {
  if (ReadsCoordinates(emission)) {
    code.Gap();
    code.Comment("This rank's place in the mesh, and the elements of cut dimensions that it holds.");
    const cpp::Expr coordinates = cpp::Name("coordinates");
    for (const ir::AxisId axis : emission.sizes.UsedAxes()) {
      code.Declare({ConstNumber(), emission.sizes.AxisName(axis)}, coordinates.At(axis.value()));
    }
    for (const Sizes::PieceDeclaration& piece : emission.sizes.Pieces()) {
      if (!piece.of_micro_batch) code.Declare({cpp::Const(cpp::Name("Range")), piece.name}, piece.value);
    }
  }
  if (emission.program.time.has_value()) EmitMicroBatch(emission, text, code);
  EmitGroups(emission, code);
}

// Declares a tensor: "float* const h1 = arena.At<float>(4096);  // f32[256, 512]".
void EmitTensor(const Emission& emission, ir::ValueId value, const cpp::Expr& pointer, cpp::Code& code) {
  code.Declare({cpp::ConstPointer(emission.ElementTypeOf(value)), emission.names[value].Text()}, pointer,
               TensorText(emission, value));
}

// Declares the buffers of the sources of the given kinds; if none are given, of all values except sources. Pointers to
// samples of a micro-batch move, and are declared with it.
void EmitBuffers(const Emission& emission, absl::string_view title, const std::set<ir::OpKind>& kinds,
                 const LayeredText& text, cpp::Code& code) {
  std::set<ir::ValueId> chosen;
  for (const ir::Step& step : emission.program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    const bool is_source = ir::IsSource(step);
    const bool takes = kinds.empty() ? !is_source : is_source && kinds.count(compute->kind) > 0;
    const bool moves =
        takes && is_source && emission.program.time.has_value() && ir::IsSamples(compute->kind, compute->attributes);
    if (!takes || moves) continue;
    for (const ir::ValueId value : ir::Writes(step)) chosen.insert(value);
  }
  const std::set<ir::ValueId> bucketed = RootsInBuckets(emission.storage);
  bool is_first = true;
  for (const ir::ValueId value : emission.names.declared) {
    const bool is_elsewhere = text.IsOfLayer(value) || bucketed.count(*emission.storage.root[value]) > 0 ||
                              emission.storage.PiecesOf(value) > 1;
    if (chosen.count(value) == 0 || is_elsewhere) continue;
    if (is_first) {
      code.Gap();
      code.Comment(title);
    }
    is_first = false;
    EmitTensor(emission, value, emission.PointerTo(value, emission.OffsetOf(value)), code);
  }
}

// Declares the bucket of step `step`, unless only functions of layers name it, with its tensors. `declared`: by root,
// the value that gives the buffer its name.
void EmitBucket(const Emission& emission, const LayeredText& text, const cpp::Code& functions, int step,
                const std::map<ir::ValueId, ir::ValueId>& declared, cpp::Code& code) {
  const ir::Bucket& bucket = emission.storage.buckets.at(step);
  const bool is_of_layer =
      std::all_of(bucket.begin(), bucket.end(), [&](ir::ValueId root) { return text.IsOfLayer(declared.at(root)); });
  const cpp::Expr name = cpp::Name(emission.buckets.at(step));
  if (is_of_layer && !Mentions(functions, name.Text())) return;
  const auto offset = [&](ir::ValueId root) { return emission.storage.buffers.Find(root)->offset; };
  const int64_t begin = offset(bucket.front());
  code.Declare(
      {cpp::ConstPointer(emission.ElementTypeOf(bucket.front())), name.Text()},
      emission.PointerTo(bucket.front(), begin),
      absl::StrCat(BucketBytes(emission, step), " bytes for ", emission.step(step).name, text.LayersIn(bucket)));
  const int64_t element = ir::ElementSize(emission.value(bucket.front()).type.dtype).value();
  for (const ir::ValueId root : bucket) {
    const ir::ValueId value = declared.at(root);
    if (!text.IsOfLayer(value)) EmitTensor(emission, value, cpp::Shifted(name, (offset(root) - begin) / element), code);
  }
}

void EmitBuckets(const Emission& emission, const LayeredText& text, const cpp::Code& functions, cpp::Code& code) {
  if (emission.storage.buckets.empty()) return;
  code.Gap();
  code.Comment("Tensors that one collective sends lie one after another.");
  std::map<ir::ValueId, ir::ValueId> declared;
  for (const ir::ValueId value : emission.names.declared) declared.emplace(*emission.storage.root[value], value);
  for (const auto& [step, bucket] : emission.storage.buckets) {
    EmitBucket(emission, text, functions, step, declared, code);
  }
}

void EmitArena(const Emission& emission, cpp::Code& code) {
  const Target& target = emission.target;
  const Bytes arena = emission.storage.buffers.total, host = emission.storage.host.total;
  const Bytes peak = target.is_device ? arena + target.library_workspace : emission.memory.prediction.peak;
  std::vector<cpp::Expr> sizes;
  const auto add = [&](absl::string_view name, Bytes bytes, absl::string_view comment) {
    code.Declare({ConstNumber(), std::string(name)}, bytes.value(), comment);
    sizes.push_back(cpp::Name(name));
  };
  code.Gap();
  add("arena_bytes", arena, "Of all tensors.");
  add("peak_bytes", peak,
      target.is_device ? "Predicted: the arena and what libraries of the GPU take beside it."
                       : "Predicted: the arena and what calls of the runtime take beside it.");
  if (host > Bytes(0)) add("host_bytes", host, "In the host's memory.");
  code.Construct({cpp::Name("Arena"), "arena"}, cpp::Braces(std::move(sizes)));
}

void EmitStepNumbers(const Emission& emission, cpp::Code& code) {
  const std::vector<const ir::Compute*> scalars = StepScalarsOf(emission.program);
  const bool reads_step = DependsOnStep(emission.program);
  if (scalars.empty() && !reads_step) return;
  const cpp::Expr numbers = cpp::Name("numbers");
  code.Gap();
  code.Comment("Numbers that differ from step to step, and where kernels read them.");
  code.Construct({cpp::Name("StepNumbers"), "numbers"}, cpp::Braces({scalars.size()}));
  if (reads_step) code.Declare({cpp::ConstPointer(cpp::Name("const uint64_t")), "step"}, numbers.Call("step"));
  for (size_t i = 0; i < scalars.size(); ++i) {
    code.Declare({cpp::ConstPointer(cpp::Name("const float")), emission.number_places.at(scalars[i]->output)},
                 numbers.Call("number", {i}));
  }
}

}  // namespace

void EmitFields(const Emission& emission, const LayeredText& text, const cpp::Code& functions, cpp::Code& code) {
  const ir::Program& program = emission.program;
  const bool is_device = emission.target.is_device;
  if (!emission.sharing.readers.empty()) code.Member({cpp::Name("const OfStage"), "of_stage"});
  Given("Comm", "comm", code);
  Given("Watch", "watch", code);
  if (HasGlances(program)) Given("Observer", "observer", code);
  if (HasTotals(program)) code.Member({cpp::Name("Totals"), "totals"});
  code.Member({cpp::Name("const uint64_t"), "seed"});
  if (DependsOnStep(program) && !is_device) Given("const uint64_t", "step", code);
  if (ReadsCoordinates(emission)) Given("const std::vector<int64_t>", "coordinates", code);
  if (emission.rank_numbers.uses_rank()) code.Declare({cpp::Name("const int"), "rank"}, cpp::Call("comm.rank", {}));
  EmitPlace(emission, text, code);
  EmitArena(emission, code);
  if (is_device) EmitStepNumbers(emission, code);
  text.WriteFields(code);
  EmitBuffers(emission, "The data of a step.", {ir::OpKind::kInput}, text, code);
  const bool trains = emission.training.mode == ir::Mode::kTrain;
  EmitBuffers(emission,
              trains ? "Parameters, state of the optimizer and constants."
                     : "Parameters, constants, and what is remembered of earlier places.",
              {ir::OpKind::kParameter, ir::OpKind::kState, ir::OpKind::kConstant, ir::OpKind::kRankValue}, text, code);
  EmitBuffers(emission, "Copies of parameters, kept from step to step.", {ir::OpKind::kCast}, text, code);
  EmitBuffers(emission, "Values of a step; those that are not needed at the same time share memory.", {}, text, code);
  EmitBuckets(emission, text, functions, code);
}

}  // namespace cleave::codegen

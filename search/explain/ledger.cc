// Reading guide: LedgersOf takes the costs of the programs of ranks from the predictor; Rows makes a row of each fused
// step (ir::FusedStage), and joins those of equal layers.
#include "search/explain/ledger.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/check/check.h"
#include "base/layer_names/layer_names.h"
#include "base/match/match.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"
#include "search/price/cost/pipeline.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

bool IsNorm(ir::OpKind kind) {
  return kind == ir::OpKind::kLayerNorm || kind == ir::OpKind::kRmsNorm ||
         kind == ir::OpKind::kLayerNormGradientInput || kind == ir::OpKind::kLayerNormGradientScale;
}

WorkKind KindOf(const ir::Step& step) {
  const ir::Compute* const compute = ir::ComputeOf(step);
  if (compute == nullptr) return WorkKind::kLoop;
  if (ir::IsOfAttention(compute->kind)) return WorkKind::kAttention;
  if (IsNorm(compute->kind)) return WorkKind::kNorm;
  switch (ir::DefinitionOf(compute->kind).op_class) {
    case ir::OpClass::kProduct:
      return WorkKind::kProduct;
    case ir::OpClass::kReduction:
      return WorkKind::kRows;
    case ir::OpClass::kMovement:
      return WorkKind::kMovement;
    case ir::OpClass::kElementwise:
      return WorkKind::kLoop;
    case ir::OpClass::kSource:
      return WorkKind::kInput;
  }
  CLEAVE_UNREACHABLE();
}

// What the runtime launches for an op beside one kernel: what adds up the parts of sums; the mean of a loss, in two;
// and the order of rows that are added by their numbers, in four, behind a fill.
NodeCounts MoreNodesOf(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::kLayerNormGradientScale:
      return {.kernels = 1};
    case ir::OpKind::kCrossEntropy:
      return {.kernels = 2};
    case ir::OpKind::kMse:
    case ir::OpKind::kMae:
    case ir::OpKind::kHuber:
    case ir::OpKind::kBceWithLogits:
      return {.kernels = 1};
    case ir::OpKind::kScatterAdd:
    case ir::OpKind::kEmbeddingGradient:
      return {.kernels = 4, .fills = 1};
    default:
      return {};
  }
}

void Add(NodeCounts& counts, const NodeCounts& more, int64_t times = 1) {
  counts.kernels += more.kernels * times;
  counts.copies += more.copies * times;
  counts.fills += more.fills * times;
  counts.others += more.others * times;
}

// A chip on which every product runs at the peak.
Cluster AtPeak(Cluster cluster) {
  cluster.matrix_efficiency.clear();
  cluster.peak.loops = 0;  // Attention is a product.
  return cluster;
}

bool IsProduct(ir::OpKind kind) { return ir::DefinitionOf(kind).op_class == ir::OpClass::kProduct; }

// "[8,1024,768]"
std::string ShapeText(const ir::Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

class Rows {
 public:
  Rows(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster)
      : program_(program), fusion_(fusion), cluster_(cluster), at_peak_(AtPeak(cluster)) {}

  void Fill(const StepCosts& costs, Ledger& ledger) {
    Seconds begin{0};
    for (const InputCost& input : costs.inputs) {
      const ir::Step& step = StepAt(input.step);
      Add({.kind = WorkKind::kInput,
           .phase = step.phase,
           .names = {step.name},
           .ops = {step.name},
           .shown = {},
           .step = input.step,
           .each = input.cost},
          {.stage = -1, .begin = begin, .seconds = input.cost.AllSeconds()});
      begin += input.cost.AllSeconds();
    }
    FindReaders();
    row_of_stage_.assign(fusion_.stages.size(), -1);
    for (size_t i = 0; i < fusion_.stages.size(); ++i) {
      if (fusion_.stages[i].phase == ir::Phase::kMetric) continue;
      const StageCost& cost = costs.stages[i];
      AddStage(fusion_.stages[i], cost,
               {.stage = static_cast<int>(i), .begin = costs.begins[i], .seconds = cost.AllSeconds()});
    }
    ledger.rows = std::move(rows_);
    ledger.timeline = std::move(timeline_);
    ledger.row_of = std::move(row_of_stage_);
    ledger.reader_of = std::move(reader_of_);
  }

 private:
  const ir::Step& StepAt(int step) const { return program_.steps[static_cast<size_t>(step)]; }

  // What other ranks send, and the first stage behind it that reads that.
  void FindReaders() {
    reader_of_.assign(fusion_.stages.size(), -1);
    IdVector<ir::ValueId, int> sent_by(program_.values.size(), -1);
    for (size_t i = 0; i < fusion_.stages.size(); ++i) {
      const ir::FusedStage& stage = fusion_.stages[i];
      if (stage.phase == ir::Phase::kMetric) continue;
      for (const int step : ir::StepsOf(stage)) {
        for (const ir::ValueId value : ir::Reads(StepAt(step))) {
          int& sender = sent_by[value];
          if (sender >= 0 && reader_of_[static_cast<size_t>(sender)] < 0) {
            reader_of_[static_cast<size_t>(sender)] = static_cast<int>(i);
          }
        }
      }
      const ir::Step& first = StepAt(ir::StepsOf(stage).front());
      const bool arrives =
          ir::CommunicationOf(program_, first) != nullptr || std::holds_alternative<ir::Receive>(first.action);
      for (const ir::ValueId value : ir::Writes(first)) {
        // What only gives a value another name or shape hands it on.
        int from = arrives ? static_cast<int>(i) : -1;
        if (!arrives && fusion_.DoesNothing(first)) {
          for (const ir::ValueId input : ir::Reads(first)) from = std::max(from, sent_by[input]);
        }
        sent_by[value] = from;
      }
    }
  }

  // The places of ShownSteps.
  std::vector<std::string> ShownOf(const ir::FusedStage& stage) const {
    std::vector<std::string> places;
    for (const int step : ShownSteps(program_, fusion_, stage)) places.push_back(LayerNameOf(StepAt(step).name).place);
    return places;
  }

  void AddStage(const ir::FusedStage& stage, const StageCost& cost, const TimedRow& timed) {
    const ir::StageSteps steps = ir::StepsOf(stage);
    const ir::Step& first = StepAt(steps.front());
    LedgerRow row{.phase = stage.phase, .names = {first.name}, .step = steps.front(), .each = cost};
    for (const int step : steps) row.ops.push_back(StepAt(step).name);
    row.shown = ShownOf(stage);
    if (const int reader = reader_of_[static_cast<size_t>(timed.stage)]; reader >= 0) {
      const std::vector<std::string> shown = ShownOf(fusion_.stages[static_cast<size_t>(reader)]);
      row.read_by = shown.empty() ? "" : shown.front();
    }
    if (const ir::Collective* collective = ir::CommunicationOf(program_, first); collective != nullptr) {
      row.kind = WorkKind::kCollective;
      row.what = std::string(ir::CollectiveKindName(collective->kind));
      row.nodes = {.kernels = 1, .others = 2};
      row.links = LinksOf(collective->axes);
    } else if (std::holds_alternative<ir::Send>(first.action)) {
      row.kind = WorkKind::kCollective;
      row.what = "send";
      row.links = LinksOf({program_.pipeline->axis});
    } else if (std::holds_alternative<ir::HostCopy>(first.action)) {
      row.kind = WorkKind::kCopy;
      row.nodes = {.copies = 1};
    } else if (std::holds_alternative<ir::Slice>(first.action) && !fusion_.DoesNothing(first)) {
      row.kind = WorkKind::kSlice;
      row.nodes = {.copies = 1};
    } else if (cost.limit == Limit::kNone) {
      return;
    } else {
      row.loops = ir::LoopsOf(stage).size();
      row.calls = ir::JointCallsOf(stage).size();
      DescribeKernel(row.loops > 1   ? absl::MakeSpan(ir::LoopsOf(stage).front().steps)
                     : row.calls > 1 ? absl::MakeSpan(ir::JointCallsOf(stage).front().steps)
                                     : absl::MakeSpan(steps),
                     row);
    }
    Add(std::move(row), timed);
  }

  // By its steps; of loops that run as one kernel, by those of the first.
  void DescribeKernel(absl::Span<const int> steps, LedgerRow& row) const {
    row.nodes = {.kernels = 1};
    for (const int step : steps) {
      const ir::Compute* const compute = ir::ComputeOf(StepAt(step));
      if (compute != nullptr) search::Add(row.nodes, MoreNodesOf(compute->kind));
      if (compute != nullptr && IsAttentionOfOurs(*compute)) row.nodes.kernels = 3;
    }
    // Of several of one kind the last one, whose value is that of the kernel.
    row.step = *std::min_element(steps.rbegin(), steps.rend(),
                                 [&](int a, int b) { return KindOf(StepAt(a)) < KindOf(StepAt(b)); });
    const ir::Step& main = StepAt(row.step);
    row.kind = KindOf(main);
    row.names = {main.name};
    for (const int step : steps) {
      const ir::Compute* const compute = ir::ComputeOf(StepAt(step));
      if (compute == nullptr || !IsProduct(compute->kind)) continue;
      std::vector<ir::TensorType> inputs;
      for (const ir::ValueId input : compute->inputs) inputs.push_back(LocalType(input));
      row.at_peak += ArithmeticSeconds(at_peak_, ir::DefinitionOf(compute->kind), inputs, LocalType(compute->output),
                                       compute->attributes);
    }
    if (row.kind == WorkKind::kProduct || row.kind == WorkKind::kAttention) {
      row.what = ShapesOf(*ir::ComputeOf(main));
    } else if (row.phase == ir::Phase::kUpdate) {
      row.kind = WorkKind::kUpdate;
    }
  }

  // Whether cuDNN leaves the gradients of attention to the runtime, which computes what rows share, those of queries,
  // and those of keys and values.
  bool IsAttentionOfOurs(const ir::Compute& compute) const {
    const bool is_gradient = compute.kind == ir::OpKind::kAttentionGradientQuery ||
                             compute.kind == ir::OpKind::kAttentionGradientKey ||
                             compute.kind == ir::OpKind::kAttentionGradientValue;
    return is_gradient && LocalType(compute.inputs[0]).dtype == ir::DType::kF32;
  }

  ir::TensorType LocalType(ir::ValueId value) const {
    return {.dtype = program_.value(value).type.dtype, .shape = ir::LargestLocalShape(program_, value)};
  }

  // "matmul [8192,768] x [768,2304] -> bf16[8192,2304]"; of attention queries and keys, which say all.
  std::string ShapesOf(const ir::Compute& compute) const {
    const auto shape = [&](std::string* text, ir::ValueId value) {
      absl::StrAppend(text, ShapeText(LocalType(value).shape));
    };
    if (ir::IsOfAttention(compute.kind)) {
      return absl::StrCat(ir::OpKindName(compute.kind), " ",
                          absl::StrJoin(absl::MakeSpan(compute.inputs).subspan(0, 2), " x ", shape));
    }
    const ir::TensorType output = LocalType(compute.output);
    return absl::StrCat(ir::OpKindName(compute.kind), " ", absl::StrJoin(compute.inputs, " x ", shape), " -> ",
                        ir::DTypeName(output.dtype), ShapeText(output.shape));
  }

  std::string LinksOf(absl::Span<const ir::AxisId> axes) const {
    std::vector<std::string> names;
    for (const Link& link : cluster_.links) {
      const bool crosses = std::any_of(axes.begin(), axes.end(),
                                       [&](ir::AxisId axis) { return program_.mesh.axis(axis).link == link.name; });
      if (crosses) names.push_back(link.name);
    }
    return absl::StrJoin(names, "+");
  }

  // To the row of an equal layer, if there is one.
  void Add(LedgerRow row, TimedRow timed) {
    const StageCost& each = row.each;
    const auto [found, is_new] =
        row_of_.emplace(std::tuple(row.kind, row.phase, FoldedText(LayerNameOf(row.names.front()).place),
                                   row.ops.size(), row.what, row.links, each.runs, each.seconds, each.bytes, each.sent),
                        rows_.size());
    timed.row = static_cast<int>(found->second);
    if (timed.stage >= 0) row_of_stage_[static_cast<size_t>(timed.stage)] = timed.row;
    timeline_.push_back(timed);
    if (is_new) {
      rows_.push_back(std::move(row));
      return;
    }
    LedgerRow& own = rows_[found->second];
    own.names.push_back(std::move(row.names.front()));
    for (std::string& place : row.shown) {
      if (std::find(own.shown.begin(), own.shown.end(), place) == own.shown.end())
        own.shown.push_back(std::move(place));
    }
  }

  const ir::Program& program_;
  const ir::Fusion& fusion_;
  const Cluster& cluster_;
  const Cluster at_peak_;
  std::vector<LedgerRow> rows_;
  std::vector<TimedRow> timeline_;
  std::vector<int> row_of_stage_, reader_of_;  // By index in Fusion::stages.
  std::map<
      std::tuple<WorkKind, ir::Phase, std::string, size_t, std::string, std::string, int64_t, Seconds, Bytes, double>,
      size_t>
      row_of_;
};

// Of a manual model each rank has its own tensors.
void AddModel(const ir::Graph& graph, const Cluster& cluster, int64_t ranks, Ledger& ledger) {
  const Cluster at_peak = AtPeak(cluster);
  const auto all = static_cast<double>(ranks);
  const double times = graph.is_manual() ? all : 1;
  for (const ir::Op& op : graph.ops) {
    if (op.phase == ir::Phase::kMetric || !IsProduct(op.kind)) continue;
    const ir::OpDefinition& definition = ir::DefinitionOf(op.kind);
    const std::vector<ir::TensorType> inputs = ir::InputTypes(graph, op);
    ledger.model += definition.flops(inputs, op.type, op.attributes) * times;
    ledger.model_at_peak += ArithmeticSeconds(at_peak, definition, inputs, op.type, op.attributes) * (times / all);
  }
}

void FillWhole(const Explained& explained, Ledger& ledger) {
  const ir::LoweredProgram& made = explained.made;
  const StepCosts costs =
      CostsOfStep(made.program, made.memory.fusion, explained.cluster, explained.execution.overlaps);
  Rows(made.program, made.memory.fusion, explained.cluster).Fill(costs, ledger);
  ledger.sum = costs.sum;
  ledger.step = costs.sum.step;
  ledger.beside = costs.sum.Alone() - ledger.step;
}

void FillPart(const Explained& explained, const PipelinePrediction& pipeline, size_t index, Ledger& ledger) {
  const ir::PartProgram& part = explained.made.parts[index];
  const StepCosts& costs = pipeline.parts[index];
  Rows(part.program, part.memory.fusion, explained.cluster).Fill(costs, ledger);
  ledger.timeline.clear();
  ledger.sum = costs.sum;
  ledger.step = pipeline.whole.step;
  Seconds busy = pipeline.once[index];
  for (const PassTime& pass : pipeline.passes) {
    const auto of = static_cast<size_t>(ir::TimetableOf(part.program).PartOf(pass.stage));
    if (of == index) busy += pass.end - pass.begin;
  }
  ledger.beside = costs.sum.Alone() - busy;
  ledger.idle = ledger.step - busy;
}

}  // namespace

absl::string_view WorkKindName(WorkKind kind) {
  switch (kind) {
    case WorkKind::kAttention:
      return "attention";
    case WorkKind::kProduct:
      return "products";
    case WorkKind::kNorm:
      return "norms";
    case WorkKind::kRows:
      return "rows";
    case WorkKind::kMovement:
      return "movement";
    case WorkKind::kLoop:
      return "loops";
    case WorkKind::kUpdate:
      return "update";
    case WorkKind::kInput:
      return "inputs";
    case WorkKind::kSlice:
      return "slices";
    case WorkKind::kCollective:
      return "collectives";
    case WorkKind::kCopy:
      return "copies";
  }
  CLEAVE_UNREACHABLE();
}

ir::StageSteps ShownSteps(const ir::Program& program, const ir::Fusion& fusion, const ir::FusedStage& stage) {
  const ir::StageSteps steps = ir::StepsOf(stage);
  return Match(
      stage.action,
      [&](const ir::SingleStep& single) -> ir::StageSteps {
        const ir::Step& step = program.steps[static_cast<size_t>(single.step)];
        const bool is_silent =
            fusion.DoesNothing(step) && (ir::IsAlias(step) || fusion.parts.contains(ir::Writes(step).front()));
        return is_silent ? ir::StageSteps() : ir::StageSteps{single.step};
      },
      [](const ir::AccumulatedProduct& product) { return ir::StageSteps{product.sum}; },
      [&](const ir::AttentionForward&) { return ir::StageSteps{steps.back()}; },
      [&](const ir::AttentionBackward&) { return ir::StageSteps{steps.back()}; },
      [&](const auto&) {
        // What is written; in the update, and of loops that run at the same time, the first.
        ir::StageSteps written;
        for (const int step : steps) {
          if (!fusion.inside.contains(ir::Writes(program.steps[static_cast<size_t>(step)]).front()))
            written.push_back(step);
        }
        if (stage.phase == ir::Phase::kUpdate || ir::LoopsOf(stage).size() > 1) written.resize(1);
        return written;
      });
}

NodeCounts NodesOf(const Ledger& ledger) {
  NodeCounts counts;
  for (const LedgerRow& row : ledger.rows) Add(counts, row.nodes, row.Runs());
  return counts;
}

Seconds Ledger::BeginOf(size_t stage) const {
  const auto comes = std::find_if(timeline.begin(), timeline.end(),
                                  [&](const TimedRow& timed) { return timed.stage >= static_cast<int>(stage); });
  if (comes != timeline.end()) return comes->begin;
  return timeline.empty() ? Seconds(0) : step;
}

std::vector<Ledger> LedgersOf(const Explained& explained) {
  const ir::LoweredProgram& made = explained.made;
  Ledger model;
  AddModel(explained.graph, explained.cluster, ir::RankMesh(made.program).rank_count(), model);
  std::vector<Ledger> ledgers(std::max<size_t>(made.parts.size(), 1), model);
  if (made.parts.empty()) {
    FillWhole(explained, ledgers.front());
    return ledgers;
  }
  const PipelinePrediction pipeline = PredictPipeline(made.parts, explained.cluster, explained.execution.overlaps);
  for (size_t part = 0; part < ledgers.size(); ++part) FillPart(explained, pipeline, part, ledgers[part]);
  return ledgers;
}

size_t PartOf(const Explained& explained, int rank) {
  const ir::Program& program = explained.made.program;
  const ir::Mesh mesh = ir::RankMesh(program);
  CLEAVE_CHECK(rank >= 0 && rank < mesh.rank_count()) << rank;
  return explained.made.parts.empty() ? 0 : static_cast<size_t>(mesh.Index(rank, {program.pipeline->axis}));
}

Ledger LedgerOf(const Explained& explained, int rank) {
  const size_t part = PartOf(explained, rank);
  return std::move(LedgersOf(explained)[part]);
}

}  // namespace cleave::search

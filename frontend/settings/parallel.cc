#include <limits>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "frontend/settings/choice.h"
#include "frontend/settings/settings.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::frontend {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 20;

class ParallelReader {
 public:
  ParallelReader(Evaluator& evaluator, Reporter& reporter) : evaluator_(evaluator), reporter_(reporter) {}

  void Read(const dsl::syntax::Setting& setting) {
    const std::string& name = setting.name.text;
    const dsl::syntax::Expression& value = setting.value;
    if (name == "devices") ReadDevices(value);
    if (name == "mesh") ReadMesh(value);
    if (name == "search") {
      settings_.search_span = value.span;
      settings_.search_given = true;
      ReadChoice<ir::SearchAlgorithm>(reporter_, name, value, settings_.search,
                                      {{"sapp", ir::SearchAlgorithm::kSapp},
                                       {"propagate", ir::SearchAlgorithm::kPropagate},
                                       {"exact", ir::SearchAlgorithm::kExact},
                                       {"data_parallel", ir::SearchAlgorithm::kDataParallel},
                                       {"replicate", ir::SearchAlgorithm::kReplicate},
                                       {"manual", ir::SearchAlgorithm::kManual}});
    }
    if (name == "dataset") ReadDataset(value);
    if (name == "objective") {
      settings_.objective_span = value.span;
      ReadChoice<ir::Objective>(reporter_, name, value, settings_.objective,
                                {{"speed", ir::Objective::kSpeed},
                                 {"memory", ir::Objective::kMemory},
                                 {"compute_to_communication", ir::Objective::kComputeToCommunication}});
    }
    if (name == "memory") ReadMemory(value);
    if (name == "cost") {
      settings_.cost_span = value.span;
      ir::Price cost = settings_.price();
      ReadChoice<ir::Price>(
          reporter_, name, value, cost,
          {{"bytes", ir::Price::kBytes}, {"classic", ir::Price::kClassic}, {"time", ir::Price::kTime}});
      settings_.cost = cost;
    }
    if (name == "leave_idle") {
      leave_idle_span_ = value.span;
      bool& leave_idle = settings_.leave_idle.emplace();
      ReadBool(evaluator_, reporter_, name, value, leave_idle);
    }
    if (name == "gradient_weight") settings_.gradient_weight = ReadWeight(name, value);
    if (name == "redistribution_weight") {
      redistribution_weight_span_ = value.span;
      settings_.redistribution_weight = ReadWeight(name, value).value_or(settings_.redistribution_weight);
    }
    if (name == "zero") ReadZero(value);
    if (name == "micro_batches") ReadMicroBatches(value);
    if (name == "stages") ReadStages(value);
    if (name == "pipeline_schedule") ReadPipelineSchedule(name, value);
    if (name == "row_updates") {
      settings_.row_updates_span = value.span;
      ReadChoice<ir::TableRows>(
          reporter_, name, value, settings_.row_updates,
          {{"auto", ir::TableRows::kAuto}, {"none", ir::TableRows::kNone}, {"all", ir::TableRows::kAll}});
    }
    if (name == "slice_losses") {
      ReadChoice<ir::SliceLosses>(
          reporter_, name, value, settings_.slice_losses,
          {{"auto", ir::SliceLosses::kAuto}, {"none", ir::SliceLosses::kNone}, {"all", ir::SliceLosses::kAll}});
    }
    if (name == "ring_attention") {
      settings_.ring_attention_span = value.span;
      ReadChoice<ir::RingAttentions>(reporter_, name, value, settings_.ring_attention,
                                     {{"auto", ir::RingAttentions::kAuto},
                                      {"none", ir::RingAttentions::kNone},
                                      {"all", ir::RingAttentions::kAll}});
    }
    if (name == "zigzag") {
      settings_.zigzag_span = value.span;
      ReadCount(name, value, {.least = 1, .most = ir::kMostZigzagPairs}, settings_.zigzag);
    }
    if (name == "collective_matmul") {
      settings_.collective_matmul_span = value.span;
      ReadCount(name, value, {.least = 2, .most = ir::kMostChunks}, settings_.collective_matmul);
    }
    if (name == "parameter_plan") {
      ReadChoice<bool>(reporter_, name, value, settings_.passes_over_parameters,
                       {{"strict", false}, {"lenient", true}});
    }
    if (name == "recompute") {
      settings_.recompute_span = value.span;
      ReadChoice<ir::Recompute>(
          reporter_, name, value, settings_.recompute,
          {{"auto", ir::Recompute::kAuto}, {"none", ir::Recompute::kNone}, {"full", ir::Recompute::kFull}});
    }
    if (name == "reduce") {
      settings_.sums_span = value.span;
      ReadChoice<std::optional<ir::DType>>(reporter_, name, value, settings_.sums,
                                           {{"values", std::nullopt}, {"f32", ir::DType::kF32}});
    }
    if (name == "outside") {
      settings_.outside_span = value.span;
      ReadChoice<ir::Outside>(reporter_, name, value, settings_.outside,
                              {{"replicate", ir::Outside::kReplicate}, {"search", ir::Outside::kSearch}});
    }
  }

  ir::ParallelSettings Finish(bool knows_devices) {
    // Where the compiler chooses how many stages there are, it chooses their schedule, too.
    if (!settings_.stages.has_value() && !has_schedule_) settings_.pipeline_schedule = std::nullopt;
    if (settings_.leave_idle.value_or(false) && settings_.price() != ir::Price::kTime) {
      reporter_.Report(Error(Code::kE0508, "`leave_idle` belongs to the price `time`")
                           .At(leave_idle_span_, "under other prices the cheapest plan would use one device")
                           .Help("add `cost = time;`, or leave it out"));
    }
    if (redistribution_weight_span_.is_somewhere() && settings_.cost != ir::Price::kClassic) {
      reporter_.Report(Error(Code::kE0508, "`redistribution_weight` belongs to the price `classic`")
                           .At(redistribution_weight_span_, "no other price has it")
                           .Help("add `cost = classic;`, or leave it out"));
    }
    if (!mesh_is_wrong_) {
      int64_t product = 1;
      std::string text;
      for (const ir::NamedAxis& axis : settings_.mesh) {
        product = std::min(kMaxDevices + 1, product * axis.size);
        absl::StrAppend(&text, text.empty() ? "" : " x ", axis.size);
      }
      // The mesh is that of the ranks of one stage.
      const bool is_open = !settings_.stages.has_value();
      if (const int64_t stages = settings_.stages.value_or(1); stages > 1) {
        product = std::min(kMaxDevices + 1, product * stages);
        absl::StrAppend(&text, " x ", stages, " stages");
      }
      if (product > kMaxDevices) {
        Impossible(settings_.mesh_span, "a mesh has at most 1,048,576 devices", absl::StrCat("this is ", text));
      } else if (settings_.devices && !knows_devices && !settings_.mesh.empty() && !is_open &&
                 product != settings_.devices->value) {
        reporter_.Report(
            Error(Code::kE0306, absl::StrCat("the mesh has ", product, " devices, not ", settings_.devices->value))
                .At(settings_.mesh_span, settings_.mesh.size() > 1 || settings_.stages != 1
                                             ? absl::StrCat(text, " = ", product)
                                             : "the only axis")
                .At(settings_.devices->span, absl::StrCat(settings_.devices->value, " devices asked for")));
      }
    }
    return settings_;
  }

 private:
  void Impossible(Span span, std::string message, std::string label) {
    reporter_.Report(Error(Code::kE0508, std::move(message)).At(span, std::move(label)));
  }

  void ReadDevices(const dsl::syntax::Expression& value) {
    const std::optional<int64_t> count = evaluator_.EvaluateInt(value, "`devices`");
    if (!count) return;
    if (*count < 1 || *count > kMaxDevices) {
      Impossible(value.span, "`devices` must be 1 to 1,048,576", absl::StrCat("this is ", *count));
      return;
    }
    settings_.devices = ir::Placed<int64_t>{*count, value.span};
  }

  void ReadMesh(const dsl::syntax::Expression& value) {
    const auto* tuple = std::get_if<dsl::syntax::Tuple>(&value.kind);
    settings_.mesh_span = value.span;
    if (tuple == nullptr || tuple->elements.empty()) {
      Impossible(value.span, "`mesh` is a list of named axes", "such as `(dp = 4, tp = 2)`");
      return;
    }
    for (const dsl::syntax::Argument& element : tuple->elements) {
      if (!element.name) {
        Impossible(element.span, "an axis of the mesh needs a name", "such as `dp = 4`");
        continue;
      }
      const std::optional<int64_t> size = evaluator_.EvaluateInt(*element.value, "the size of a mesh axis");
      if (!size) continue;
      if (*size < 1 || *size > kMaxDevices) {
        mesh_is_wrong_ = true;
        Impossible(element.value->span, "a mesh axis has 1 to 1,048,576 devices", absl::StrCat("this is ", *size));
        continue;
      }
      bool taken = false;
      for (const ir::NamedAxis& other : settings_.mesh) {
        if (other.name != element.name->text) continue;
        taken = true;
        mesh_is_wrong_ = true;
        reporter_.Report(Error(Code::kE0202, absl::StrCat("mesh axis `", other.name, "` is defined twice"))
                             .At(element.name->span, "defined again here")
                             .At(other.span, "first defined here"));
      }
      if (!taken) settings_.mesh.push_back({element.name->text, *size, element.name->span});
    }
  }

  void ReadDataset(const dsl::syntax::Expression& value) {
    if (std::holds_alternative<dsl::syntax::Map>(value.kind)) return;  // These are pins: see AddDatasetPins.
    settings_.dataset_given = true;
    ReadChoice<ir::DatasetLayout>(
        reporter_, "dataset", value, settings_.dataset,
        {{"data_parallel", ir::DatasetLayout::kDataParallel}, {"full_batch", ir::DatasetLayout::kFullBatch}});
  }

  void ReadMemory(const dsl::syntax::Expression& value) {
    const std::optional<int64_t> bytes = evaluator_.EvaluateInt(value, "`memory`");
    if (!bytes) return;
    if (*bytes < 1) {
      Impossible(value.span, "`memory` must be positive", absl::StrCat("this is ", *bytes, " bytes"));
      return;
    }
    settings_.memory = ir::Placed<int64_t>{*bytes, value.span};
  }

  std::optional<double> ReadWeight(const std::string& name, const dsl::syntax::Expression& value) {
    const std::optional<double> weight = evaluator_.EvaluateNumber(value, absl::StrCat("`", name, "`"));
    constexpr double kMost = 1e9;  // Beside larger ones no other cost would count.
    if (!weight || (*weight >= 0 && *weight <= kMost)) return weight;
    Impossible(value.span, absl::StrCat("`", name, "` must be 0 to 1e9"),
               absl::StrCat("this is ", FormatDouble(*weight)));
    return std::nullopt;
  }

  static bool IsAuto(const dsl::syntax::Expression& value) {
    const auto* name = std::get_if<dsl::syntax::Name>(&value.kind);
    return name != nullptr && name->text == "auto";
  }

  void ReadZero(const dsl::syntax::Expression& value) {
    settings_.zero_span = value.span;
    if (IsAuto(value)) {
      settings_.zero = std::nullopt;
      return;
    }
    const std::optional<int64_t> level = evaluator_.EvaluateInt(value, "`zero`");
    if (!level) return;
    if (*level < 0 || *level > 3) {
      Impossible(value.span, "`zero` is 0, 1, 2, 3 or `auto`", absl::StrCat("this is ", *level));
    } else {
      settings_.zero = *level;
    }
  }

  void ReadMicroBatches(const dsl::syntax::Expression& value) {
    settings_.micro_batches_span = value.span;
    if (IsAuto(value)) {
      settings_.micro_batches = std::nullopt;
      return;
    }
    const std::optional<int64_t> count = evaluator_.EvaluateInt(value, "`micro_batches`");
    if (!count) return;
    if (*count < 1 || *count > ir::kMostMicroBatches) {
      Impossible(value.span, absl::StrCat("`micro_batches` is 1 to ", ir::kMostMicroBatches, " or `auto`"),
                 absl::StrCat("this is ", *count));
    } else {
      settings_.micro_batches = *count;
    }
  }

  struct Counts {
    int64_t least = 1;
    int64_t most = 1;
  };
  // A number, `auto` or `none`: 0.
  void ReadCount(const std::string& setting, const dsl::syntax::Expression& value, const Counts& counts,
                 std::optional<int64_t>& count) {
    count = std::nullopt;
    const auto* name = std::get_if<dsl::syntax::Name>(&value.kind);
    if (name != nullptr && name->text == "none") count = 0;
    if (IsAuto(value) || count.has_value()) return;
    const std::optional<int64_t> number = evaluator_.EvaluateInt(value, absl::StrCat("`", setting, "`"));
    if (!number) return;
    if (*number < counts.least || *number > counts.most) {
      Impossible(value.span,
                 absl::StrCat("`", setting, "` is ", counts.least, " to ", counts.most, ", `auto` or `none`"),
                 absl::StrCat("this is ", *number));
    } else {
      count = *number;
    }
  }

  void ReadStages(const dsl::syntax::Expression& value) {
    settings_.stages_span = value.span;
    if (IsAuto(value)) {
      settings_.stages = std::nullopt;
      return;
    }
    const std::optional<int64_t> count = evaluator_.EvaluateInt(value, "`stages`");
    if (!count) return;
    if (*count < 1 || *count > ir::kMostStages) {
      Impossible(value.span, absl::StrCat("`stages` is 1 to ", ir::kMostStages, " or `auto`"),
                 absl::StrCat("this is ", *count));
    } else {
      settings_.stages = *count;
    }
  }

  // A name, `interleaved(2)`, or `auto`.
  void ReadPipelineSchedule(const std::string& name, const dsl::syntax::Expression& value) {
    has_schedule_ = true;
    settings_.pipeline_schedule_span = value.span;
    const auto* call = std::get_if<dsl::syntax::Call>(&value.kind);
    const auto* callee = call != nullptr ? std::get_if<dsl::syntax::Name>(&call->callee->kind) : nullptr;
    if (callee == nullptr || callee->text != kInterleaved) {
      using Schedule = ir::PipelineSchedule;
      ReadChoice<std::optional<Schedule>>(reporter_, name, value, settings_.pipeline_schedule,
                                          {{"one_f_one_b", Schedule(Schedule::kOneForwardOneBackward)},
                                           {"zero_bubble", Schedule(Schedule::kZeroBubble)},
                                           {"interleaved(2)", Schedule(Schedule::kInterleaved, 2)},
                                           {"gpipe", Schedule(Schedule::kGPipe)},
                                           {"auto", std::nullopt}});
      return;
    }
    const bool has_one = call->arguments.size() == 1 && !call->arguments.front().name.has_value();
    if (!has_one) {
      Impossible(value.span, absl::StrCat("`", kInterleaved, "` takes how many stages each rank has"),
                 "not one number, such as `interleaved(2)`");
      return;
    }
    const std::optional<int64_t> count = evaluator_.EvaluateInt(*call->arguments.front().value, "the stages of a rank");
    if (!count) return;
    if (*count < 2 || *count > ir::kMostStagesPerRank) {
      Impossible(call->arguments.front().value->span,
                 absl::StrCat("`", kInterleaved, "` takes 2 to ", ir::kMostStagesPerRank, " stages of a rank"),
                 absl::StrCat("this is ", *count));
      return;
    }
    settings_.pipeline_schedule = ir::PipelineSchedule(ir::PipelineSchedule::kInterleaved, static_cast<int>(*count));
  }

  static constexpr absl::string_view kInterleaved = "interleaved";

  Evaluator& evaluator_;
  Reporter& reporter_;
  ir::ParallelSettings settings_;
  Span redistribution_weight_span_, leave_idle_span_;
  bool has_schedule_ = false;   // It was given.
  bool mesh_is_wrong_ = false;  // It was reported; its product has no meaning.
};

}  // namespace

ir::ParallelSettings ReadParallel(const SettingTexts& settings, bool knows_devices, Evaluator& evaluator,
                                  Reporter& reporter) {
  ParallelReader reader(evaluator, reporter);
  for (const SettingText& text : settings) {
    reporter.SetContext(text.context);
    reader.Read(text.setting);
    reporter.SetContext("");
  }
  return reader.Finish(knows_devices);
}

}  // namespace cleave::frontend

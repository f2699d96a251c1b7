#include "codegen/source/program_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"
#include "codegen/source/attention.h"
#include "codegen/source/buckets.h"
#include "codegen/source/communication.h"
#include "codegen/source/element_text.h"
#include "codegen/source/emission.h"
#include "codegen/source/glance.h"
#include "codegen/source/host_copy.h"
#include "codegen/source/kernels.h"
#include "codegen/source/layered_text.h"
#include "codegen/source/pipeline.h"
#include "codegen/source/settings.h"
#include "codegen/source/stage_order.h"
#include "codegen/source/statements.h"
#include "ir/graph/ops/limit.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/training/samples.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::codegen {
namespace {

// Fields of the struct start in this column, statements of its functions two columns further.
constexpr int kMemberIndent = 2;

std::string StructName(const std::string& model) {
  const std::string name = TypeName(model);
  return absl::EndsWith(name, "Model") ? name : absl::StrCat(name, "Model");
}

// A function of the program: the steps of a phase that run equally often.
struct PhaseFunction {
  std::string name;
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = ir::Repeat::kEach;
  absl::string_view condition = "";  // Under which RunBatch calls it.
  std::optional<int> stage = {};     // Of a rank with several stages of a pipeline: the one whose steps these are.
};
const std::vector<PhaseFunction>& Phases() {
  static const auto& phases = *new std::vector<PhaseFunction>{
      {"BeforeForward", ir::Phase::kForward, ir::Repeat::kOnceBefore},
      {"BeforeMetrics", ir::Phase::kMetric, ir::Repeat::kOnceBefore, "metrics"},
      {"BeforeBackward", ir::Phase::kBackward, ir::Repeat::kOnceBefore, "gradients"},
      {"Forward", ir::Phase::kForward, ir::Repeat::kEach},
      {"Metrics", ir::Phase::kMetric, ir::Repeat::kEach, "metrics"},
      {"Backward", ir::Phase::kBackward, ir::Repeat::kEach, "gradients"},
      {"WeightGradients", ir::Phase::kWeights, ir::Repeat::kEach, "gradients"},
      {"AfterForward", ir::Phase::kForward, ir::Repeat::kOnceAfter},
      {"AfterMetrics", ir::Phase::kMetric, ir::Repeat::kOnceAfter, "metrics"},
      {"AfterBackward", ir::Phase::kBackward, ir::Repeat::kOnceAfter, "gradients"},
      {"Update", ir::Phase::kUpdate, ir::Repeat::kOnceAfter},
  };
  return phases;
}
bool IsUpdate(const PhaseFunction& function) { return function.phase == ir::Phase::kUpdate; }

// A pass of a micro-batch, or a part of one.
bool IsInPass(const PhaseFunction& function) { return function.repeat == ir::Repeat::kEach && !IsUpdate(function); }

// The functions of a program, in the order of its text: each pass of a rank with several stages is one for each stage.
std::vector<PhaseFunction> FunctionsOf(const ir::Program& program) {
  std::vector<PhaseFunction> functions;
  for (const PhaseFunction& phase : Phases()) {
    if (!IsInPass(phase) || !program.part.has_value() || ir::OwnStages(program).size() == 1) {
      functions.push_back(phase);
      continue;
    }
    for (const ir::StagePass& pass : ir::TimetableOf(program).WayThrough(*program.part)) {
      if (pass.kind != ir::PassOf(phase.phase)) continue;
      PhaseFunction& own = functions.emplace_back(phase);
      absl::StrAppend(&own.name, "OfStage", pass.stage);
      own.stage = pass.stage;
    }
  }
  return functions;
}

// Whether all programs have the function.
bool IsCommon(const PhaseFunction& function) {
  if (function.stage.has_value()) return false;
  return IsUpdate(function) || (function.repeat == ir::Repeat::kEach && function.phase != ir::Phase::kWeights);
}

class ProgramWriter {
 public:
  ProgramWriter(const Emission& emission, const TextOptions& options)
      : emission_(emission),
        options_(options),
        type_(StructName(emission.program.model)),
        functions_(FunctionsOf(emission.program)) {
    emission_.identifiers.Reserve(type_);
    for (const ir::OpDefinition* op : ir::AllOps()) {
      if (op->element.has_value()) emission_.identifiers.Reserve(TypeName(op->name()));
    }
  }

  // What the struct is called, with the namespace of its stage.
  std::string QualifiedType() const {
    return program().part.has_value() ? absl::StrCat(Namespace(), "::", type_) : type_;
  }

  // Writes all that stands between the beginning of the program and its main.
  absl::Status Write(SourceWriter& writer) {
    CLEAVE_RETURN_IF_ERROR(CheckSteps());
    order_ = OrderStages(emission_);
    LayeredText text(emission_, Lists(), options_.repeats_layers);
    CLEAVE_RETURN_IF_ERROR(text.check());
    // Functions are written first, because only then is known which sizes, coordinates and groups must be declared.
    SourceWriter functions(kMemberIndent);
    LayTensorsOut(text, functions);
    EmitInitialize(text, functions);
    EmitPrepare(functions);
    if (program().time.has_value()) EmitRunBatch(functions);
    for (size_t i = 0; i < functions_.size(); ++i) EmitPhase(i, text, functions);
    EmitPassesOfAllStages(functions);
    EmitQueries(text, functions);
    SourceWriter fields(kMemberIndent);
    EmitFields(text, fields);
    CLEAVE_RETURN_IF_ERROR(text.check());

    EmitStageOpening(writer);
    EmitConstants(writer);
    writer.Append(emission_.element_functions.definitions());
    writer.Gap();
    writer.Append(emission_.kernels);
    text.WriteStructs(writer);
    writer.Gap();
    writer.Open(absl::StrCat("struct ", type_, " final : TrainingProgram {"));
    EmitConstructor(writer);
    writer.Append(functions);
    writer.Gap();
    writer.Append(fields);
    writer.Close("};");
    writer.Gap();
    if (program().part.has_value()) {
      writer.Line(absl::StrCat("}  // namespace ", Namespace()));
      writer.Gap();
    }
    return absl::OkStatus();
  }

 private:
  const ir::Program& program() const { return emission_.program; }
  const Target& target() const { return emission_.target; }

  absl::Status CheckSteps() const {
    for (const ir::Step& step : program().steps) {
      if (std::holds_alternative<ir::HostCopy>(step.action) && !target().is_device) {
        return absl::UnimplementedError(
            absl::StrCat("step `", step.name, "`: ", target().name, " has no memory besides that of the host"));
      }
      const ir::Compute* compute = ir::ComputeOf(step);
      if (compute == nullptr || ir::IsSource(step)) continue;
      if (!HasElementText(compute->kind) && !HasKernel(ir::DefinitionOf(compute->kind))) {
        return absl::UnimplementedError(absl::StrCat("op `", step.name, "`: `", ir::OpKindName(compute->kind),
                                                     "` has no emission for ", target().name));
      }
      for (const ir::ValueId input : compute->inputs) {
        if (emission_.storage.root[input].has_value() || !IsStepScalar(input)) continue;
        const bool is_late = step.phase != ir::Phase::kUpdate && ReadsStep(*emission_.SourceOf(input));
        if (!is_late && HasElementText(compute->kind)) continue;
        return absl::UnimplementedError(
            absl::StrCat("op `", step.name, "` reads a number of the optimizer outside of an elementwise update"));
      }
    }
    for (const ir::ProgramUpdate& update : emission_.storage.copies) {
      const bool overwritten = std::any_of(program().updates.begin(), program().updates.end(),
                                           [&](const ir::ProgramUpdate& other) { return other.state == update.value; });
      if (overwritten) {
        return absl::UnimplementedError(absl::StrCat("state `", program().value(update.state).name,
                                                     "` takes the old value of another updated state"));
      }
    }
    return absl::OkStatus();
  }

  bool IsStepScalar(ir::ValueId value) const {
    const ir::Compute* source = emission_.SourceOf(value);
    return source != nullptr && source->kind == ir::OpKind::kStepScalar;
  }

  // What is written statement by statement: the initial values, these functions, and the list of parameters.
  static constexpr size_t kInitialize = 0;
  static constexpr size_t kFirstPhase = 1;
  size_t ListedParameters() const { return kFirstPhase + functions_.size(); }

  std::vector<StatementList> Lists() {
    std::vector<StatementList> lists;
    lists.push_back(ListOfInitialValues());
    for (const PhaseFunction& function : functions_) {
      StatementList& list = lists.emplace_back(ListOfPhase(function));
      list.is_inline = IsUpdate(function);
      const std::vector<const ir::Compute*> scalars = ScalarsOf(function);
      if (scalars.empty()) continue;
      list.begin = [this, scalars](SourceWriter& writer) { EmitStepScalars(scalars, writer); };
      if (!IsUpdate(function)) continue;
      list.parameters = ", const StepScalars& scalars";
      list.arguments = ", scalars";
    }
    lists.push_back(ListOfParameters());
    for (const OrderedStage& ordered : order_) {
      const int step = ir::StepsOf(*ordered.stage).front();
      if (ordered.what == StageAction::What::kFinish || !TakesList(emission_, step)) continue;
      tensor_lists_[step] = lists.size();
      lists.push_back(ListOfTensors(step));
    }
    return lists;
  }

  // The tensors that a merged collective gathers or scatters.
  StatementList ListOfTensors(int step) {
    const auto& collective = std::get<ir::Collective>(emission_.step(step).action);
    const bool gathers = collective.kind == ir::CollectiveKind::kAllGather;
    StatementList list{.function = gathers ? "Gather" : "Scatter", .is_inline = true};
    list.parameters = absl::StrCat(", ", ListType(emission_, step), "& tensors");
    for (size_t i = 0; i < collective.transfers.size(); ++i) {
      list.statements.push_back(StatementOfTransfer(emission_, step, i));
    }
    list.emit = [this, step](int place, SourceWriter& writer) {
      const bool is_argument = emission_.layer != nullptr && emission_.layer->is_function;
      const std::string& name = is_argument ? "tensors" : list_;
      EmitListed(emission_, step, static_cast<size_t>(place), name, writer);
    };
    return list;
  }

  // Lets lists with tensors of layers be written by loops. `functions`: where the functions of layers are written.
  void LayTensorsOut(LayeredText& text, SourceWriter& functions) {
    for (const auto& [step, list] : tensor_lists_) {
      if (!text.HasLayers(list)) continue;
      emission_.tensor_lists[step] = [this, &text, &functions, list = list](const std::string& name,
                                                                            SourceWriter& writer) {
        list_ = name;
        text.SetArguments(list, absl::StrCat(", ", name));
        text.Write(list, functions, writer);
      };
    }
  }

  // The sources of these kinds that have memory, what the optimizer keeps of a parameter behind it.
  std::vector<int> SourcesOf(const std::set<ir::OpKind>& kinds) const {
    std::vector<int> steps;
    for (int i = 0; i < static_cast<int>(program().steps.size()); ++i) {
      const ir::Compute* compute = ir::ComputeOf(emission_.step(i));
      if (compute == nullptr || !ir::IsSource(emission_.step(i)) || kinds.count(compute->kind) == 0) continue;
      if (emission_.storage.root[compute->output].has_value()) steps.push_back(i);
    }
    SortByParameter(steps);
    return steps;
  }

  StatementList ListOfInitialValues() {
    StatementList list{.function = "Initialize", .is_inline = true};
    std::vector<int> steps =
        SourcesOf({ir::OpKind::kParameter, ir::OpKind::kState, ir::OpKind::kConstant, ir::OpKind::kRankValue});
    for (const int step : steps) list.statements.push_back(StatementOfSources(emission_, {step}));
    list.emit = [this, steps = std::move(steps)](int place, SourceWriter& writer) {
      EmitInitialValue(steps[static_cast<size_t>(place)], writer);
    };
    return list;
  }

  // Each parameter with what the optimizer keeps of it. What generation remembers belongs to none.
  StatementList ListOfParameters() {
    StatementList list{.function = "ListParameters", .is_inline = true};
    list.parameters = ", std::vector<ParameterView>& parameters";
    list.arguments = ", parameters";
    std::vector<std::vector<int>> entries;
    const bool trains = emission_.training.mode == ir::Mode::kTrain;
    const std::set<ir::OpKind> kinds = {ir::OpKind::kParameter, trains ? ir::OpKind::kState : ir::OpKind::kParameter};
    for (const int step : SourcesOf(kinds)) {
      const bool is_parameter = ir::ComputeOf(emission_.step(step))->kind == ir::OpKind::kParameter;
      CLEAVE_CHECK(is_parameter || !entries.empty()) << emission_.step(step).name << " belongs to no parameter";
      (is_parameter ? entries.emplace_back() : entries.back()).push_back(step);
    }
    for (const std::vector<int>& steps : entries) list.statements.push_back(StatementOfSources(emission_, steps));
    list.emit = [this, entries = std::move(entries)](int place, SourceWriter& writer) {
      EmitParameterView(entries[static_cast<size_t>(place)], writer);
    };
    return list;
  }

  // Puts what the optimizer keeps of a parameter behind it.
  void SortByParameter(std::vector<int>& steps) const {
    std::map<std::string, size_t> parameters;
    std::map<int, size_t> places;  // By step.
    for (size_t i = 0; i < steps.size(); ++i) {
      const ir::Step& step = emission_.step(steps[i]);
      const ir::OpKind kind = ir::ComputeOf(step)->kind;
      places[steps[i]] = i;
      if (kind == ir::OpKind::kParameter) parameters[step.name] = i;
      if (kind != ir::OpKind::kState) continue;
      const auto parameter = parameters.find(step.name.substr(0, step.name.rfind('.')));  // Of "h1.weight.momentum".
      if (parameter != parameters.end()) places[steps[i]] = parameter->second;
    }
    std::stable_sort(steps.begin(), steps.end(), [&](int a, int b) { return places.at(a) < places.at(b); });
  }

  StatementList ListOfPhase(const PhaseFunction& function) {
    StatementList list{.function = function.name};
    struct Said {
      OrderedStage stage;
      std::optional<ir::KernelCall> call = {};  // Of the stage's step, where each has a statement of its own.
      bool is_before_calls = false;
    };
    std::vector<Said> said;
    for (const OrderedStage& ordered : order_) {
      if (!IsIn(function, ordered)) continue;
      const std::vector<ir::KernelCall> calls = SeparateCalls(emission_, *ordered.stage);
      said.push_back({.stage = ordered, .is_before_calls = !calls.empty()});
      const int step = ir::StepsOf(*ordered.stage).front();
      list.statements.push_back(calls.empty() ? StatementOf(emission_, ordered)
                                              : StatementBeforeCalls(emission_, step));
      for (const ir::KernelCall& call : calls) {
        said.push_back({.stage = ordered, .call = call});
        list.statements.push_back(StatementOfCall(emission_, step, call));
      }
    }
    list.emit = [this, said = std::move(said)](int place, SourceWriter& writer) {
      const size_t i = static_cast<size_t>(place);
      const int step = ir::StepsOf(*said[i].stage.stage).front();
      if (said[i].call.has_value()) return EmitCall(emission_, step, *said[i].call, writer);
      if (said[i].is_before_calls) return EmitBeforeCalls(emission_, step, writer);
      // The action waits for several collectives, one after another.
      const auto finishes = [](const Said& one) { return one.stage.what == StageAction::What::kFinish; };
      if (finishes(said[i]) && (i == 0 || !finishes(said[i - 1]))) writer.Gap();
      EmitOrdered(said[i].stage, writer);
    };
    return list;
  }

  void EmitInitialize(LayeredText& text, SourceWriter& writer) {
    SourceWriter body(kMemberIndent + 2);
    text.Write(kInitialize, writer, body);
    writer.Gap();
    writer.Open("void Initialize() override {");
    writer.Append(body);
    writer.Close("}");
  }

  void EmitInitialValue(int i, SourceWriter& writer) {
    const ir::Step& step = emission_.step(i);
    const ir::Compute& compute = *ir::ComputeOf(step);
    if (compute.kind == ir::OpKind::kParameter) return EmitParameter(step, compute, writer);
    if (compute.kind == ir::OpKind::kRankValue) return EmitRankValue(compute, writer);
    const bool is_constant = compute.kind == ir::OpKind::kConstant;
    EmitFill(compute, NumberText(compute, is_constant ? compute.attributes.Get(ir::attribute::kValue) : 0), writer);
  }

  void EmitParameter(const ir::Step& step, const ir::Compute& compute, SourceWriter& writer) {
    const std::string& init = compute.attributes.Get(ir::attribute::kInit);
    const double first = compute.attributes.Get(ir::attribute::kFirst);
    if (init == "npy") {
      return writer.Comment(
          absl::StrCat(ShownName(emission_.layer, step.name), ": from a file that `main` names, when this is done."));
    }
    if (compute.attributes.Has(ir::attribute::kFormula)) {
      return EmitFill(compute, StepScalarText(compute.attributes, emission_), writer);
    }
    if (init == "constant") return EmitFill(compute, NumberText(compute, first), writer);
    writer.Call(init == "uniform" ? "InitializeUniform(" : "InitializeNormal(",
                {absl::StrCat("{seed, ", StreamName(step, compute), "}"), emission_.sizes.RegionText(compute.output),
                 FloatLiteral(first), FloatLiteral(compute.attributes.Get(ir::attribute::kSecond)),
                 emission_.names[compute.output]},
                ");");
  }

  void EmitRankValue(const ir::Compute& compute, SourceWriter& writer) {
    const std::string& name = emission_.names[compute.output];
    const std::string number = emission_.rank_numbers.FloatText(compute.attributes.Get(ir::attribute::kValues), name);
    writer.Call("Fill(", {number, "1", name}, ");");
  }

  // Each rank draws different numbers for a local parameter.
  std::string StreamName(const ir::Step& step, const ir::Compute& compute) {
    const bool is_local = compute.attributes.IsSet(ir::attribute::kLocal);
    if (!is_local) return NameCharactersText(emission_.layer, step.name);
    std::vector<int64_t> ranks(static_cast<size_t>(program().mesh.rank_count()));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::string rank = emission_.rank_numbers.Text(ranks, "rank");
    return absl::StrCat("(std::string(", NameStringText(emission_.layer, step.name), ") + \"@\" + std::to_string(",
                        rank, ")).c_str()");
  }

  std::string NumberText(const ir::Compute& compute, double value) {
    return ElementLiteral(emission_.value(compute.output).type.dtype, value);
  }

  void EmitFill(const ir::Compute& compute, const std::string& value, SourceWriter& writer) {
    writer.Call("Fill(", {value, emission_.sizes.Count(compute.output).Text(), emission_.names[compute.output]}, ");");
  }

  // Forgets what an earlier evaluation has added up, and sends the numbers of a step to a device.
  void EmitPrepare(SourceWriter& writer) {
    const bool sends_numbers = target().is_device && (!StepScalarOps().empty() || ReadsStep());
    if (!sends_numbers && !HasTotals()) return;
    writer.Gap();
    writer.Open(absl::StrCat("void Prepare(const StepScalars&", sends_numbers ? " scalars" : "", ") override {"));
    if (HasTotals()) writer.Line("totals.Forget();");
    if (sends_numbers) EmitNumbers(writer);
    writer.Close("}");
  }

  void EmitNumbers(SourceWriter& writer) {
    const std::vector<const ir::Compute*> scalars = StepScalarOps();
    EmitStepScalars(scalars, writer);
    const auto name = [&](std::string* out, const ir::Compute* compute) {
      absl::StrAppend(out, emission_.names[compute->output]);
    };
    writer.Call("numbers.Set(",
                {"static_cast<uint64_t>(scalars.step)", absl::StrCat("{", absl::StrJoin(scalars, ", ", name), "}")},
                ");");
  }

  void EmitPhase(size_t index, LayeredText& text, SourceWriter& writer) {
    const PhaseFunction& function = functions_[index];
    SourceWriter body(kMemberIndent + 2);
    emission_.section.clear();
    EmitStepScalars(ScalarsOf(function), body);
    text.Write(kFirstPhase + index, writer, body);
    if (IsUpdate(function)) EmitCopies(body);
    const bool takes_scalars = IsUpdate(function) && !ScalarsOf(function).empty();
    if (!IsCommon(function) && body.text().empty()) return;
    writer.Gap();
    const std::string scalars = takes_scalars ? "const StepScalars& scalars" : "const StepScalars&";
    const std::string head = absl::StrCat("void ", function.name, "(", IsUpdate(function) ? scalars : "", ")",
                                          IsCommon(function) ? " override" : "", " {");
    if (body.text().empty()) return writer.Line(absl::StrCat(head, "}"));
    writer.Open(head);
    // The first comment needs no empty line before it.
    writer.Append(body);
    writer.Line("watch.Finish();");
    writer.Close("}");
  }

  static bool IsIn(const PhaseFunction& function, const OrderedStage& ordered) {
    if (function.stage.has_value() && ordered.pass->stage != *function.stage) return false;
    return ordered.phase == function.phase && (ordered.repeat == function.repeat || IsUpdate(function));
  }

  bool HasStages(const PhaseFunction& function) const {
    return std::any_of(order_.begin(), order_.end(),
                       [&](const OrderedStage& ordered) { return IsIn(function, ordered); });
  }

  bool HasSeveralStages() const { return program().part.has_value() && ir::OwnStages(program()).size() > 1; }

  // Where a rank has several stages: the passes of one micro-batch through all of them.
  void EmitPassesOfAllStages(SourceWriter& writer) {
    for (const PhaseFunction& phase : Phases()) {
      if (!IsCommon(phase) || IsUpdate(phase) || !HasSeveralStages()) continue;
      writer.Gap();
      writer.Open(absl::StrCat("void ", phase.name, "() override {"));
      for (const PhaseFunction& function : functions_) {
        const bool is_part = function.stage.has_value() && function.phase == phase.phase;
        if (is_part && HasStages(function)) writer.Line(absl::StrCat(function.name, "();"));
      }
      writer.Close("}");
    }
  }

  // The loop over the micro-batches of a step, in a stage of a pipeline in the order of its schedule.
  void EmitRunBatch(SourceWriter& writer) {
    const auto call = [&](const PhaseFunction& function, SourceWriter& writer) {
      const std::string condition = function.condition.empty() ? "" : absl::StrCat("if (", function.condition, ") ");
      if (HasStages(function)) writer.Line(absl::StrCat(condition, function.name, "();"));
    };
    const auto call_all = [&](ir::Repeat repeat) {
      for (const PhaseFunction& function : functions_) {
        if (function.repeat == repeat && !IsUpdate(function)) call(function, writer);
      }
    };
    const auto call_pass = [&](const ir::StagePass& pass, SourceWriter& writer) {
      for (PhaseFunction function : functions_) {
        if (!IsInPass(function) || ir::PassOf(function.phase) != pass.kind) continue;
        if (function.stage.has_value() && *function.stage != pass.stage) continue;
        // Other passes are only begun where gradients are asked for.
        if (pass.kind != ir::PassKind::kForward) function.condition = "";
        call(function, writer);
      }
    };
    writer.Gap();
    writer.Comment(
        absl::StrCat("A step takes its batch in ", ir::MicroBatches(program()), " micro-batches, one after another."));
    const bool has_turns = ir::MicroBatchesUnderWay(program()) > 1 || HasSeveralStages();
    if (has_turns) writer.Comment(TurnText(emission_));
    writer.Open("void RunBatch(bool metrics, bool gradients) override {");
    call_all(ir::Repeat::kOnceBefore);
    if (has_turns) {
      EmitTurns(emission_, call_pass, writer);
    } else {
      writer.Open(absl::StrCat("for (int64_t i = 0; i < ", ir::MicroBatches(program()), "; ++i) {"));
      writer.Line("Begin(i);");
      call_all(ir::Repeat::kEach);
      writer.Close("}");
    }
    call_all(ir::Repeat::kOnceAfter);
    writer.Close("}");
  }

  std::vector<const ir::Compute*> StepScalarOps() const {
    std::vector<const ir::Compute*> ops;
    for (const ir::Step& step : program().steps) {
      const ir::Compute* compute = ir::ComputeOf(step);
      if (compute != nullptr && compute->kind == ir::OpKind::kStepScalar) ops.push_back(compute);
    }
    return ops;
  }

  // Those that a function of a program for CPUs reads. A device finds them in its memory.
  std::vector<const ir::Compute*> ScalarsOf(const PhaseFunction& function) const {
    std::set<ir::ValueId> read;
    for (const OrderedStage& ordered : order_) {
      if (!IsIn(function, ordered)) continue;
      for (const int step : ir::StepsOf(*ordered.stage)) {
        const ir::Compute* compute = ir::ComputeOf(emission_.step(step));
        if (compute != nullptr) read.insert(compute->inputs.begin(), compute->inputs.end());
      }
    }
    std::vector<const ir::Compute*> scalars;
    for (const ir::Compute* scalar : StepScalarOps()) {
      if (!target().is_device && read.count(scalar->output) > 0) scalars.push_back(scalar);
    }
    return scalars;
  }

  void EmitStepScalars(const std::vector<const ir::Compute*>& scalars, SourceWriter& writer) {
    for (const ir::Compute* compute : scalars) {
      const std::string head = absl::StrCat("const float ", emission_.names[compute->output]);
      const std::string value = StepScalarText(compute->attributes, emission_);
      if (value.size() < SourceWriter::kColumns) {
        writer.Assign(head, value);
        continue;
      }
      writer.Open(absl::StrCat(head, " = [](double step) -> float {"));
      for (const std::string& statement : StepScalarStatements(compute->attributes, emission_)) writer.Line(statement);
      writer.Close("}(static_cast<double>(scalars.step));");
    }
  }

  static bool ReadsStep(const ir::Compute& scalar) { return ir::ReadsStep(scalar.attributes); }

  void EmitOrdered(const OrderedStage& ordered, SourceWriter& writer) {
    switch (ordered.what) {
      case StageAction::What::kRun:
        return EmitStage(*ordered.stage, writer);
      case StageAction::What::kStart: {
        const int step = std::get<ir::SingleStep>(ordered.stage->action).step;
        std::string place = emission_.PendingPlace(step);
        if (place.empty()) {
          std::string& pending = pending_[step];
          pending = emission_.identifiers.Local(absl::StrCat(emission_.step(step).name, ".pending"));
          place = absl::StrCat("Pending ", pending);
        }
        const bool is_copy = std::holds_alternative<ir::HostCopy>(emission_.step(step).action);
        return (is_copy ? EmitStartOfHostCopy : EmitStart)(emission_, step, place, writer);
      }
      case StageAction::What::kFinish: {
        const int step = std::get<ir::SingleStep>(ordered.stage->action).step;
        const std::string place = emission_.PendingPlace(step);
        return writer.Line(absl::StrCat("comm.Finish(", place.empty() ? pending_.at(step) : place, ");"));
      }
    }
  }

  void EmitStage(const ir::FusedStage& stage, SourceWriter& writer) {
    Match(
        stage.action, [&](const ir::FusedLoop& loop) { emission_.target.emit_loop(emission_, loop, writer); },
        [&](const ir::MatMulWithBias& product) { EmitMatMulWithBias(emission_, product, writer); },
        [&](const ir::AccumulatedProduct& product) { EmitAccumulatedProduct(emission_, product, writer); },
        [&](const ir::AttentionForward& attention) { EmitAttention(emission_, attention, writer); },
        [&](const ir::AttentionBackward& attention) { EmitAttentionGradient(emission_, attention, writer); },
        [&](const ir::SingleStep& single) {
          Match(
              emission_.step(single.step).action,
              [&](const ir::Compute&) { EmitKernel(emission_, single.step, writer); },
              [&](const ir::Collective&) { EmitCollective(emission_, single.step, writer); },
              [&](const ir::Slice&) { EmitSlice(emission_, single.step, writer); },
              [&](const ir::Glance& glance) { EmitGlance(emission_, single.step, glance, writer); },
              [&](const ir::HostCopy&) { EmitHostCopy(emission_, single.step, writer); },
              [&](const ir::Send& send) { EmitSend(emission_, single.step, send, writer); },
              [&](const ir::Receive& receive) { EmitReceive(emission_, single.step, receive, writer); },
              [](const ir::View&) {});  // A view is the same memory under the same name.
        });
  }

  void EmitCopies(SourceWriter& writer) {
    if (emission_.storage.copies.empty()) return;
    writer.Gap();
    writer.Comment("New values that could not be made in place.");
    for (const ir::ProgramUpdate& update : emission_.storage.copies) {
      writer.Call(
          "Copy(",
          {emission_.names[update.value], emission_.sizes.Count(update.value).Text(), emission_.names[update.state]},
          ");");
    }
  }

  void EmitQueries(LayeredText& text, SourceWriter& writer) {
    writer.Gap();
    writer.Open("std::vector<ModelInput> Inputs() override {");
    writer.Line("std::vector<ModelInput> inputs;");
    const bool has_micro_batches = program().time.has_value();
    if (has_micro_batches) {
      writer.Open(absl::StrCat("for (int64_t i = 0; i < ", ir::MicroBatches(program()), "; ++i) {"));
      writer.Line("Begin(i);");
    }
    for (const ir::Step& step : program().steps) {
      const ir::Compute* compute = ir::ComputeOf(step);
      if (compute == nullptr || compute->kind != ir::OpKind::kInput) continue;
      const std::string& data = compute->attributes.Get(ir::attribute::kData);
      // A stage that does not read an input knows of it, because inputs are told apart by their order.
      const bool is_held = emission_.storage.root[compute->output].has_value();
      std::vector<std::string> arguments = {
          StringLiteral(data.empty() ? step.name : data),
          is_held ? emission_.sizes.RegionText(compute->output) : NothingOf(compute->output),
          is_held ? emission_.names[compute->output]
                  : absl::StrCat("static_cast<", ElementTypeName(emission_.value(compute->output).type.dtype),
                                 "*>(nullptr)")};
      if (emission_.value(compute->output).type.dtype == ir::DType::kI32) {
        arguments.push_back(absl::StrCat(ir::LimitOf(emission_.graph, compute->op)));
      }
      writer.Call("inputs.emplace_back(", arguments, ");");
    }
    if (has_micro_batches) writer.Close("}");
    writer.Line("return inputs;");
    writer.Close("}");
    SourceWriter parameters(kMemberIndent + 2);
    text.Write(ListedParameters(), writer, parameters);
    writer.Gap();
    writer.Open("std::vector<ParameterView> Parameters() override {");
    writer.Line("std::vector<ParameterView> parameters;");
    writer.Append(parameters);
    writer.Line("return parameters;");
    writer.Close("}");
    writer.Gap();
    const std::string loss = program().loss.has_value() ? NumberText(*program().loss) : "0.0f";
    writer.Line(absl::StrCat("float Loss() const override { return ", loss, "; }"));
    EmitMetricQuery(writer);
    writer.Line("int64_t ArenaBytes() const override { return arena.bytes(); }");
    if (HostBytes() > Bytes(0)) writer.Line("int64_t HostBytes() const override { return arena.host_bytes(); }");
    // Recorded work has ended when its phase has, and what a stage sends waits for other stages.
    const bool is_recordable = !HasGlances() && !program().pipeline.has_value();
    if (target().is_device && !is_recordable) writer.Line("bool IsRecordable() const override { return false; }");
  }

  // The region of a tensor that has none of its samples.
  std::string NothingOf(ir::ValueId input) const {
    ir::Shape begin = emission_.value(input).type.shape;
    const std::string shape = absl::StrJoin(begin, ", ");
    ir::Shape size = begin;
    size[0] = 0;
    std::fill(begin.begin(), begin.end(), 0);
    return absl::StrCat("Region{{", shape, "}, {", absl::StrJoin(begin, ", "), "}, {", absl::StrJoin(size, ", "), "}}");
  }

  // The text with which the host reads a value of one element.
  std::string NumberText(ir::ValueId value) const {
    const std::string& name = emission_.names[value];
    return target().is_device ? absl::StrCat("*OnHost(", name, ", 1)") : absl::StrCat(name, "[0]");
  }

  Bytes HostBytes() const { return emission_.storage.host.total; }

  bool HasGlances() const {
    return std::any_of(program().steps.begin(), program().steps.end(),
                       [](const ir::Step& step) { return std::holds_alternative<ir::Glance>(step.action); });
  }

  // `steps`: the parameter, then what the optimizer keeps of it.
  void EmitParameterView(const std::vector<int>& steps, SourceWriter& writer) {
    const ir::Step& parameter = emission_.step(steps[0]);
    const ir::ValueId value = ir::ComputeOf(parameter)->output;
    std::vector<std::string> fields = {NameStringText(emission_.layer, parameter.name),
                                       LineText(emission_.layer, parameter.name, parameter.line),
                                       emission_.sizes.LayoutText(value), emission_.names[value]};
    std::vector<std::string> alike;
    std::vector<std::vector<std::string>> others;  // States of another shape or another layout.
    for (size_t i = 1; i < steps.size(); ++i) {
      const std::string& name = emission_.step(steps[i]).name;
      const ir::ValueId state = ir::ComputeOf(emission_.step(steps[i]))->output;
      const std::string own = StringLiteral(name.substr(name.rfind('.') + 1));
      if (emission_.value(state).layout == emission_.value(value).layout &&
          emission_.value(state).type == emission_.value(value).type) {
        alike.push_back(absl::StrCat("{", own, ", ", emission_.names[state], "}"));
      } else {
        others.push_back({own, emission_.names[state], emission_.sizes.LayoutText(state)});
      }
    }
    if (!alike.empty()) fields.push_back(absl::StrCat("OptimizerStates{", absl::StrJoin(alike, ", "), "}"));
    writer.Call("parameters.emplace_back(", fields, ");");
    for (const std::vector<std::string>& state : others) {
      writer.Call("parameters.back().states.emplace_back(", state, ");");
    }
  }

  // The metrics that are numbers, or those that are tables.
  std::vector<ir::ValueId> Metrics(bool are_tables) const {
    std::vector<ir::ValueId> metrics;
    for (const ir::ProgramMetric& metric : program().metrics) {
      if ((emission_.value(metric.value).type.rank() > 0) == are_tables) metrics.push_back(metric.value);
    }
    return metrics;
  }

  void EmitMetricQuery(SourceWriter& writer) {
    EmitChoice(
        "float Metric(int", Metrics(false), "0.0f", [this](ir::ValueId value) { return NumberText(value); }, writer);
    const std::vector<ir::ValueId> tables = Metrics(true);
    if (tables.empty()) return;
    const auto text = [this](ir::ValueId value) {
      const std::string& name = emission_.names[value];
      const std::string count = absl::StrCat(emission_.value(value).type.elements());
      const std::string begin = target().is_device ? absl::StrCat("OnHost(", name, ", ", count, ")") : name;
      return absl::StrCat("CopyOf(", begin, ", ", count, ")");
    };
    EmitChoice("std::vector<float> Table(int", tables, "", text, writer);
  }

  // A function that returns the value with the number of its argument. `none`: what it returns without values.
  static void EmitChoice(const std::string& head, const std::vector<ir::ValueId>& values, const std::string& none,
                         const std::function<std::string(ir::ValueId)>& text, SourceWriter& writer) {
    if (values.size() < 2) {
      return writer.Line(
          absl::StrCat(head, ") const override { return ", values.empty() ? none : text(values[0]), "; }"));
    }
    writer.Open(absl::StrCat(head, " index) const override {"));
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      writer.Line(absl::StrCat("if (index == ", i, ") return ", text(values[i]), ";"));
    }
    writer.Line(absl::StrCat("return ", text(values.back()), ";"));
    writer.Close("}");
  }

  void EmitFields(const LayeredText& text, SourceWriter& writer) {
    writer.Line("Comm& comm;");
    writer.Line("Watch& watch;");
    if (HasGlances()) writer.Line("Observer& observer;");
    if (HasTotals()) writer.Line("Totals totals;");
    writer.Line("const uint64_t seed;");
    if (ReadsStep() && !target().is_device) writer.Line("const uint64_t& step;");
    if (NeedsCoordinates()) writer.Line("const std::vector<int64_t>& coordinates;");
    if (emission_.rank_numbers.uses_rank()) writer.Line("const int rank = comm.rank();");
    EmitPlace(text, writer);
    writer.Gap();
    writer.Line(
        absl::StrCat("Arena arena{kArenaBytes, kPeakBytes", HostBytes() > Bytes(0) ? ", kHostBytes" : "", "};"));
    if (target().is_device) EmitStepNumbers(writer);
    text.WriteFields(writer);
    if (!program().time.has_value()) EmitBuffers("The data of a step.", {ir::OpKind::kInput}, text, writer);
    const bool trains = emission_.training.mode == ir::Mode::kTrain;
    EmitBuffers(trains ? "Parameters, state of the optimizer and constants."
                       : "Parameters, constants, and what is remembered of earlier places.",
                {ir::OpKind::kParameter, ir::OpKind::kState, ir::OpKind::kConstant, ir::OpKind::kRankValue}, text,
                writer);
    EmitBuffers("Values of a step; those that are not needed at the same time share memory.", {}, text, writer);
    EmitBuckets(emission_, text, writer);
  }

  void EmitStepNumbers(SourceWriter& writer) {
    const std::vector<const ir::Compute*> scalars = StepScalarOps();
    if (scalars.empty() && !ReadsStep()) return;
    writer.Gap();
    writer.Comment("Numbers that differ from step to step, and where kernels read them.");
    writer.Line(absl::StrCat("StepNumbers numbers{", scalars.size(), "};"));
    if (ReadsStep()) writer.Line("const uint64_t* const step = numbers.step();");
    for (size_t i = 0; i < scalars.size(); ++i) {
      writer.Line(absl::StrCat("const float* const ", emission_.StepNumberPlace(scalars[i]->output),
                               " = numbers.number(", i, ");"));
    }
  }

  bool NeedsCoordinates() const { return !emission_.sizes.folded() && !emission_.sizes.UsedAxes().empty(); }

  // Whether metrics are computed from sums over the batches of an evaluation.
  bool HasTotals() const {
    return std::any_of(program().steps.begin(), program().steps.end(), [](const ir::Step& step) {
      const ir::Compute* compute = ir::ComputeOf(step);
      return compute != nullptr && compute->kind == ir::OpKind::kTotal;
    });
  }

  // What differs between steps of training: random numbers, and what is done in training or in testing alone.
  bool ReadsStep() const {
    return std::any_of(program().steps.begin(), program().steps.end(), [](const ir::Step& step) {
      const ir::Compute* compute = ir::ComputeOf(step);
      return compute != nullptr && (compute->kind == ir::OpKind::kDropout ||
                                    compute->kind == ir::OpKind::kWhileTraining || compute->kind == ir::OpKind::kTotal);
    });
  }

  // Coordinates, pieces and groups.
  void EmitPlace(const LayeredText& text, SourceWriter& writer) {
    if (NeedsCoordinates()) {
      writer.Gap();
      writer.Comment("This rank's place in the mesh, and the elements of cut dimensions that it holds.");
      for (const ir::AxisId axis : emission_.sizes.UsedAxes()) {
        writer.Line(
            absl::StrCat("const int64_t ", emission_.sizes.AxisName(axis), " = coordinates[", axis.value(), "];"));
      }
      for (const Sizes::PieceDeclaration& piece : emission_.sizes.Pieces()) {
        if (!piece.of_micro_batch) writer.Assign(absl::StrCat("const Range ", piece.name), piece.value);
      }
    }
    if (program().time.has_value()) EmitMicroBatch(text, writer);
    if (emission_.groups.empty() && emission_.lanes.empty()) return;
    writer.Gap();
    writer.Comment("The ranks that differ from this one only on the named axes.");
    std::vector<SourceWriter::Commented> rows;
    const auto add = [&](const std::string& name, const ir::AxisList& axes, const std::string& arguments) {
      const std::string list =
          absl::StrJoin(axes, ", ", [](std::string* out, ir::AxisId axis) { absl::StrAppend(out, axis.value()); });
      std::string comment;
      if (emission_.sizes.folded()) {
        const ir::Mesh mesh = ir::RankMesh(program());
        comment = absl::StrCat("Ranks ", absl::StrJoin(mesh.Group(*emission_.sizes.rank(), axes), ", "), ".");
      }
      rows.push_back(
          {absl::StrCat("const Group ", name, " = comm.CreateGroup({", list, "}", arguments, ");"), comment});
    };
    for (const auto& [number, lane] : emission_.lanes) {
      add(lane.group, {program().pipeline->axis},
          absl::StrCat(WaysText(lane), number != 0 ? absl::StrCat(", ", number) : ""));
    }
    for (const auto& [axes, name] : emission_.groups) add(name, axes, "");
    writer.Table(rows);
  }

  // Who sends to whom: ", {{0, 1}, {1, 0}}".
  static std::string WaysText(const Lane& lane) {
    const auto pair = [](std::string* out, const std::pair<int, int>& way) {
      absl::StrAppend(out, "{", way.first, ", ", way.second, "}");
    };
    return absl::StrCat(", {", absl::StrJoin(lane.ways, ", ", pair), "}");
  }

  // What differs between micro-batches, and the function that sets it.
  void EmitMicroBatch(const LayeredText& text, SourceWriter& writer) {
    const std::string& number = emission_.sizes.AxisName(*program().time);
    writer.Gap();
    writer.Comment("The micro-batch under way, the samples of it that this rank holds, and where they lie.");
    writer.Line(absl::StrCat("int64_t ", number, " = 0;"));
    SourceWriter body(kMemberIndent + 2);
    body.Line(absl::StrCat(number, " = i;"));
    for (const Sizes::PieceDeclaration& piece : emission_.sizes.Pieces()) {
      if (!piece.of_micro_batch) continue;
      writer.Line(absl::StrCat("Range ", piece.name, ";"));
      body.Assign(piece.name, piece.value);
    }
    const auto declare = [&](ir::ValueId value, const std::string& place) {
      const absl::string_view type = ElementTypeName(emission_.value(value).type.dtype);
      writer.Line(absl::StrCat(type, "* ", emission_.names[value], " = nullptr;  // ", TensorText(emission_, value)));
      body.Assign(emission_.names[value],
                  absl::StrCat("arena.At<", type, ">(", emission_.OffsetOf(value), " + ", place, ")"));
    };
    for (const ir::ValueId value : emission_.names.declared) {
      const ir::Compute* source = emission_.SourceOf(value);
      if (source == nullptr || source->kind != ir::OpKind::kInput) continue;
      declare(value, absl::StrCat("i * ", ir::InputStride(program(), value).value()));
    }
    const ir::Storage& storage = emission_.storage;
    if (!storage.waiting.empty()) {
      writer.Gap();
      writer.Comment(absl::StrCat("What waits for a later pass, of ", ir::MicroBatchesUnderWay(program()),
                                  " micro-batches under way."));
    }
    for (const ir::ValueId value : emission_.names.declared) {
      if (storage.PiecesOf(value) == 1 || text.IsOfLayer(value)) continue;
      declare(value, absl::StrCat("i % ", storage.PiecesOf(value), " * ", storage.StrideOf(value)));
    }
    text.WriteBegin("i", body);
    writer.Gap();
    writer.Open("void Begin(int64_t i) {");
    writer.Append(body);
    writer.Close("}");
  }

  // Declares the buffers of the values that ops of the given kinds make; if none are given, of all values except
  // sources.
  void EmitBuffers(absl::string_view title, const std::set<ir::OpKind>& kinds, const LayeredText& text,
                   SourceWriter& writer) {
    std::set<ir::ValueId> chosen;
    for (const ir::Step& step : program().steps) {
      const ir::Compute* compute = ir::ComputeOf(step);
      const bool takes = kinds.empty() ? !ir::IsSource(step) : compute != nullptr && kinds.count(compute->kind) > 0;
      if (!takes) continue;
      for (const ir::ValueId value : ir::Writes(step)) chosen.insert(value);
    }
    const std::set<ir::ValueId> bucketed = RootsInBuckets(emission_.storage);
    std::vector<SourceWriter::Commented> rows;
    for (const ir::ValueId value : emission_.names.declared) {
      const bool is_elsewhere = text.IsOfLayer(value) || bucketed.count(*emission_.storage.root[value]) > 0 ||
                                emission_.storage.PiecesOf(value) > 1;
      if (chosen.count(value) == 0 || is_elsewhere) continue;
      const absl::string_view type = ElementTypeName(emission_.value(value).type.dtype);
      rows.push_back({absl::StrCat(type, "* const ", emission_.names[value], " = ", emission_.MemoryOf(value), "<",
                                   type, ">(", emission_.OffsetOf(value), ");"),
                      TensorText(emission_, value)});
    }
    if (rows.empty()) return;
    writer.Gap();
    writer.Comment(title);
    writer.Table(rows);
  }

  // "stage_1", "stages_1_and_3"
  std::string Namespace() const {
    const std::vector<int> stages = ir::OwnStages(program());
    return absl::StrCat(stages.size() == 1 ? "stage_" : "stages_", absl::StrJoin(stages, "_and_"));
  }

  void EmitStageOpening(SourceWriter& writer) {
    if (!program().part.has_value()) return;
    const std::vector<int> stages = ir::OwnStages(program());
    writer.Comment(absl::StrCat(stages.size() == 1 ? "Stage " : "Stages ", absl::StrJoin(stages, " and "), " of ",
                                ir::StageCount(program()), "."));
    writer.Line(absl::StrCat("namespace ", Namespace(), " {"));
    writer.Gap();
  }

  void EmitConstants(SourceWriter& writer) {
    const std::vector<Sizes::Constant> constants = emission_.sizes.Constants();
    if (!constants.empty()) {
      writer.Comment("Local sizes of dimensions that are cut evenly: the whole over the number of pieces.");
      for (const Sizes::Constant& constant : constants) {
        writer.Line(
            absl::StrCat("constexpr int64_t ", constant.name, " = ", constant.elements, " / ", constant.pieces, ";"));
      }
      writer.Gap();
    }
    const std::vector<RankNumbers::Table>& tables = emission_.rank_numbers.tables();
    if (!tables.empty()) {
      writer.Comment("Numbers that no formula of the rank's number gives.");
      for (const RankNumbers::Table& table : tables) {
        writer.Assign(absl::StrCat("constexpr ", table.type, " ", table.name, "[]"), table.entries);
      }
      writer.Gap();
    }
    const Bytes arena = emission_.storage.buffers.total;
    const Bytes peak = target().is_device ? arena + target().library_workspace : emission_.memory.prediction.peak;
    std::vector<SourceWriter::Commented> rows = {
        {absl::StrCat("constexpr int64_t kArenaBytes = ", arena.value(), ";"), ""},
        {absl::StrCat("constexpr int64_t kPeakBytes = ", peak.value(), ";"),
         target().is_device ? "Predicted: the arena and what libraries of the GPU take beside it."
                            : "Predicted: the arena and what calls of the runtime take beside it."}};
    if (HostBytes() > Bytes(0)) {
      rows.push_back(
          {absl::StrCat("constexpr int64_t kHostBytes = ", HostBytes().value(), ";"), "In the host's memory."});
    }
    writer.Table(rows);
    writer.Gap();
  }

  void EmitConstructor(SourceWriter& writer) {
    std::vector<std::string> initializers = {"comm(context.comm)", "watch(context.watch)", "seed(context.seed)"};
    if (HasGlances()) initializers.push_back("observer(context.observer)");
    if (ReadsStep() && !target().is_device) initializers.push_back("step(context.step)");
    if (NeedsCoordinates()) initializers.push_back("coordinates(context.coordinates)");
    const std::string head = absl::StrCat("explicit ", type_, "(const Context& context)");
    const std::string line = absl::StrCat(head, " : ", absl::StrJoin(initializers, ", "), " {}");
    if (kMemberIndent + static_cast<int>(line.size()) <= SourceWriter::kColumns) {
      writer.Line(line);
    } else {
      writer.Line(head);
      writer.Line(absl::StrCat("    : ", absl::StrJoin(initializers, ", "), " {}"));
    }
    writer.Gap();
  }

  Emission emission_;
  const TextOptions& options_;
  std::string type_;
  const std::vector<PhaseFunction> functions_;
  std::vector<OrderedStage> order_;
  std::map<int, size_t> tensor_lists_;  // Of merged collectives, by step.
  std::string list_;                    // The name of the one that is being written.
  std::map<int, std::string> pending_;  // Variables for collectives that are under way, by step.
};

// The beginning of the file, up to what differs between stages.
void EmitOpening(const Target& target, const ir::Program& program, const ir::Training& training,
                 std::optional<int> rank, SourceWriter& writer) {
  const ir::Mesh ranks_mesh = ir::RankMesh(program);
  const int ranks = ranks_mesh.rank_count();
  std::string who = absl::StrCat("for ", ranks == 1 ? "one rank" : absl::StrCat(ranks, " ranks"));
  if (rank.has_value()) who = absl::StrCat("for rank ", *rank, " of ", ranks);
  const std::string mesh = ranks > 1 ? absl::StrCat(", mesh ", ranks_mesh.ToString()) : "";
  writer.Comment(absl::StrCat(program.model, " of ", PlaceIn(program, 0), ", ", who, mesh, "."));
  writer.Line("//");
  writer.Comment("Written by cleave. `make` builds it, `./run.sh` starts it.");
  writer.Line("#include <cmath>");
  writer.Line("#include <memory>");
  writer.Line("#include <vector>");
  writer.Gap();
  std::set<std::string> own = KernelHeaders(program);
  if (const ir::DataSource* custom = ir::CustomDataOf(training.data)) own.insert(CustomHeaderOf(*custom));
  for (const std::string& header : own) {
    writer.Line(absl::StrCat("#include ", StringLiteral(header)));
  }
  std::vector<absl::string_view> headers(target.headers.begin(), target.headers.end());
  headers.push_back("runtime/runtime.h");
  std::sort(headers.begin(), headers.end());
  for (const absl::string_view header : headers) writer.Line(absl::StrCat("#include ", StringLiteral(header)));
  writer.Gap();
  writer.Line("using namespace cleave::runtime;");
  writer.Gap();
  writer.Line("namespace {");
  writer.Line("");
  std::vector<SourceWriter::Commented> numbers;
  for (const NamedNumber& number : NamedNumbersOf(training, program)) {
    if (number.variable.empty()) continue;
    const bool has_flag = !absl::StrContains(number.name, '.');
    numbers.push_back({absl::StrCat("double ", number.variable, " = ", FormatDouble(number.value), ";"),
                       has_flag ? absl::StrCat("The flag --", number.name, " changes it.")
                                : absl::StrCat("The flag --set ", number.name, "=X changes it.")});
  }
  if (numbers.empty()) return;
  writer.Table(numbers);
  writer.Gap();
}

// The groups that any stage uses, and who sends to whom: all ranks create all of them, in one order.
void TakeAllGroups(const ir::Program& whole, Emission& emission) {
  const ir::Timetable timetable = ir::TimetableOf(whole);
  for (const ir::Step& step : whole.steps) {
    const auto* send = std::get_if<ir::Send>(&step.action);
    if (send != nullptr) {
      const int from = *whole.value(send->input).stage;
      emission.LaneBetween(from, send->to).ways.emplace(timetable.PartOf(from), timetable.PartOf(send->to));
    }
    const ir::Collective* collective = ir::CommunicationOf(whole, step);
    if (collective != nullptr) emission.Group(collective->axes);
  }
}

// Writes the program of the ranks that run `program`. Returns the name of its struct.
absl::StatusOr<std::string> EmitProgram(const Target& target, const CodegenInput& input, const ir::Program& program,
                                        const ir::MemoryPlan& memory, const TextOptions& options,
                                        SourceWriter& writer) {
  CLEAVE_CHECK(memory.fuse == target.fuse) << "the memory of this program was planned for another target";
  Identifiers identifiers;
  const std::vector<NamedNumber> numbers = NamedNumbersOf(input.training, input.program);
  for (const auto& [name, variable] : VariablesOf(numbers)) identifiers.Reserve(variable);
  Sizes sizes(program, options.rank, identifiers);
  RankNumbers rank_numbers(program.mesh, sizes, identifiers);
  Names names = NameValues(program, memory.storage, identifiers);
  SourceWriter kernels;
  Emission emission{.target = target,
                    .graph = input.graph,
                    .program = program,
                    .training = input.training,
                    .fusion = memory.fusion,
                    .storage = memory.storage,
                    .memory = memory.use,
                    .sources = SourcesOf(program),
                    .names = names,
                    .identifiers = identifiers,
                    .sizes = sizes,
                    .rank_numbers = rank_numbers,
                    .kernels = kernels,
                    .groups = {},
                    .numbers = VariablesOf(numbers)};
  if (program.part.has_value()) TakeAllGroups(input.program, emission);
  ProgramWriter program_writer(emission, options);
  CLEAVE_RETURN_IF_ERROR(program_writer.Write(writer));
  return program_writer.QualifiedType();
}

}  // namespace

absl::StatusOr<std::string> ProgramText(const Target& target, const CodegenInput& input, const TextOptions& options) {
  const std::optional<int>& rank = options.rank;
  const ir::Program& program = input.program;
  const int ranks = ir::RankMesh(program).rank_count();
  if (rank.has_value() && (*rank < 0 || *rank >= ranks)) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", *rank, " of a mesh of ", ranks, " ranks"));
  }
  SourceWriter writer;
  EmitOpening(target, program, input.training, rank, writer);
  MainText main{.training = input.training, .graph = input.graph, .program = program, .rank = rank, .types = {}};
  if (program.pipeline.has_value()) {
    for (const ir::PartProgram& part : input.parts) {
      const bool is_elsewhere = rank.has_value() && program.mesh.Index(ir::AtMoment(program, *rank),
                                                                       {program.pipeline->axis}) != part.program.part;
      if (is_elsewhere) continue;
      CLEAVE_ASSIGN_OR_RETURN(main.types[*part.program.part],
                              EmitProgram(target, input, part.program, part.memory, options, writer));
    }
  } else {
    CLEAVE_ASSIGN_OR_RETURN(main.types[0], EmitProgram(target, input, program, input.memory, options, writer));
  }
  writer.Line("}  // namespace");
  writer.Gap();
  CLEAVE_RETURN_IF_ERROR(EmitMain(main, writer));
  return writer.text();
}

}  // namespace cleave::codegen

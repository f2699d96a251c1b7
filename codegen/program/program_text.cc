// ProgramWriter writes the struct of the ranks that run one program: functions first, which tell what must be declared,
// then fields. The text has the opposite order: constants, element functions and kernels, structs of layers, the
// struct.
#include "codegen/program/program_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"
#include "codegen/program/facts.h"
#include "codegen/program/fields.h"
#include "codegen/program/layered_text.h"
#include "codegen/program/opening.h"
#include "codegen/program/passes.h"
#include "codegen/program/phases.h"
#include "codegen/program/queries.h"
#include "codegen/program/settings.h"
#include "codegen/program/sources.h"
#include "codegen/program/stage_order.h"
#include "codegen/program/stage_texts.h"
#include "codegen/program/statements.h"
#include "codegen/source/attention.h"
#include "codegen/source/communication.h"
#include "codegen/source/elements.h"
#include "codegen/source/emission.h"
#include "codegen/source/glance.h"
#include "codegen/source/host_copy.h"
#include "codegen/source/kernels.h"
#include "codegen/source/parts.h"
#include "codegen/source/pipeline.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/loop_batches.h"

namespace cleave::codegen {
namespace {

// Fields of the struct start in this column, statements of its functions two columns further.
constexpr int kMemberIndent = 2;

std::string StructName(const std::string& model) {
  const std::string name = TypeName(model);
  return absl::EndsWith(name, "Model") ? name : absl::StrCat(name, "Model");
}

// An error where a step has no emission for the target.
absl::Status CheckSteps(const Emission& emission) {
  const Target& target = emission.target;
  for (const ir::Step& step : emission.program.steps) {
    if (std::holds_alternative<ir::HostCopy>(step.action) && !target.is_device) {
      return absl::UnimplementedError(
          absl::StrCat("step `", step.name, "`: ", target.name, " has no memory besides that of the host"));
    }
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr || ir::IsSource(step)) continue;
    if (ir::IsOfAttention(compute->kind)) continue;
    if (!IsElementwise(compute->kind) && !HasKernel(ir::DefinitionOf(compute->kind))) {
      return absl::UnimplementedError(absl::StrCat("op `", step.name, "`: `", ir::OpKindName(compute->kind),
                                                   "` has no emission for ", target.name));
    }
    for (const ir::ValueId input : compute->inputs) {
      if (emission.storage.root[input].has_value() || !IsStepScalar(emission, input)) continue;
      const bool is_late = step.phase != ir::Phase::kUpdate && ir::ReadsStep(emission.SourceOf(input)->attributes);
      if (!is_late && IsElementwise(compute->kind)) continue;
      return absl::UnimplementedError(
          absl::StrCat("op `", step.name, "` reads a number of the optimizer outside of an elementwise update"));
    }
  }
  const std::vector<ir::ProgramUpdate>& updates = emission.program.updates;
  for (const ir::ProgramUpdate& update : emission.storage.copies) {
    const bool overwritten = std::any_of(updates.begin(), updates.end(),
                                         [&](const ir::ProgramUpdate& other) { return other.state == update.value; });
    if (overwritten) {
      return absl::UnimplementedError(
          absl::StrCat("state `", emission.value(update.state).name, "` takes the old value of another updated state"));
    }
  }
  return absl::OkStatus();
}

class ProgramWriter {
 public:
  ProgramWriter(Emission emission, const TextOptions& options)
      : emission_(std::move(emission)),
        options_(options),
        type_(StructName(emission_.program.model)),
        functions_(FunctionsOf(emission_.program)) {
    emission_.identifiers.Reserve(type_);
    for (const ir::OpDefinition* op : ir::AllOps()) {
      if (op->element.has_value()) emission_.identifiers.Reserve(TypeName(op->name()));
    }
  }

  // Writes all that stands between the beginning of the program, or of its stage, and its main.
  absl::StatusOr<cpp::Code> Write() && {
    CLEAVE_RETURN_IF_ERROR(CheckSteps(emission_));
    order_ = OrderStages(emission_);
    LayeredText text(emission_, Lists(), options_.repeats_layers);
    CLEAVE_RETURN_IF_ERROR(text.check());
    // Functions are written first, because only then is known which sizes, coordinates and groups must be declared.
    cpp::Code functions(kMemberIndent);
    LayTensorsOut(text, functions);
    WriteInitialize(text, functions);
    WriteKeepCopies(text, functions);
    WritePrepare(functions);
    if (program().time.has_value()) EmitRunPhases(emission_, functions_, order_, functions);
    for (size_t i = 0; i < functions_.size(); ++i) WritePhase(i, text, functions);
    EmitPassesOfAllStages(emission_, functions_, order_, functions);
    WriteAwaitResults(functions);
    cpp::Code parameters(kMemberIndent + 2);
    text.Write(ParameterList(), functions, parameters);
    EmitQueries(emission_, std::move(parameters), functions);
    cpp::Code fields(kMemberIndent);
    EmitFields(emission_, text, functions, fields);
    CLEAVE_RETURN_IF_ERROR(text.check());

    cpp::Code code;
    EmitConstants(emission_, code);
    code.Append(emission_.definitions.element_functions.TakeDefinitions());
    code.Gap();
    code.Append(std::move(emission_.definitions.kernels));
    text.WriteStructs(code);
    code.Gap();
    cpp::Code& members = code.Open(cpp::Struct{type_, "TrainingProgram"});
    EmitConstructor(emission_, type_, members);
    members.Append(std::move(functions));
    members.Gap();
    members.Append(std::move(fields));
    code.Gap();
    return code;
  }

 private:
  const ir::Program& program() const { return emission_.program; }
  const Target& target() const { return emission_.target; }

  // What is written statement by statement: the initial values, the functions, the list of parameters, and copies that
  // are kept.
  static constexpr size_t kInitialValues = 0;
  static constexpr size_t kFirstPhase = 1;
  size_t ParameterList() const { return kFirstPhase + functions_.size(); }
  size_t CopyList() const { return ParameterList() + 1; }

  std::vector<StatementList> Lists() {
    std::vector<StatementList> lists;
    lists.push_back(InitialValues(emission_));
    for (const PhaseFunction& function : functions_) {
      StatementList& list = lists.emplace_back(ListOfPhase(function));
      list.is_inline = function.IsUpdate();
      const std::vector<const ir::Compute*> scalars = ScalarsOf(function);
      if (scalars.empty()) continue;
      list.begin = [this, scalars](const cpp::Code& body, cpp::Code& code) {
        EmitStepScalars(emission_, ReadBy(body, scalars), code);
      };
      if (!function.IsUpdate()) continue;
      list.parameters = {ScalarsParameter()};
      list.arguments = {cpp::Name("scalars")};
    }
    lists.push_back(ListedParameters(emission_));
    lists.push_back(KeptCopies(emission_));
    for (const OrderedStage& ordered : order_) {
      const int step = ir::StepsOf(*ordered.stage).front();
      if (const auto* const batch = std::get_if<ir::LoopBatch>(&ordered.stage->action)) {
        batch_lists_[step] = lists.size();
        lists.push_back(ListOfLoops(*batch));
      } else if (const auto* const calls = std::get_if<ir::CallBatch>(&ordered.stage->action)) {
        batch_lists_[step] = lists.size();
        lists.push_back(ListOfCalls(*calls));
      }
      if (ordered.what == StageAction::What::kFinish || !TakesList(emission_, step)) continue;
      tensor_lists_[step] = lists.size();
      lists.push_back(ListOfTensors(step));
    }
    return lists;
  }

  static cpp::Variable ScalarsParameter(absl::string_view name = "scalars") {
    return {cpp::Name("const StepScalars&"), std::string(name)};
  }

  // The tensors that a merged collective gathers or scatters.
  StatementList ListOfTensors(int step) {
    const auto& collective = std::get<ir::Collective>(emission_.step(step).action);
    const bool gathers = collective.kind == ir::CollectiveKind::kAllGather;
    StatementList list{.function = gathers ? "Gather" : "Scatter", .is_inline = true};
    list.parameters = {{cpp::Reference(ListType(emission_, step)), "tensors"}};
    for (size_t i = 0; i < collective.transfers.size(); ++i) {
      list.statements.push_back(StatementOfTransfer(emission_, step, i));
    }
    list.emit = [this, step](int place, cpp::Code& code) {
      const bool is_argument = emission_.layer != nullptr && emission_.layer->is_function;
      EmitListed(emission_, step, static_cast<size_t>(place), is_argument ? "tensors" : list_, code);
    };
    return list;
  }

  // The loops of a batch.
  StatementList ListOfLoops(const ir::LoopBatch& batch) {
    StatementList list{.function = "List", .is_inline = true};
    const std::set<ir::ValueId> common = ir::ReadByAll(program(), batch);
    for (size_t i = 0; i < batch.loops.size(); ++i) {
      list.statements.push_back(StatementOfLoop(emission_, batch, i, common));
    }
    list.emit = [this](int place, cpp::Code& code) { (*emit_row_)(static_cast<size_t>(place), code); };
    return list;
  }

  // The calls of a batch.
  StatementList ListOfCalls(const ir::CallBatch& batch) {
    StatementList list{.function = "List", .is_inline = true};
    for (size_t i = 0; i < batch.calls.size(); ++i) {
      list.statements.push_back(StatementOfBatchedCall(emission_, batch, i));
    }
    list.emit = [this](int place, cpp::Code& code) { (*emit_row_)(static_cast<size_t>(place), code); };
    return list;
  }

  // Lets lists with tensors of layers be written by loops. `functions`: where the functions of layers are written.
  void LayTensorsOut(LayeredText& text, cpp::Code& functions) {
    for (const auto& [step, list] : tensor_lists_) {
      if (!text.HasLayers(list)) continue;
      emission_.tensor_lists[step] = [this, &text, &functions, list = list](const std::string& name, cpp::Code& code) {
        list_ = name;
        text.SetArguments(list, {cpp::Name(name)});
        text.Write(list, functions, code);
      };
    }
    for (const auto& [step, list] : batch_lists_) {
      if (!text.HasLayers(list)) continue;
      emission_.rows_in_loops[step] = [this, &text, &functions, list = list](const std::vector<cpp::Variable>& lists,
                                                                             const Emission::EmitRow& emit,
                                                                             cpp::Code& code) {
        emit_row_ = &emit;
        text.SetParameters(list, lists);
        text.Write(list, functions, code);
      };
    }
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
      if (!function.Has(ordered)) continue;
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
    list.emit = [this, said = std::move(said)](int place, cpp::Code& code) {
      const size_t i = static_cast<size_t>(place);
      const int step = ir::StepsOf(*said[i].stage.stage).front();
      if (said[i].call.has_value()) return EmitCall(emission_, step, *said[i].call, code);
      if (said[i].is_before_calls) return EmitBeforeCalls(emission_, step, code);
      // The action waits for several collectives, one after another.
      const auto finishes = [](const Said& one) { return one.stage.what == StageAction::What::kFinish; };
      if (finishes(said[i]) && (i == 0 || !finishes(said[i - 1]))) code.Gap();
      WriteOrdered(said[i].stage, code);
    };
    return list;
  }

  void WriteInitialize(LayeredText& text, cpp::Code& code) {
    cpp::Code body(kMemberIndent + 2);
    text.Write(kInitialValues, code, body);
    code.Gap();
    code.Open(cpp::Function{.result = cpp::Name("void"), .name = "Initialize", .suffix = "override"})
        .Append(std::move(body));
  }

  void WriteAwaitResults(cpp::Code& code) {
    const bool has_results = std::any_of(order_.begin(), order_.end(), [](const OrderedStage& ordered) {
      return ordered.what == StageAction::What::kStartResult;
    });
    if (!has_results) return;
    code.Gap();
    cpp::Code& body =
        code.Open(cpp::Function{.result = cpp::Name("void"), .name = "AwaitResults", .suffix = "override"});
    body.OnLine(cpp::ForEach{{cpp::Reference(cpp::Name("Pending")), "pending"}, cpp::Name("results")})
        .Do(cpp::Call("comm.Finish", {cpp::Name("pending")}));
    body.Do(cpp::Call("results.clear", {}));
  }

  void WriteKeepCopies(LayeredText& text, cpp::Code& code) {
    cpp::Code body(kMemberIndent + 2);
    text.Write(CopyList(), code, body);
    if (body.empty()) return;
    body.Do(cpp::Call("watch.Finish", {}));
    code.Gap();
    code.Open(cpp::Function{.result = cpp::Name("void"), .name = "KeepCopies", .suffix = "override"})
        .Append(std::move(body));
  }

  // Forgets what an earlier evaluation has added up, and sends the numbers of a step to a device.
  void WritePrepare(cpp::Code& code) {
    const std::vector<const ir::Compute*> scalars = StepScalarsOf(program());
    const bool sends_numbers = target().is_device && (!scalars.empty() || DependsOnStep(program()));
    if (!sends_numbers && !HasTotals(program())) return;
    code.Gap();
    cpp::Code& body = code.Open(cpp::Function{.result = cpp::Name("void"),
                                              .name = "Prepare",
                                              .parameters = {ScalarsParameter(sends_numbers ? "scalars" : "")},
                                              .suffix = "override"});
    if (HasTotals(program())) body.Do(cpp::Call("totals.Forget", {}));
    if (!sends_numbers) return;
    EmitStepScalars(emission_, scalars, body);
    std::vector<cpp::Expr> numbers;
    for (const ir::Compute* scalar : scalars) numbers.push_back(emission_.names[scalar->output]);
    const cpp::Expr step = cpp::Cast(cpp::Name("uint64_t"), cpp::Name("scalars").Member("step"));
    body.Do(cpp::Call("numbers.Set", {step, cpp::Braces(std::move(numbers))}));
  }

  void WritePhase(size_t index, LayeredText& text, cpp::Code& code) {
    const PhaseFunction& function = functions_[index];
    const std::vector<const ir::Compute*> scalars = ScalarsOf(function);
    cpp::Code statements(kMemberIndent + 2), body(kMemberIndent + 2);
    emission_.section.clear();
    text.Write(kFirstPhase + index, code, statements);
    if (function.IsUpdate()) WriteCopies(statements);
    EmitStepScalars(emission_, ReadBy(statements, scalars), body);
    body.Append(std::move(statements));
    if (!function.IsCommon() && body.empty()) return;
    if (!body.empty()) {
      body.Do(cpp::Call("watch.Finish", {}));
      body = WithMessages(function, std::move(body));
    }
    cpp::Function head = {.result = cpp::Name("void"), .name = function.name};
    if (function.IsUpdate()) head.parameters = {ScalarsParameter(scalars.empty() ? "" : "scalars")};
    if (function.IsCommon()) head.suffix = "override";
    code.Gap();
    code.Open(head).Append(std::move(body));
  }

  // The body of a function of a pipeline on devices says first what it sends and takes.
  cpp::Code WithMessages(const PhaseFunction& function, cpp::Code body) {
    if (!program().pipeline.has_value() || !target().is_device) return body;
    std::vector<MessageStep> messages;
    bool is_behind = false;
    for (const OrderedStage& ordered : order_) {
      if (!function.Has(ordered)) continue;
      const auto* single = std::get_if<ir::SingleStep>(&ordered.stage->action);
      const auto* action = single == nullptr ? nullptr : &emission_.step(single->step).action;
      const bool is_message = action != nullptr && (std::holds_alternative<ir::Send>(*action) ||
                                                    std::holds_alternative<ir::Receive>(*action));
      if (is_message) {
        messages.push_back({.step = single->step, .is_behind = std::exchange(is_behind, false)});
      } else {
        is_behind |= action == nullptr || !emission_.fusion.DoesNothing(emission_.step(single->step));
      }
    }
    cpp::Code whole(kMemberIndent + 2);
    EmitBeginPass(emission_, messages, whole);
    whole.Append(std::move(body));
    return whole;
  }

  // The numbers of the step that a function of a program for CPUs reads. A device finds them in its memory.
  std::vector<const ir::Compute*> ScalarsOf(const PhaseFunction& function) const {
    if (target().is_device) return {};
    std::set<ir::ValueId> read;
    for (const OrderedStage& ordered : order_) {
      if (!function.Has(ordered)) continue;
      for (const int step : ir::StepsOf(*ordered.stage)) {
        const ir::Compute* compute = ir::ComputeOf(emission_.step(step));
        if (compute != nullptr) read.insert(compute->inputs.begin(), compute->inputs.end());
      }
    }
    std::vector<const ir::Compute*> scalars = StepScalarsOf(program());
    std::erase_if(scalars, [&](const ir::Compute* scalar) { return read.count(scalar->output) == 0; });
    return scalars;
  }

  // Those of the numbers that statements name.
  std::vector<const ir::Compute*> ReadBy(const cpp::Code& statements, std::vector<const ir::Compute*> scalars) const {
    std::erase_if(scalars, [&](const ir::Compute* scalar) {
      return !Mentions(statements, emission_.names[scalar->output].Text());
    });
    return scalars;
  }

  void WriteOrdered(const OrderedStage& ordered, cpp::Code& code) {
    if (ordered.what == StageAction::What::kRun) return WriteStage(*ordered.stage, code);
    const int step = std::get<ir::SingleStep>(ordered.stage->action).step;
    if (ordered.what == StageAction::What::kStartResult) {
      const cpp::Expr start = StartOfCollective(emission_, step, code);
      return code.Do(cpp::Name("results").Call("push_back", {start}));
    }
    const std::optional<cpp::Expr> place = emission_.PendingPlace(step);
    if (ordered.what == StageAction::What::kFinish) {
      return code.Do(cpp::Call("comm.Finish", {place.has_value() ? *place : cpp::Name(pending_.at(step))}));
    }
    const bool is_copy = std::holds_alternative<ir::HostCopy>(emission_.step(step).action);
    std::string variable;
    if (!place.has_value()) {
      variable = pending_[step] = emission_.identifiers.Local(absl::StrCat(emission_.step(step).name, ".pending"));
    }
    const cpp::Expr start = (is_copy ? StartOfHostCopy : StartOfCollective)(emission_, step, code);
    if (place.has_value()) return code.Assign(*place, start);
    code.Declare({cpp::Name("Pending"), variable}, start);
  }

  void WriteStage(const ir::FusedStage& stage, cpp::Code& code) {
    Match(
        stage.action, [&](const ir::FusedLoop& loop) { emission_.target.emit_loop(emission_, loop, code); },
        [&](const ir::LoopBatch& batch) { emission_.target.emit_batch(emission_, batch, code); },
        [&](const ir::AccumulatedProduct& product) { EmitAccumulatedProduct(emission_, product, code); },
        [&](const ir::JointCall& joint) { EmitJointCall(emission_, joint, code); },
        [&](const ir::CallBatch& batch) { EmitCallBatch(emission_, batch, code); },
        [&](const ir::AttentionForward& attention) { EmitAttention(emission_, attention, code); },
        [&](const ir::AttentionBackward& attention) { EmitAttentionGradient(emission_, attention, code); },
        [&](const ir::SingleStep& single) {
          // A view is the same memory under the same name.
          if (std::holds_alternative<ir::View>(emission_.step(single.step).action)) return;
          if (emission_.fusion.DoesNothing(emission_.step(single.step)))
            return EmitNothing(emission_, single.step, code);
          Match(
              emission_.step(single.step).action, [&](const ir::Compute&) { EmitKernel(emission_, single.step, code); },
              [&](const ir::Collective&) { EmitCollective(emission_, single.step, code); },
              [&](const ir::Slice&) { EmitSlice(emission_, single.step, code); },
              [&](const ir::Glance& glance) { EmitGlance(emission_, single.step, glance, code); },
              [&](const ir::HostCopy&) { EmitHostCopy(emission_, single.step, code); },
              [&](const ir::Send& send) { EmitSend(emission_, single.step, send, code); },
              [&](const ir::Receive& receive) { EmitReceive(emission_, single.step, receive, code); },
              [](const ir::View&) {});
        });
  }

  void WriteCopies(cpp::Code& code) {
    if (emission_.storage.copies.empty()) return;
    code.Gap();
    code.Comment("New values that could not be made in place.");
    for (const ir::ProgramUpdate& update : emission_.storage.copies) {
      code.Do(cpp::Call("Copy", {emission_.names[update.value], emission_.sizes.Count(update.value).Value(),
                                 emission_.names[update.state]}));
    }
  }

  Emission emission_;
  const TextOptions& options_;
  std::string type_;
  const std::vector<PhaseFunction> functions_;
  std::vector<OrderedStage> order_;
  std::map<int, size_t> tensor_lists_;           // Of merged collectives, by step.
  std::string list_;                             // The name of the one that is being written.
  std::map<int, size_t> batch_lists_;            // Of batches, by their first step.
  const Emission::EmitRow* emit_row_ = nullptr;  // Writes what is listed of a loop.
  std::map<int, std::string> pending_;           // Variables for collectives that are under way, by step.
};

// Where kernels of a device read numbers that differ between steps.
std::map<ir::ValueId, std::string> NamePlaces(const Target& target, const ir::Program& program, const Names& names,
                                              Identifiers& identifiers) {
  std::map<ir::ValueId, std::string> places;
  if (!target.is_device) return places;
  for (const ir::Compute* scalar : StepScalarsOf(program)) {
    places[scalar->output] = identifiers.Unique(absl::StrCat(names[scalar->output].Text(), "_place"));
  }
  return places;
}

// The program of the ranks that run `program`.
absl::StatusOr<cpp::Code> WriteProgram(const Target& target, const CodegenInput& input, const ir::Program& program,
                                       const ir::MemoryPlan& memory, const TextOptions& options,
                                       const Sharing& sharing) {
  CLEAVE_CHECK(memory.fuse == FusedBy(target, input.training.precision))
      << "the memory of this program was planned for another target";
  Identifiers identifiers(/*without_numbers=*/sharing.is_shared);
  const std::vector<NamedNumber> numbers = NamedNumbersOf(input.training, input.program);
  for (const auto& [name, variable] : VariablesOf(numbers)) identifiers.Reserve(variable);
  Sizes sizes(program, options.rank, identifiers);
  RankNumbers rank_numbers(program.mesh, sizes, identifiers);
  Names names = NameValues(program, memory.fusion, memory.storage, identifiers);
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
                    .groups = GroupsOf(input.program, sizes, identifiers),
                    .sharing = sharing,
                    .buckets = NameBuckets(program, memory.storage, identifiers),
                    .number_places = NamePlaces(target, program, names, identifiers),
                    .numbers = VariablesOf(numbers)};
  return ProgramWriter(std::move(emission), options).Write();
}

// The programs of a pipeline's stages.
absl::Status WriteStages(const Target& target, const CodegenInput& input, const TextOptions& options, cpp::Code& code,
                         std::map<int, ProgramType>& types) {
  const ir::Program& program = input.program;
  std::vector<const ir::PartProgram*> parts;
  for (const ir::PartProgram& part : input.parts) {
    const bool is_elsewhere =
        options.rank.has_value() &&
        program.mesh.Index(ir::AtMoment(program, *options.rank), {program.pipeline->axis}) != part.program.part;
    if (!is_elsewhere) parts.push_back(&part);
  }
  const auto write = [&](size_t i, const Sharing& sharing) {
    return WriteProgram(target, input, parts[i]->program, parts[i]->memory, options, sharing);
  };
  CLEAVE_ASSIGN_OR_RETURN(std::vector<StageText> texts,
                          StageTexts(parts.size(), /*share=*/!options.repeats_layers, write));
  for (StageText& text : texts) {
    std::vector<const ir::Program*> programs;
    for (const size_t i : text.parts) programs.push_back(&parts[i]->program);
    const std::string space = NamespaceOf(programs);
    for (size_t row = 0; row < programs.size(); ++row) {
      ProgramType& type = types[*programs[row]->part];
      type.name = absl::StrCat(space, "::", StructName(program.model));
      if (text.differs) type.row = static_cast<int64_t>(row);
    }
    OpenNamespaceOf(programs, code).Append(std::move(text.code));
    code.Gap();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ProgramText(const Target& target, const CodegenInput& input, const TextOptions& options) {
  const std::optional<int>& rank = options.rank;
  const ir::Program& program = input.program;
  const int ranks = ir::RankMesh(program).rank_count();
  if (rank.has_value() && (*rank < 0 || *rank >= ranks)) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", *rank, " of a mesh of ", ranks, " ranks"));
  }
  cpp::Code file;
  cpp::Code& code = EmitOpening(target, program, input.training, rank, file);
  MainText main{.training = input.training,
                .graph = input.graph,
                .program = program,
                .rank = rank,
                .at_peak = input.at_peak,
                .types = {}};
  if (program.pipeline.has_value()) {
    CLEAVE_RETURN_IF_ERROR(WriteStages(target, input, options, code, main.types));
  } else {
    CLEAVE_ASSIGN_OR_RETURN(cpp::Code text, WriteProgram(target, input, program, input.memory, options, {}));
    main.types[0] = {.name = StructName(program.model)};
    code.Append(std::move(text));
  }
  file.Gap();
  CLEAVE_RETURN_IF_ERROR(EmitMain(main, file));
  return file.Text();
}

std::set<std::string> NumbersOfFlags(const ir::Training& training, const ir::Graph& graph) {
  std::set<std::string> names;
  for (const auto& [name, unused] : VariablesOf(NamedNumbersOf(training, graph))) names.insert(name);
  return names;
}

}  // namespace cleave::codegen

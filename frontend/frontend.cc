#include "frontend/frontend.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "dsl/parse/parse.h"
#include "frontend/adapters/adapters.h"
#include "frontend/arguments/arguments.h"
#include "frontend/attributes/block.h"
#include "frontend/custom_ops/backward.h"
#include "frontend/custom_ops/custom_ops.h"
#include "frontend/evaluate/evaluator.h"
#include "frontend/finish/finish.h"
#include "frontend/functions/functions.h"
#include "frontend/imports/imports.h"
#include "frontend/inputs/inputs.h"
#include "frontend/optimizer/optimizer.h"
#include "frontend/overrides/overrides.h"
#include "frontend/prelude/prelude.h"
#include "frontend/report/report.h"
#include "frontend/settings/settings.h"
#include "frontend/variance/variance.h"
#include "ir/graph/training/samples.h"

namespace cleave::frontend {
namespace {

constexpr size_t kMaxRankAxes = 64;  // The most that a RankAxisSet holds.

// The items of a file by kind. Each kind except functions may occur once.
struct Items {
  const dsl::syntax::Model* model = nullptr;
  const dsl::syntax::Train* train = nullptr;
  const dsl::syntax::Parallel* parallel = nullptr;
  const dsl::syntax::Expect* expect = nullptr;
  std::optional<Span> manual = {};  // `#[manual]` on the model.
};

template <typename T>
void TakeOnce(const T& item, Span span, const T*& taken, Span& taken_span, const std::string& what,
              Reporter& reporter) {
  if (taken == nullptr) {
    taken = &item;
    taken_span = span;
    return;
  }
  reporter.Report(
      Error(Code::kE0502, absl::StrCat("more than one ", what)).At(span, "the second").At(taken_span, "the first"));
}

// Attributes of items other than `#[manual]` are those of functions, which are read at each call.
void CheckAttributes(const dsl::syntax::File& file, Reporter& reporter) {
  for (const dsl::syntax::Item& item : file.items) {
    for (const dsl::syntax::Attribute& attribute : item.attributes) {
      if (attribute.name.text == "manual" && std::holds_alternative<dsl::syntax::Model>(item.kind)) {
        if (attribute.has_parentheses) {
          reporter.Report(Error(Code::kE0303, "`manual` takes no arguments").At(attribute.span, "write `#[manual]`"));
        }
        continue;
      }
      if (IsBlockAttribute(attribute.name.text) && std::holds_alternative<dsl::syntax::Function>(item.kind)) continue;
      reporter.Report(Error(Code::kE0305, absl::StrCat("`#[", attribute.name.text, "]` has no meaning here"))
                          .At(attribute.span, "applies to no op"));
    }
  }
}

Items CollectItems(const dsl::syntax::File& file, Reporter& reporter) {
  Items items;
  Span model, train, parallel, expect;
  for (const dsl::syntax::Item& item : file.items) {
    // Only the head of an item is shown, not its whole body.
    const Span head{item.span.file, item.span.begin, item.span.begin + 8};
    if (const auto* found = std::get_if<dsl::syntax::Model>(&item.kind)) {
      TakeOnce(*found, found->name.span, items.model, model, "model in a file", reporter);
    } else if (const auto* found = std::get_if<dsl::syntax::Train>(&item.kind)) {
      TakeOnce(*found, found->model.span, items.train, train, "`train` block", reporter);
    } else if (const auto* found = std::get_if<dsl::syntax::Parallel>(&item.kind)) {
      TakeOnce(*found, head, items.parallel, parallel, "`parallel` block", reporter);
    } else if (const auto* found = std::get_if<dsl::syntax::Expect>(&item.kind)) {
      TakeOnce(*found, {item.span.file, item.span.begin, found->body_begin.end}, items.expect, expect, "`expect` block",
               reporter);
    }
    for (const dsl::syntax::Attribute& attribute : item.attributes) {
      if (attribute.name.text == "manual" && std::holds_alternative<dsl::syntax::Model>(item.kind))
        items.manual = attribute.span;
    }
  }
  if (items.model == nullptr && !reporter.has_errors()) {
    Diagnostic error = Error(Code::kE0501, "no model defined");
    error.labels.push_back({Span{file.file, 0, 0}, "expected `model NAME { … }` in this file"});
    reporter.Report(std::move(error));
  } else if (items.model != nullptr && items.train != nullptr && items.train->model.text != items.model->name.text) {
    reporter.Report(Error(Code::kE0506, absl::StrCat("`train` names no model: `", items.train->model.text, "`"))
                        .At(items.train->model.span, "not defined here")
                        .At(items.model->name.span, "the model of this file")
                        .Help(absl::StrCat("`train ", items.model->name.text, " { … }`")));
  }
  return items;
}

SettingTexts TextsOf(const std::vector<dsl::syntax::Setting>& settings) {
  SettingTexts texts;
  for (const dsl::syntax::Setting& setting : settings) texts.push_back({setting, "", ""});
  return texts;
}

// `record`: that which the type names; null for another type.
bool HasType(const std::string& type, const Function* record, Value& value) {
  if (record != nullptr) return value.is_record() && value.as_record().type == record->record;
  if (type == "int") return value.is_int();
  if (type == "bool") return std::holds_alternative<bool>(value.kind);
  if (type == "string") return std::holds_alternative<std::string>(value.kind);
  if (type == kTupleType) return value.is_tuple() && !HasTensor(value);
  if (!value.is_number()) return false;
  value = Value{value.as_number()};
  return true;
}

// A layer in it; null where there is none.
const FunctionValue* LayerIn(const Value& value) {
  if (value.is_function() && value.as_function().is_layer) return &value.as_function();
  const std::vector<Value>* parts = value.is_record()  ? &value.as_record().fields
                                    : value.is_tuple() ? &value.as_tuple()
                                                       : nullptr;
  for (size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
    if (const FunctionValue* layer = LayerIn((*parts)[i])) return layer;
  }
  return nullptr;
}

// The value of a model's argument: its default or what was given for it, and then the fields that were given.
Value ArgumentValue(const dsl::syntax::Parameter& parameter, const Function* record, const OverriddenArgument* given,
                    Evaluator& evaluator, Reporter& reporter) {
  const std::string& name = parameter.name.text;
  const std::string& type = parameter.type.element.text;
  const bool is_default = given == nullptr || !given->value.has_value();
  const dsl::syntax::Expression& expression = is_default ? *parameter.default_value : *given->value;
  if (!is_default) reporter.SetContext(given->context);
  Value value = evaluator.EvaluateStatic(expression);
  if (!value.is_poison() && !HasType(type, record, value)) {
    reporter.Report(Error(Code::kE0204, absl::StrCat("argument `", name, "` is `", type, "`"))
                        .At(expression.span, absl::StrCat("this is ", DescribeType(value, evaluator.graph()))));
    value = Value{Poison()};
  }
  for (size_t i = 0; given != nullptr && i < given->fields.size() && !value.is_poison(); ++i) {
    reporter.SetContext(given->fields[i].context);
    value = evaluator.EvaluateWith(value, given->fields[i].path, given->fields[i].value);
  }
  if (const FunctionValue* layer = LayerIn(value)) {
    reporter.Report(
        Error(Code::kE0204, absl::StrCat("argument `", name, "` has a layer of `", layer->name, "`"))
            .At(given != nullptr && !given->fields.empty() ? given->fields.back().value.span : expression.span,
                "a layer has parameters, which belong to a statement")
            .Help("make it in the body of the model, or give the function without a call"));
    value = Value{Poison()};
  }
  reporter.SetContext("");
  return value;
}

// Binds the model's arguments to their defaults, or to what overrides say.
void DefineArguments(const dsl::syntax::Model& model, const std::map<std::string, OverriddenArgument>& overridden,
                     const FunctionTable& functions, Evaluator& evaluator, Reporter& reporter) {
  std::map<std::string, Span> seen;
  for (const dsl::syntax::Parameter& parameter : model.parameters) {
    const std::string& name = parameter.name.text;
    const std::string& type = parameter.type.element.text;
    Value value{Poison()};
    const auto [first, inserted] = seen.try_emplace(name, parameter.name.span);
    if (!inserted) {
      reporter.Report(Error(Code::kE0202, absl::StrCat("`", name, "` is defined twice"))
                          .At(parameter.name.span, "defined again here")
                          .At(first->second, "first defined here"));
      continue;
    }
    const auto found = overridden.find(name);
    const OverriddenArgument* const given = found == overridden.end() ? nullptr : &found->second;
    const Function* const record = parameter.type.dimensions ? nullptr : functions.FindRecord(type, nullptr);
    const bool is_scalar = IsScalarName(type) && type != kInitializerType && type != kLayerType;
    if (parameter.type.dimensions || (!is_scalar && record == nullptr)) {
      reporter.Report(
          Error(Code::kE0204, "an argument of a model is `int`, `float`, `bool`, `string`, `tuple` or a record")
              .At(parameter.type.span, absl::StrCat("`", name, "` is ", TypeText(parameter.type)))
              .Help("tensors are inputs: `input x: f32[batch, 784];`"));
    } else if ((given == nullptr || !given->value.has_value()) && !parameter.default_value) {
      reporter.Report(
          Error(Code::kE0509, absl::StrCat("argument `", name, "` of model `", model.name.text, "` has no value"))
              .At(parameter.name.span, "no default here")
              .Help(absl::StrCat("give it one, or use `--set ", name, "=…`")));
    } else {
      value = ArgumentValue(parameter, record, given, evaluator, reporter);
    }
    evaluator.DefineArgument(parameter.name, std::move(value));
  }
}

void AddNamedPins(const dsl::syntax::Parallel& parallel, Evaluator& evaluator, Reporter& reporter) {
  for (const dsl::syntax::Pin& pin : parallel.pins) {
    const ir::Graph& graph = evaluator.graph();
    const std::string& target = pin.target.value;
    if (const std::optional<ir::OpId> op = graph.Find(target)) {
      evaluator.AddPin(pin.attribute, *op);
      continue;
    }
    std::vector<std::string> names;
    std::vector<std::string> inside;
    for (const ir::Op& op : graph.ops) {
      names.push_back(op.name);
      if (op.name.compare(0, target.size() + 1, target + ".") == 0 && inside.size() < 8) inside.push_back(op.name);
    }
    Diagnostic error = Error(Code::kE0301, absl::StrCat("pin on `", target, "`, which does not exist"))
                           .At(pin.target_span, "no op or parameter has this name");
    if (!inside.empty()) {
      error.help.push_back(absl::StrCat("`", target, "` holds ", QuotedList(inside, "and")));
    } else if (auto nearest = NearestName(target, names)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    }
    reporter.Report(std::move(error));
  }
}

// What the block says; nullopt where there is none.
std::optional<Contract> ContractIn(const Items& items, Reporter& reporter) {
  if (items.expect == nullptr) return std::nullopt;
  Diagnostics mistakes;
  Contract contract = ReadContract(*items.expect, mistakes);
  for (const Diagnostic& mistake : mistakes.items()) reporter.Report(mistake);
  return contract;
}

void CheckOutside(const ir::ParallelSettings& settings, const std::vector<ir::Region>& regions, Reporter& reporter) {
  if (!settings.outside_span.is_somewhere() || !regions.empty() || reporter.has_errors()) return;
  reporter.Report(Error(Code::kE0323, "`outside` in a model without regions")
                      .At(settings.outside_span, "says how ops outside of regions run")
                      .Help("remove it, or write `#[region(…)]` before a call"));
}

// The ranks of a manual model: the mesh that it names, or one axis.
std::vector<ir::RankAxis> RanksOf(const ir::ParallelSettings& settings, const FrontendOptions& options,
                                  Reporter& reporter) {
  if (settings.mesh.empty()) {
    const int64_t otherwise = settings.devices ? settings.devices->value : options.default_devices;
    return {{"world", options.devices.value_or(otherwise)}};
  }
  std::vector<ir::RankAxis> axes;
  int64_t product = 1;
  for (const ir::NamedAxis& axis : settings.mesh) {
    axes.push_back({axis.name, axis.size});
    product *= axis.size;
  }
  if (options.devices.value_or(product) != product && !reporter.has_errors()) {
    reporter.Report(
        Error(Code::kE0306, absl::StrCat("the mesh has ", Plural(product, "rank"), ", but there ",
                                         *options.devices == 1 ? "is " : "are ", Plural(*options.devices, "device")))
            .At(settings.mesh_span, absl::StrCat("these are ", Plural(product, "rank")))
            .Help(absl::StrCat("`--devices ", product, "`, or another mesh")));
  }
  if (axes.size() > kMaxRankAxes) {
    reporter.Report(Error(Code::kE0508, absl::StrCat("the mesh of a manual model has at most ", kMaxRankAxes, " axes"))
                        .At(settings.mesh_span, absl::StrCat("these are ", axes.size())));
    axes.resize(kMaxRankAxes);
  }
  return axes;
}

void WarnOfUnusedFunctions(const dsl::syntax::Model& model, const SettingTexts& train, const FunctionTable& functions,
                           Reporter& reporter) {
  std::vector<dsl::syntax::Expression> settings;
  for (const SettingText& text : train) settings.push_back(text.setting.value);
  const std::set<const Function*> called = functions.CalledFrom(model, settings);
  for (const Function* function : functions.model_functions()) {
    if (called.count(function) > 0 || function->name()[0] == '_' || function->broken) continue;
    reporter.Report(Warning(Code::kW0614, absl::StrCat("function `", function->name(), "` is never called"))
                        .At(function->syntax->name.span, "defined here")
                        .Note("a function is checked when it is called"));
  }
}

// Of the texts of all files that the model consists of, and of what the command line changes in them.
std::string HashOf(const dsl::syntax::File& file, const Imports& imports, const SourceSet& sources,
                   const FrontendOptions& options) {
  std::string hashed(sources.file(file.file).text());
  for (const dsl::syntax::File& imported : imports.files) {
    const SourceFile& text = sources.file(imported.file);
    absl::StrAppend(&hashed, "\nimport ", text.text().size(), "\n", text.text());
  }
  for (const auto& [name, value] : options.overrides) absl::StrAppend(&hashed, "\n--set ", name, "=", value);
  return absl::StrFormat("xxh3:%016x", static_cast<uint64_t>(XXH3_64bits(hashed.data(), hashed.size())));
}

// Marks the parameters that training leaves as `params` has them.
void MarkUnchanged(ir::Graph& graph) {
  std::set<ir::OpId> changed;
  for (const ir::StateUpdate& update : graph.updates) changed.insert(update.state);
  for (ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kParameter || op.attributes.Get(ir::attribute::kTrained)) continue;
    if (changed.count(op.id) == 0) op.attributes.Set(ir::attribute::kInParams, true);
  }
}

// The inputs from which none of these outputs is computed; none where there are no outputs, or one is not known.
std::set<ir::OpId> UnreadInputs(const Expansion& expansion, const std::vector<std::string>& outputs) {
  const ir::Graph& graph = expansion.graph;
  IdVector<ir::OpId, char> read(graph.ops.size(), outputs.empty());
  for (const std::string& name : outputs) {
    const auto look = std::find_if(graph.looks.begin(), graph.looks.end(), [&](const ir::Look& look) {
      return look.kind == ir::LookKind::kOutput && look.part == name;
    });
    const std::optional<ir::OpId> value = look == graph.looks.end() ? graph.Find(name) : look->value;
    if (!value.has_value()) return {};
    read[*value] = true;
  }
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const ir::Op& op = graph.op(ir::OpId(static_cast<int64_t>(i)));
    if (!read[op.id]) continue;
    for (const ir::OpId input : op.inputs) read[input] = true;
  }
  std::set<ir::OpId> unread;
  for (const auto& [id, span] : expansion.inputs) {
    if (!read[id]) unread.insert(id);
  }
  return unread;
}

// The file with the functions that make samples, where the data is such; else null, as after a mistake.
const BodyFile* LoadSamples(const Module& module, const Expansion& expansion, CustomOps& custom_ops,
                            Reporter& reporter) {
  const ir::DataSource* const data = ir::CustomDataOf(module.training.data);
  if (data == nullptr || reporter.has_errors()) return nullptr;
  std::vector<CustomOps::Input> inputs;
  for (const auto& [id, span] : expansion.inputs) {
    const ir::Op& input = expansion.graph.op(id);
    inputs.push_back({.name = input.name, .is_float = input.type.dtype == ir::DType::kF32});
  }
  return custom_ops.LoadSamples(data->path, module.data_place, inputs, reporter);
}

}  // namespace

std::optional<Module> Analyze(const dsl::syntax::File& file, SourceSet& sources, const FrontendOptions& options,
                              Diagnostics& diagnostics) {
  Reporter reporter(sources, diagnostics);
  Diagnostics prelude_mistakes;
  const FileId prelude_text = sources.Add("prelude.model", std::string(PreludeText()), TextOrigin::kBuiltIn);
  const std::optional<dsl::syntax::File> prelude = dsl::Parse(prelude_text, sources, prelude_mistakes);
  CLEAVE_CHECK(prelude.has_value()) << RenderText(prelude_mistakes, sources);

  const Imports imports = LoadImports(file, sources, reporter, options.open);
  if (reporter.has_errors()) return std::nullopt;  // Names that are missing would only follow from that.
  const Items items = CollectItems(file, reporter);
  CheckAttributes(file, reporter);
  for (const dsl::syntax::File& imported : imports.files) CheckAttributes(imported, reporter);
  const FunctionTable functions(file, imports, *prelude, reporter);
  if (items.model == nullptr) return std::nullopt;

  static const auto& kNone = *new std::vector<dsl::syntax::Setting>();
  OverrideResult overridden = ApplyOverrides(
      {.overrides = options.overrides,
       .folder = options.override_folder,
       .model = *items.model,
       .functions = functions,
       .train = CheckSettingNames("train", TrainSettingNames(), TextsOf(items.train ? items.train->settings : kNone),
                                  reporter),
       .parallel = CheckSettingNames("parallel", ParallelSettingNames(),
                                     TextsOf(items.parallel ? items.parallel->settings : kNone), reporter)},
      sources, reporter);

  CustomOps custom_ops(file, imports, sources, options.target, reporter);
  if (options.sightings != nullptr) options.sightings->Begin(sources);
  Evaluator evaluator(functions, custom_ops, reporter, options.sightings);
  evaluator.SetModel(*items.model, items.manual);
  DefineArguments(*items.model, overridden.arguments, functions, evaluator, reporter);
  Module module;
  module.contract = ContractIn(items, reporter);
  module.pins.settings = ReadParallel(overridden.parallel, options.devices.has_value(), evaluator, reporter);
  if (module.pins.settings.passes_over_parameters) evaluator.PassOverParametersOfRegions();
  if (items.manual) evaluator.SetRanks(RanksOf(module.pins.settings, options, reporter));
  if (options.generates) evaluator.SetGenerates();
  evaluator.RunModel(*items.model, options.outputs);
  if (options.sightings != nullptr) options.sightings->NameOps(evaluator.graph());
  module.training = ReadTrain(overridden.train, evaluator, reporter,
                              {.data = module.data_place,
                               .params = module.params_place,
                               .npy = module.npy_places,
                               .precision = module.precision_place,
                               .evaluation = module.evaluation_place,
                               .validation = module.validation_place});
  module.training.present = items.train != nullptr;
  const std::optional<AdaptSetting> adapt = ReadAdapt(overridden.train, evaluator, reporter);
  // In a graph of its own, because it reads gradients, which the model does not have.
  Evaluator updater(functions, custom_ops, reporter, options.sightings);
  updater.SetModel(*items.model, items.manual);
  updater.SetRanks(evaluator.graph().rank_axes);
  DefineArguments(*items.model, overridden.arguments, functions, updater, reporter);
  Optimizer optimizer(functions, updater, reporter);
  optimizer.Read(overridden.train, module.training);
  evaluator.FinishRegions(module.pins.settings);
  // If ops are missing because of a mistake, a name is not reported as wrong.
  if (!reporter.has_errors()) AddDatasetPins(overridden.parallel, evaluator, reporter);
  if (items.parallel != nullptr && !reporter.has_errors()) AddNamedPins(*items.parallel, evaluator, reporter);
  WarnOfUnusedFunctions(*items.model, overridden.train, functions, reporter);

  Expansion expansion = std::move(evaluator).Finish();
  CheckOutside(module.pins.settings, expansion.regions, reporter);
  CheckInputs(expansion.graph, items.model->name.span, expansion.inputs, UnreadInputs(expansion, options.outputs),
              module.training.data, module.npy_places, reporter);
  const BodyFile* const samples = LoadSamples(module, expansion, custom_ops, reporter);
  if (expansion.graph.is_manual() && !reporter.has_errors()) CheckVariance(expansion, reporter);
  if (reporter.has_errors()) return std::nullopt;
  if (adapt.has_value()) {
    module.training.adapters = ir::AdapterText(adapt->form);
    module.training.frozen = adapt->frozen;
    optimizer.Freeze(AddAdapters(*adapt, expansion, reporter));
    if (reporter.has_errors()) return std::nullopt;
  }
  optimizer.Divide(expansion.graph);
  if (reporter.has_errors()) return std::nullopt;
  expansion = Tidy(std::move(expansion), reporter);
  CheckBackward(expansion.graph, expansion.custom_calls, reporter);
  if (reporter.has_errors()) return std::nullopt;
  OptimizerExpansion updates = optimizer.Expand(expansion, module.training);
  if (reporter.has_errors()) return std::nullopt;
  reporter.Flush();
  module.updates = std::move(updates.updates);
  module.graph = std::move(expansion.graph);
  if (absl::EndsWith(module.training.params, ".safetensors")) MarkUnchanged(module.graph);
  module.graph.model = items.model->name.text;
  module.graph.file = sources.file(file.file).path();
  module.graph.hash = HashOf(file, imports, sources, options);
  module.pins.pins = std::move(expansion.pins);
  module.pins.priorities = std::move(expansion.priorities);
  module.pins.regions = std::move(expansion.regions);
  module.pins.retentions = std::move(expansion.retentions);
  module.pins.stages = std::move(expansion.stages);
  module.npy_places.merge(expansion.npy_places);
  if (samples != nullptr) module.custom_files[samples->path] = {.source = samples->source, .text = samples->text};
  for (const auto* calls : {&expansion.custom_calls, &updates.custom_calls}) {
    for (const auto& [id, call] : *calls) {
      const BodyFile& body = *call.op->body;
      module.custom_files[body.path] = {.source = body.source, .text = body.text};
    }
  }
  return module;
}

}  // namespace cleave::frontend

// A source is initialized by one statement (SourceInitializer) and listed as a parameter with its states by another
// (EmitParameterView). Both come in the order of the program, what the optimizer keeps of a parameter behind it.
#include "codegen/program/sources.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/check/check.h"
#include "codegen/program/settings.h"
#include "codegen/program/statements.h"
#include "ir/graph/ops/ops.h"

namespace cleave::codegen {
namespace {

// Puts what the optimizer keeps of a parameter behind it.
void SortByParameter(const Emission& emission, std::vector<int>& steps) {
  std::map<std::string, size_t> parameters;
  std::map<int, size_t> places;  // By step.
  for (size_t i = 0; i < steps.size(); ++i) {
    const ir::Step& step = emission.step(steps[i]);
    const ir::OpKind kind = ir::ComputeOf(step)->kind;
    places[steps[i]] = i;
    if (kind == ir::OpKind::kParameter) parameters[step.name] = i;
    if (kind != ir::OpKind::kState) continue;
    const auto parameter = parameters.find(step.name.substr(0, step.name.rfind('.')));  // Of "h1.weight.momentum".
    if (parameter != parameters.end()) places[steps[i]] = parameter->second;
  }
  std::stable_sort(steps.begin(), steps.end(), [&](int a, int b) { return places.at(a) < places.at(b); });
}

// The sources of these kinds that have memory.
std::vector<int> SourcesOfKinds(const Emission& emission, const std::set<ir::OpKind>& kinds) {
  std::vector<int> steps;
  for (int i = 0; i < static_cast<int>(emission.program.steps.size()); ++i) {
    const ir::Compute* compute = ir::ComputeOf(emission.step(i));
    if (compute == nullptr || !ir::IsSource(emission.step(i)) || kinds.count(compute->kind) == 0) continue;
    if (emission.storage.root[compute->output].has_value()) steps.push_back(i);
  }
  SortByParameter(emission, steps);
  return steps;
}

// Writes the statement that gives one source its initial value.
class SourceInitializer {
 public:
  SourceInitializer(Emission& emission, const ir::Step& step)
      : emission_(emission), step_(step), compute_(*ir::ComputeOf(step)) {}

  void Write(cpp::Code& code) {
    switch (compute_.kind) {
      case ir::OpKind::kParameter:
        return WriteParameter(code);
      case ir::OpKind::kRankValue:
        return WriteRankValue(code);
      case ir::OpKind::kConstant:
        return Fill(Number(compute_.attributes.Get(ir::attribute::kValue)), code);
      default:
        return Fill(Number(0), code);
    }
  }

 private:
  void WriteParameter(cpp::Code& code) {
    const std::string& init = compute_.attributes.Get(ir::attribute::kInit);
    const double first = compute_.attributes.Get(ir::attribute::kFirst);
    if (compute_.attributes.Has(ir::attribute::kStores)) {
      return code.Comment(absl::StrCat(ShownName(emission_.layer, step_.name), ": of ",
                                       ShownName(emission_.layer, compute_.attributes.Get(ir::attribute::kStores)),
                                       ", when this is done."));
    }
    if (init == "npy") {
      return code.Comment(
          absl::StrCat(ShownName(emission_.layer, step_.name), ": from a file that `main` names, when this is done."));
    }
    if (compute_.attributes.Has(ir::attribute::kFormula)) {
      return Fill(StepScalarExpr(compute_.attributes, emission_), code);
    }
    if (init == "constant") return Fill(Number(first), code);
    code.Do(cpp::Call(init == "uniform" ? "InitializeUniform" : "InitializeNormal",
                      {cpp::Braces({cpp::Name("seed"), Stream()}), emission_.sizes.Region(compute_.output),
                       cpp::Float(first), cpp::Float(compute_.attributes.Get(ir::attribute::kSecond)), Result()}));
  }

  void WriteRankValue(cpp::Code& code) {
    const std::vector<double>& values = compute_.attributes.Get(ir::attribute::kValues);
    code.Do(cpp::Call("Fill", {emission_.rank_numbers.OfFloats(values, Result().Text()), 1, Result()}));
  }

  // Each rank draws different numbers for a local parameter.
  cpp::Expr Stream() {
    if (!compute_.attributes.IsSet(ir::attribute::kLocal)) return NameCharacters(emission_.layer, step_.name);
    std::vector<int64_t> ranks(static_cast<size_t>(emission_.program.mesh.rank_count()));
    std::iota(ranks.begin(), ranks.end(), 0);
    const cpp::Expr name = cpp::Call("std::string", {NameString(emission_.layer, step_.name)});
    const cpp::Expr rank = cpp::Call("std::to_string", {emission_.rank_numbers.Of(ranks, "rank")});
    return (name + cpp::String("@") + rank).Call("c_str");
  }

  const cpp::Expr& Result() const { return emission_.names[compute_.output]; }
  cpp::Expr Number(double value) const { return ElementLiteral(emission_.value(compute_.output).type.dtype, value); }

  void Fill(const cpp::Expr& value, cpp::Code& code) {
    code.Do(cpp::Call("Fill", {value, emission_.sizes.Count(compute_.output).Value(), Result()}));
  }

  Emission& emission_;
  const ir::Step& step_;
  const ir::Compute& compute_;
};

// What the parameter is of a matrix that is stored in 8 bits.
cpp::Expr PartOf(const Emission& emission, const ir::Compute& parameter) {
  const ir::Attributes& attributes = parameter.attributes;
  const std::string& init = attributes.Get(ir::attribute::kInit);
  const char* const first = init == "npy"       ? "FirstValues::kOfFile"
                            : init == "uniform" ? "FirstValues::kUniform"
                            : init == "normal"  ? "FirstValues::kNormal"
                                                : "FirstValues::kConstant";
  return cpp::Braces(
      cpp::Name("MatrixPart"),
      {NameString(emission.layer, attributes.Get(ir::attribute::kStores)), attributes.Get(ir::attribute::kSize),
       cpp::Name(emission.value(parameter.output).type.dtype == ir::DType::kI8 ? "true" : "false"), cpp::Name(first),
       cpp::Float(attributes.Get(ir::attribute::kFirst)), cpp::Float(attributes.Get(ir::attribute::kSecond))});
}

// `steps`: the parameter, then what the optimizer keeps of it.
void EmitParameterView(const Emission& emission, const std::vector<int>& steps, cpp::Code& code) {
  const cpp::Expr parameters = cpp::Name("parameters");
  const ir::Step& parameter = emission.step(steps[0]);
  const ir::ValueId value = ir::ComputeOf(parameter)->output;
  std::vector<cpp::Expr> fields = {NameString(emission.layer, parameter.name),
                                   LineOf(emission.layer, parameter.name, parameter.line),
                                   emission.sizes.LayoutOf(value), emission.names[value]};
  std::vector<cpp::Expr> alike;
  std::vector<std::vector<cpp::Expr>> others;  // States of another shape or another layout.
  for (size_t i = 1; i < steps.size(); ++i) {
    const std::string& name = emission.step(steps[i]).name;
    const ir::ValueId state = ir::ComputeOf(emission.step(steps[i]))->output;
    const cpp::Expr own = cpp::String(name.substr(name.rfind('.') + 1));
    if (emission.value(state).layout == emission.value(value).layout &&
        emission.value(state).type == emission.value(value).type) {
      alike.push_back(cpp::Braces({own, emission.names[state]}));
    } else {
      others.push_back({own, emission.names[state], emission.sizes.LayoutOf(state)});
    }
  }
  if (!alike.empty()) fields.push_back(cpp::Braces(cpp::Name("OptimizerStates"), std::move(alike)));
  code.Do(parameters.Call("emplace_back", std::move(fields)));
  if (ir::ComputeOf(parameter)->attributes.Has(ir::attribute::kStores)) {
    code.Assign(parameters.Call("back").Member("part"), PartOf(emission, *ir::ComputeOf(parameter)));
  }
  if (ir::ComputeOf(parameter)->attributes.IsSet(ir::attribute::kInParams)) {
    code.Assign(parameters.Call("back").Member("is_in_params"), cpp::Name("true"));
  }
  for (std::vector<cpp::Expr>& state : others) {
    code.Do(parameters.Call("back").Member("states").Call("emplace_back", std::move(state)));
  }
}

}  // namespace

StatementList InitialValues(Emission& emission) {
  StatementList list{.function = "Initialize", .is_inline = true};
  std::vector<int> steps = SourcesOfKinds(
      emission, {ir::OpKind::kParameter, ir::OpKind::kState, ir::OpKind::kConstant, ir::OpKind::kRankValue});
  for (const int step : steps) list.statements.push_back(StatementOfSources(emission, {step}));
  list.emit = [&emission, steps = std::move(steps)](int place, cpp::Code& code) {
    SourceInitializer(emission, emission.step(steps[static_cast<size_t>(place)])).Write(code);
  };
  return list;
}

StatementList KeptCopies(Emission& emission) {
  StatementList list{.function = "KeepCopies", .is_inline = true};
  std::vector<int> steps = SourcesOfKinds(emission, {ir::OpKind::kCast});
  for (const int step : steps) list.statements.push_back(StatementOfSources(emission, {step}));
  list.emit = [&emission, steps = std::move(steps)](int place, cpp::Code& code) {
    emission.target.emit_loop(emission, ir::FusedLoop{{steps[static_cast<size_t>(place)]}}, code);
  };
  return list;
}

StatementList ListedParameters(Emission& emission) {
  StatementList list{.function = "ListParameters", .is_inline = true};
  list.parameters = {{cpp::Reference(cpp::Name("std::vector<ParameterView>")), "parameters"}};
  list.arguments = {cpp::Name("parameters")};
  std::vector<std::vector<int>> entries;
  const bool trains = emission.training.mode == ir::Mode::kTrain;
  const std::set<ir::OpKind> kinds = {ir::OpKind::kParameter, trains ? ir::OpKind::kState : ir::OpKind::kParameter};
  for (const int step : SourcesOfKinds(emission, kinds)) {
    const bool is_parameter = ir::ComputeOf(emission.step(step))->kind == ir::OpKind::kParameter;
    CLEAVE_CHECK(is_parameter || !entries.empty()) << emission.step(step).name << " belongs to no parameter";
    (is_parameter ? entries.emplace_back() : entries.back()).push_back(step);
  }
  for (const std::vector<int>& steps : entries) list.statements.push_back(StatementOfSources(emission, steps));
  list.emit = [&emission, entries = std::move(entries)](int place, cpp::Code& code) {
    EmitParameterView(emission, entries[static_cast<size_t>(place)], code);
  };
  return list;
}

void EmitStepScalars(const Emission& emission, const std::vector<const ir::Compute*>& scalars, cpp::Code& code) {
  for (const ir::Compute* compute : scalars) {
    const cpp::Variable constant = {cpp::Name("const float"), emission.names[compute->output].Text()};
    const cpp::Expr value = StepScalarExpr(compute->attributes, emission);
    if (value.length() < cpp::kColumns) {
      code.Declare(constant, value);
      continue;
    }
    const cpp::Expr function =
        cpp::Lambda("[](double step) -> float", StepScalarStatements(compute->attributes, emission));
    const cpp::Expr step = cpp::Cast(cpp::Name("double"), cpp::Name("scalars").Member("step"));
    code.Declare(constant, cpp::Call(function, {step}));
  }
}

}  // namespace cleave::codegen

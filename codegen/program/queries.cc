#include "codegen/program/queries.h"

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/program/facts.h"
#include "ir/graph/ops/limit.h"
#include "ir/graph/ops/parameter_file.h"

namespace cleave::codegen {
namespace {

cpp::Function Query(const cpp::Expr& result, absl::string_view name, absl::string_view suffix = "const override") {
  return {.result = result, .name = std::string(name), .suffix = std::string(suffix)};
}

cpp::Expr VectorOf(absl::string_view element) { return cpp::Template("std::vector", {cpp::Name(element)}); }

// The region of a tensor that has none of its samples.
cpp::Expr NothingOf(const Emission& emission, ir::ValueId input) {
  const ir::Shape& shape = emission.value(input).type.shape;
  const ir::Shape begin(shape.size(), 0);
  ir::Shape size = shape;
  size[0] = 0;
  return cpp::Braces(cpp::Name("Region"), {cpp::Numbers(shape), cpp::Numbers(begin), cpp::Numbers(size)});
}

// Adds the input that the step is to `inputs`: of it this rank holds `region`, at `values`.
void EmitInput(const Emission& emission, const ir::Step& step, const cpp::Expr& region, const cpp::Expr& values,
               cpp::Code& code) {
  const ir::Compute& compute = *ir::ComputeOf(step);
  const std::string& data = compute.attributes.Get(ir::attribute::kData);
  std::vector<cpp::Expr> arguments = {cpp::String(data.empty() ? step.name : data), region, values};
  if (emission.value(compute.output).type.dtype == ir::DType::kI32) {
    const ir::IntegerLimit integers = ir::LimitOf(emission.graph, compute.op);
    arguments.push_back(integers.limit);
    if (integers.besides.has_value()) arguments.push_back(*integers.besides);
  }
  code.Do(cpp::Name("inputs").Call("emplace_back", std::move(arguments)));
}

// The inputs of which a step reads no samples. A stage does not know of those that it does not need.
void EmitInputsOfFiles(Emission& emission, cpp::Code& code) {
  for (const ir::Step& step : emission.program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr || compute->kind != ir::OpKind::kInput) continue;
    const ir::InputReading reading = ir::ReadingOf(compute->attributes);
    const ir::ValueId value = compute->output;
    if (reading == ir::InputReading::kSamples || !emission.storage.root[value].has_value()) continue;
    EmitInput(emission, step, emission.sizes.Region(value), emission.names[value], code);
    const std::filesystem::path path =
        std::filesystem::path(emission.training.folder) / ir::ParameterFileOf(step.name, compute->attributes);
    const cpp::Expr file = cpp::Call(reading == ir::InputReading::kOnce ? "OnceFromNpy" : "EachStepFromNpy",
                                     {cpp::String(path.lexically_normal().string())});
    code.Assign(cpp::Name("inputs").Call("back").Member("file"), file);
  }
}

void EmitInputs(Emission& emission, cpp::Code& code) {
  const ir::Program& program = emission.program;
  const cpp::Expr type = VectorOf("ModelInput"), inputs = cpp::Name("inputs");
  cpp::Code& body = code.Open(Query(type, "Inputs", "override"));
  body.Member({type, "inputs"});
  EmitInputsOfFiles(emission, body);
  cpp::Code* each = &body;
  if (program.time.has_value()) {
    each = &body.Open(cpp::Counting("i", ir::MicroBatches(program)));
    each->Do(cpp::Call("Begin", {cpp::Name("i")}));
  }
  for (const ir::Step& step : program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute == nullptr || !ir::IsSamples(compute->kind, compute->attributes)) continue;
    // A stage that does not read an input knows of it, because inputs are told apart by their order.
    const ir::ValueId value = compute->output;
    const bool is_held = emission.storage.root[value].has_value();
    const cpp::Expr nothing = cpp::Cast(cpp::Pointer(emission.ElementTypeOf(value)), cpp::Name("nullptr"));
    EmitInput(emission, step, is_held ? emission.sizes.Region(value) : NothingOf(emission, value),
              is_held ? emission.names[value] : nothing, *each);
  }
  body.Return(inputs);
}

// What the host reads a value of one element with.
cpp::Expr NumberOf(const Emission& emission, ir::ValueId value) {
  const cpp::Expr& name = emission.names[value];
  return emission.target.is_device ? cpp::Prefix("*", cpp::Call("OnHost", {name, 1})) : name.At(0);
}

// The metrics that are numbers, or those that are tables.
std::vector<ir::ValueId> Metrics(const Emission& emission, bool are_tables) {
  std::vector<ir::ValueId> metrics;
  for (const ir::ProgramMetric& metric : emission.program.metrics) {
    if ((emission.value(metric.value).type.rank() > 0) == are_tables) metrics.push_back(metric.value);
  }
  return metrics;
}

// A function that returns the value with the number of its argument. `none`: what it returns without values.
void EmitChoice(cpp::Function head, const std::vector<ir::ValueId>& values, const cpp::Expr& none,
                const std::function<cpp::Expr(ir::ValueId)>& expr_of, cpp::Code& code) {
  head.parameters = {{cpp::Name("int"), values.size() < 2 ? "" : "index"}};
  cpp::Code& body = code.Open(head);
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    body.OnLine(cpp::If{cpp::Infix(cpp::Name("index"), "==", i)}).Return(expr_of(values[i]));
  }
  body.Return(values.empty() ? none : expr_of(values.back()));
}

void EmitMetrics(const Emission& emission, cpp::Code& code) {
  EmitChoice(
      Query(cpp::Name("float"), "Metric"), Metrics(emission, false), cpp::Float(0),
      [&](ir::ValueId value) { return NumberOf(emission, value); }, code);
  const std::vector<ir::ValueId> tables = Metrics(emission, true);
  if (tables.empty()) return;
  const auto table = [&](ir::ValueId value) {
    const cpp::Expr& name = emission.names[value];
    const cpp::Expr count = emission.value(value).type.elements();
    return cpp::Call("CopyOf", {emission.target.is_device ? cpp::Call("OnHost", {name, count}) : name, count});
  };
  EmitChoice(Query(VectorOf("float"), "Table"), tables, cpp::Expr(), table, code);
}

}  // namespace

void EmitQueries(Emission& emission, cpp::Code parameters, cpp::Code& code) {
  const ir::Program& program = emission.program;
  code.Gap();
  EmitInputs(emission, code);
  code.Gap();
  const cpp::Expr type = VectorOf("ParameterView");
  cpp::Code& list = code.Open(Query(type, "Parameters", "override"));
  list.Member({type, "parameters"});
  list.Append(std::move(parameters));
  list.Return(cpp::Name("parameters"));
  code.Gap();
  code.Open(Query(cpp::Name("float"), "Loss"))
      .Return(program.loss.has_value() ? NumberOf(emission, *program.loss) : cpp::Float(0));
  EmitMetrics(emission, code);
  const cpp::Expr arena = cpp::Name("arena"), bytes = cpp::Name("int64_t");
  code.Open(Query(bytes, "ArenaBytes")).Return(arena.Call("bytes"));
  if (emission.storage.host.total > Bytes(0)) code.Open(Query(bytes, "HostBytes")).Return(arena.Call("host_bytes"));
  if (emission.target.is_device && HasGlances(program)) {
    code.Open(Query(cpp::Name("bool"), "IsRecordable")).Return(cpp::Bool(false));
  }
}

}  // namespace cleave::codegen

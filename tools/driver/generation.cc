#include "tools/driver/generation.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/strong_id/strong_id.h"
#include "base/text/text.h"
#include "ir/proof/check/decoding.h"
#include "ir/transforms/decode/decode.h"
#include "tools/driver/element_limit.h"
#include "tools/driver/outputs.h"

namespace cleave::tools {
namespace {

// The name of the only value that the loss compares with labels, whatever else it does; empty where there is none.
std::string LogitsOf(const ir::Graph& graph) {
  if (!graph.loss.has_value()) return "";
  IdVector<ir::OpId, char> is_read(graph.ops.size(), 0);
  is_read[*graph.loss] = 1;
  std::set<ir::OpId> logits;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const ir::Op& op = graph.op(ir::OpId(static_cast<int64_t>(i)));
    if (is_read[op.id] == 0) continue;
    if (op.kind == ir::OpKind::kCrossEntropy) logits.insert(op.inputs[0]);
    for (const ir::OpId input : op.inputs) is_read[input] = 1;
  }
  return logits.size() == 1 ? graph.op(*logits.begin()).name : "";
}

// The only input that these logits may be computed from: i32, and as many sequences and places as they have.
std::optional<ir::OpId> TokensOf(const ir::Graph& graph, const ir::TensorType& logits) {
  std::optional<ir::OpId> tokens;
  for (const ir::Op& op : graph.ops) {
    if (!ir::IsSamples(op.kind, op.attributes) || op.type.dtype != ir::DType::kI32 || op.type.rank() != 2) continue;
    if (!std::equal(op.type.shape.begin(), op.type.shape.end(), logits.shape.begin())) continue;
    if (tokens.has_value()) return std::nullopt;
    tokens = op.id;
  }
  return tokens;
}

// `batch`, or `sizes.batch`: a name and fields of it. Empty for any other expression.
std::string NameOf(const dsl::syntax::Expression& expression) {
  if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) return name->text;
  const auto* field = std::get_if<dsl::syntax::Field>(&expression.kind);
  const std::string of = field != nullptr ? NameOf(*field->base) : "";
  return of.empty() ? "" : absl::StrCat(of, ".", field->name.text);
}

// The argument of the model, or the field of one, that is the first dimension of its inputs, as `batch` in
// `input tokens: i32[batch, seq];`; nullopt where it has none.
std::optional<std::string> BatchArgument(const dsl::syntax::File& file) {
  for (const dsl::syntax::Item& item : file.items) {
    const auto* model = std::get_if<dsl::syntax::Model>(&item.kind);
    if (model == nullptr) continue;
    for (const dsl::syntax::Statement& statement : model->body) {
      const auto* input = std::get_if<dsl::syntax::Input>(&statement.kind);
      if (input == nullptr || input->file.has_value()) continue;
      if (!input->type.dimensions.has_value() || input->type.dimensions->empty()) continue;
      const auto* size = std::get_if<dsl::syntax::Expression>(&input->type.dimensions->front().kind);
      const std::string name = size != nullptr ? NameOf(*size) : "";
      for (const dsl::syntax::Parameter& parameter : model->parameters) {
        if (parameter.name.text == name.substr(0, name.find('.'))) return name;
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

class GenerationMaker {
 public:
  GenerationMaker(const CompileOptions& options, int64_t slots, FileId file, frontend::Module& module, Report& report)
      : options_(options), slots_(slots), module_(module), file_(file), report_(report) {}

  bool Run() {
    std::string logits = options_.outputs.empty() ? "" : options_.outputs.front();
    ir::Graph& graph = module_.graph;
    if (graph.is_manual()) return Refuse({}, "in a manual model each rank has tensors of its own");
    if (logits.empty()) logits = LogitsOf(graph);
    if (logits.empty()) {
      return Refuse({}, "its loss has no `cross_entropy` of logits, or several", "name the logits: --output NAME");
    }
    if (!KeepOutputs({logits}, module_, report_.diagnostics)) return false;
    graph = ir::OfOneDocument(std::move(graph));
    KeepLooks(module_);
    const ir::OpId value = graph.looks.front().value;
    const ir::TensorType type = graph.op(value).type;
    if (type.rank() != 3 || type.dtype != ir::DType::kF32) {
      return Refuse(value,
                    absl::StrCat("`", logits, "` is ", type.ToString(), ", and not f32[batch, time, vocabulary]"));
    }
    const std::optional<ir::OpId> tokens = TokensOf(graph, type);
    if (!tokens.has_value()) {
      return Refuse(value, absl::StrCat("`", logits, "` is not computed from one input of tokens, i32[", type.shape[0],
                                        ", ", type.shape[1], "]"));
    }
    if (options_.chunk > type.shape[1]) {
      return Refuse(*tokens,
                    absl::StrCat("`--chunk ", options_.chunk, "` of sequences with ", Plural(type.shape[1], "place")));
    }
    return Decode({.tokens = *tokens, .logits = value, .places = options_.chunk, .slots = slots_}, logits);
  }

 private:
  bool Decode(const ir::DecodeOptions& options, const std::string& logits) {
    std::variant<ir::Decoding, ir::DecodeProblem> made = ir::MakeDecoding(module_.graph, options);
    if (const auto* problem = std::get_if<ir::DecodeProblem>(&made)) return RefuseBecauseOf(*problem);
    const absl::StatusOr<std::optional<ir::DecodeProblem>> checked = ir::CheckDecoding(module_.graph, options);
    if (!checked.ok()) {
      report_.bug = BugText("decode (simulated proof)", checked.status().message());
      return false;
    }
    if (checked->has_value()) return RefuseBecauseOf(**checked);
    module_.training.places = module_.graph.op(options.tokens).type.shape[1];
    ir::Decoding& decoding = std::get<ir::Decoding>(made);
    module_.graph = std::move(decoding.graph);
    module_.graph.looks = {{.kind = ir::LookKind::kOutput, .value = decoding.logits, .name = logits}};
    return true;
  }

  bool RefuseBecauseOf(const ir::DecodeProblem& problem) {
    return Refuse(problem.op, absl::StrCat("`", module_.graph.op(problem.op).name, "` ", problem.why));
  }

  bool Refuse(std::optional<ir::OpId> op, const std::string& why, const std::string& help = "") {
    Diagnostic error = Error(Code::kE0613, absl::StrCat("the model cannot generate: ", why));
    std::optional<Span> line;
    if (op.has_value()) line = LineOf(module_.graph.op(*op), file_, report_.sources);
    if (line.has_value()) error.labels.push_back({*line, "here"});
    if (!help.empty()) error.help.push_back(help);
    report_.diagnostics.Add(std::move(error));
    return false;
  }

  const CompileOptions& options_;
  const int64_t slots_;
  frontend::Module& module_;
  const FileId file_;
  Report& report_;
};

}  // namespace

int64_t TakeSlots(const dsl::syntax::File& file, Overrides& overrides) {
  const std::optional<std::string> batch = BatchArgument(file);
  if (!batch.has_value()) return 1;
  int64_t slots = 1;
  for (const auto& [name, value] : overrides) {
    // Another value is an error, or a number of sequences that is refused.
    if (name == *batch && (!absl::SimpleAtoi(value, &slots) || slots < 1)) return 1;
  }
  overrides.emplace_back(*batch, "1");
  return slots;
}

bool MakeGeneration(const CompileOptions& options, int64_t slots, FileId file, frontend::Module& module,
                    Report& report) {
  if (!GenerationMaker(options, slots, file, module, report).Run()) return false;
  ir::Pins pins;
  pins.settings = module.pins.settings;
  pins.settings.micro_batches = 1;
  pins.settings.zero = 0;
  pins.settings.recompute = ir::Recompute::kAuto;
  if (!options.search.has_value()) pins.settings.search = ir::SearchAlgorithm::kSapp;
  module.pins = std::move(pins);
  // The program starts in another folder.
  if (!options.tokenizer.empty()) {
    module.training.tokenizer = std::filesystem::absolute(options.tokenizer).lexically_normal().string();
  }
  return true;
}

}  // namespace cleave::tools

#include "tools/driver/config_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/graph/ops/attention.h"
#include "runtime/json/json.h"
#include "tools/driver/element_limit.h"
#include "tools/weights/config_beside.h"

namespace cleave::tools {
namespace {

// A number of a model, with the ops that have it.
using NumberOf = std::optional<double> (*)(const ir::Graph& graph, const ir::Op& op);

struct Comparison {
  std::vector<std::string> fields;  // The first that is there; "rope_parameters.rope_theta" is within an object.
  const char* what;                 // Of an op: "`theta`"
  NumberOf number;
};

std::optional<double> Theta(const ir::Graph&, const ir::Op& op) {
  if (op.kind != ir::OpKind::kRope && op.kind != ir::OpKind::kRopeAt) return std::nullopt;
  return op.attributes.Get(ir::attribute::kTheta);
}

std::optional<double> Epsilon(const ir::Graph&, const ir::Op& op) {
  if (op.kind != ir::OpKind::kLayerNorm && op.kind != ir::OpKind::kRmsNorm) return std::nullopt;
  return op.attributes.Get(ir::attribute::kEpsilon);
}

// Without samples in front, what stands at the place of heads may be more than they.
std::optional<int64_t> HeadsOfInput(const ir::Graph& graph, const ir::Op& op, size_t input) {
  if (op.kind != ir::OpKind::kAttention) return std::nullopt;
  const ir::Shape& shape = graph.op(op.inputs[input]).type.shape;
  if (shape.size() < 4) return std::nullopt;
  const bool is_inside = op.attributes.Get(ir::attribute::kHeadsInside)[input] != 0;
  return shape[ir::AttentionDimensions(shape.size(), is_inside).heads];
}

std::optional<double> Heads(const ir::Graph& graph, const ir::Op& op) { return HeadsOfInput(graph, op, 0); }

// Keys that have as many heads as the queries may have been repeated.
std::optional<double> SharedHeads(const ir::Graph& graph, const ir::Op& op) {
  const std::optional<int64_t> heads = HeadsOfInput(graph, op, 1);
  if (heads == HeadsOfInput(graph, op, 0)) return std::nullopt;
  return heads;
}

std::vector<Comparison> Comparisons() {
  return {
      {{"rope_theta", "rope_parameters.rope_theta", "rope_parameters.full_attention.rope_theta",
        "rope_scaling.rope_theta"},
       "`theta`",
       Theta},
      {{"rope_local_base_freq", "rope_parameters.sliding_attention.rope_theta"}, "`theta`", Theta},
      {{"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"}, "`epsilon`", Epsilon},
      {{std::begin(kHeadFields), std::end(kHeadFields)}, "heads", Heads},
      {{"num_key_value_heads"}, "heads of keys", SharedHeads},
  };
}

// The number at a path; null where there is none.
const runtime::Json* NumberAt(const runtime::Json& config, const std::string& path) {
  const runtime::Json* at = &config;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    at = at->kind == runtime::Json::Kind::kObject ? at->Find(part) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at->kind == runtime::Json::Kind::kNumber ? at : nullptr;
}

// Numbers in files may have been rounded to f32.
bool AreEqual(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b)); }

std::string NumberText(double number) { return absl::StrFormat("%.9g", number); }

}  // namespace

bool CheckConfig(const frontend::Module& module, FileId file, const SourceSet& sources, Diagnostics& diagnostics) {
  // A rank of a manual model has a part of the heads.
  const std::string& params = module.training.params;
  if (params.empty() || module.graph.is_manual()) return true;
  const runtime::Json config = ConfigBeside(params);
  bool fits = true;
  for (const Comparison& comparison : Comparisons()) {
    const runtime::Json* stored = nullptr;
    std::string field;
    for (size_t i = 0; i < comparison.fields.size() && stored == nullptr; ++i) {
      field = comparison.fields[i];
      stored = NumberAt(config, field);
    }
    double expected = 0;
    if (stored == nullptr || !absl::SimpleAtod(stored->text, &expected)) continue;
    std::map<double, const ir::Op*> first;  // Of the ops with each number.
    bool is_there = false;
    for (const ir::Op& op : module.graph.ops) {
      const std::optional<double> number = comparison.number(module.graph, op);
      if (!number.has_value()) continue;
      first.emplace(*number, &op);
      is_there |= AreEqual(*number, expected);
    }
    if (is_there || first.empty()) continue;
    fits = false;
    std::vector<std::string> numbers;
    for (const auto& [number, op] : first) numbers.push_back(NumberText(number));
    Diagnostic error =
        Error(Code::kE0514, absl::StrCat("`config.json` beside the weights says `", field, "` ", stored->text,
                                         ", and the model has ", comparison.what, " ", absl::StrJoin(numbers, " and ")))
            .At(module.params_place, "weights of this model");
    for (const auto& [number, op] : first) {
      const std::optional<Span> line = LineOf(*op, file, sources);
      if (line.has_value()) error.labels.push_back({*line, absl::StrCat(NumberText(number), " here")});
    }
    diagnostics.Add(std::move(error).Help("change the model, or keep the weights in a folder without `config.json`"));
  }
  return fits;
}

}  // namespace cleave::tools

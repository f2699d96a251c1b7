#include "ir/graph/text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status/status_macros.h"
#include "ir/graph/reader.h"

namespace cleave::ir {
namespace {

// The form of an empty model name: `_` cannot be the name of a model.
constexpr absl::string_view kNoModel = "_";

std::string IdText(OpId id) { return absl::StrCat("%", id.value()); }

// What stands at the end of a line, and the line of the model that causes it.
std::string CommentText(const Graph& graph, const std::string& name, int line) {
  return absl::StrCat("  // ", name, line > 0 ? absl::StrCat(", ", graph.file, ":", line) : "", "\n");
}

std::string OpText(const Graph& graph, const Op& op, const std::string& annotation) {
  std::string text =
      absl::StrCat("  ", IdText(op.id), ": ", op.type.ToString(), " = ", OpKindName(op.kind), "(",
                   absl::StrJoin(op.inputs, ", ", [](std::string* out, OpId id) { absl::StrAppend(out, IdText(id)); }),
                   ")", AttributesText(op.attributes), annotation);
  if (op.phase != Phase::kForward) absl::StrAppend(&text, " phase(", PhaseName(op.phase), ")");
  if (op.inherits.has_value()) {
    absl::StrAppend(&text, " from(", IdText(op.inherits->op), ", (", absl::StrJoin(op.inherits->factors, ", "), "))");
  }
  if (op.gradient_of.has_value()) absl::StrAppend(&text, " gradient_of(", IdText(*op.gradient_of), ")");
  return absl::StrCat(text, CommentText(graph, op.name, op.line));
}

// " ranks(dp = 4, tp = 2)"; empty for a model of one device.
std::string RankAxesText(const Graph& graph) {
  if (!graph.is_manual()) return "";
  return absl::StrCat(
      " ranks(",
      absl::StrJoin(graph.rank_axes, ", ",
                    [](std::string* out, const RankAxis& axis) { absl::StrAppend(out, axis.name, " = ", axis.size); }),
      ")");
}

// " sums(f32)"; empty where sums have the types of their values.
std::string SumsText(const Graph& graph) {
  return graph.sums.has_value() ? absl::StrCat(" sums(", DTypeName(*graph.sums), ")") : "";
}

class GraphParser {
 public:
  explicit GraphParser(absl::string_view text) : reader_(text) {}

  absl::StatusOr<Graph> Parse() {
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("graph"));
    CLEAVE_ASSIGN_OR_RETURN(graph_.model, reader_.Word());
    if (graph_.model == kNoModel) graph_.model.clear();
    CLEAVE_ASSIGN_OR_RETURN(graph_.file, reader_.String());
    CLEAVE_ASSIGN_OR_RETURN(graph_.hash, reader_.String());
    if (reader_.Take("ranks")) CLEAVE_RETURN_IF_ERROR(ParseRankAxes());
    if (reader_.Take("sums")) CLEAVE_RETURN_IF_ERROR(ParseSums());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("{"));
    while (!reader_.Take("}")) CLEAVE_RETURN_IF_ERROR(ParseLine());
    if (!reader_.AtEnd()) return reader_.Error("the end of the text");
    return std::move(graph_);
  }

 private:
  // "(dp = 4, tp = 2)"
  absl::Status ParseRankAxes() {
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    do {
      RankAxis axis;
      CLEAVE_ASSIGN_OR_RETURN(axis.name, reader_.Word());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
      CLEAVE_ASSIGN_OR_RETURN(axis.size, reader_.Integer());
      graph_.rank_axes.push_back(std::move(axis));
    } while (reader_.Take(","));
    return reader_.Expect(")");
  }

  // "(f32)"
  absl::Status ParseSums() {
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    CLEAVE_ASSIGN_OR_RETURN(const std::string name, reader_.Word());
    graph_.sums = ParseDType(name);
    if (!graph_.sums.has_value()) return reader_.Error(absl::StrCat("an element type instead of `", name, "`"));
    return reader_.Expect(")");
  }

  absl::Status ParseLine() {
    if (reader_.Take("loss")) {
      CLEAVE_ASSIGN_OR_RETURN(graph_.loss, KnownId());
      return absl::OkStatus();
    }
    if (reader_.Take("metric")) {
      Metric metric;
      CLEAVE_ASSIGN_OR_RETURN(metric.name, reader_.Word());
      CLEAVE_ASSIGN_OR_RETURN(metric.value, KnownId());
      graph_.metrics.push_back(std::move(metric));
      return absl::OkStatus();
    }
    if (reader_.Take("update")) {
      StateUpdate update;
      CLEAVE_ASSIGN_OR_RETURN(update.state, KnownId());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
      CLEAVE_ASSIGN_OR_RETURN(update.value, KnownId());
      graph_.updates.push_back(update);
      return absl::OkStatus();
    }
    if (reader_.Take("look")) return ParseLook();
    return ParseOp();
  }

  // "print %3  // h1.relu, mnist_mlp.model:7"
  absl::Status ParseLook() {
    Look look;
    CLEAVE_ASSIGN_OR_RETURN(const std::string word, reader_.Word());
    const std::optional<LookKind> kind = ParseLookKind(word);
    if (!kind.has_value()) return reader_.Error(absl::StrCat("a way to look at a value instead of `", word, "`"));
    look.kind = *kind;
    CLEAVE_ASSIGN_OR_RETURN(look.value, KnownId());
    if (reader_.NextIsWord()) {
      CLEAVE_ASSIGN_OR_RETURN(look.part, reader_.Word());
    }
    CLEAVE_RETURN_IF_ERROR(ParseComment(look.name, look.line));
    graph_.looks.push_back(std::move(look));
    return absl::OkStatus();
  }

  // An id of an op above.
  absl::StatusOr<OpId> KnownId() {
    CLEAVE_ASSIGN_OR_RETURN(int64_t value, reader_.Id());
    if (!graph_.ops.contains(OpId(value))) return reader_.Error(absl::StrCat("an op above instead of %", value));
    return OpId(value);
  }

  absl::Status ParseOp() {
    Op op;
    CLEAVE_ASSIGN_OR_RETURN(int64_t id, reader_.Id());
    if (id != static_cast<int64_t>(graph_.ops.size())) {
      return reader_.Error(absl::StrCat("op %", graph_.ops.size(), " instead of %", id));
    }
    op.id = OpId(id);
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(":"));
    CLEAVE_ASSIGN_OR_RETURN(op.type, reader_.Type());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
    CLEAVE_ASSIGN_OR_RETURN(op.kind, reader_.Kind());
    CLEAVE_ASSIGN_OR_RETURN(std::vector<int64_t> inputs, reader_.Ids());
    for (int64_t input : inputs) {
      if (!graph_.ops.contains(OpId(input))) return reader_.Error(absl::StrCat("an op above instead of %", input));
      op.inputs.push_back(OpId(input));
    }
    CLEAVE_ASSIGN_OR_RETURN(op.attributes, reader_.ReadAttributes());
    while (reader_.NextIsWord()) CLEAVE_RETURN_IF_ERROR(ParseAnnotation(op));
    CLEAVE_RETURN_IF_ERROR(ParseComment(op.name, op.line));
    graph_.ops.push_back(std::move(op));
    return absl::OkStatus();
  }

  absl::Status ParseAnnotation(Op& op) {
    if (reader_.Take("phase")) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_ASSIGN_OR_RETURN(std::string name, reader_.Word());
      const std::optional<Phase> phase = ParsePhase(name);
      if (!phase.has_value() || phase == Phase::kWeights)
        return reader_.Error(absl::StrCat("a phase instead of `", name, "`"));
      op.phase = *phase;
      return reader_.Expect(")");
    }
    if (reader_.Take("from")) {
      Inheritance inheritance;
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_ASSIGN_OR_RETURN(inheritance.op, KnownId());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(","));
      CLEAVE_ASSIGN_OR_RETURN(std::vector<int64_t> factors, reader_.Integers());
      for (int64_t factor : factors) inheritance.factors.push_back(static_cast<int>(factor));
      op.inherits = std::move(inheritance);
      return reader_.Expect(")");
    }
    if (reader_.Take("gradient_of")) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_ASSIGN_OR_RETURN(op.gradient_of, KnownId());
      return reader_.Expect(")");
    }
    CLEAVE_RETURN_IF_ERROR(reader_.Word().status());
    return reader_.SkipParentheses();
  }

  // "h1.matmul, mnist_mlp.model:7", the second part only where a line causes the op.
  absl::Status ParseComment(std::string& name, int& line) {
    const std::string comment = reader_.Comment();
    if (comment.empty()) return reader_.Error("`// ` and the op's name");
    const size_t comma = comment.find(", ");
    name = comment.substr(0, comma);
    if (comma == std::string::npos) return absl::OkStatus();
    const size_t colon = comment.rfind(':');
    if (colon == std::string::npos || !absl::SimpleAtoi(comment.substr(colon + 1), &line)) {
      return reader_.Error("a comment that ends with `:` and a line number");
    }
    return absl::OkStatus();
  }

  TextReader reader_;
  Graph graph_;
};

}  // namespace

std::string GraphText(const Graph& graph, const std::function<std::string(const Op&)>& annotate) {
  std::string text =
      absl::StrCat("graph ", graph.model.empty() ? std::string(kNoModel) : graph.model, " ", QuotedText(graph.file),
                   " ", QuotedText(graph.hash), RankAxesText(graph), SumsText(graph), " {\n");
  for (const Op& op : graph.ops) absl::StrAppend(&text, OpText(graph, op, annotate ? annotate(op) : ""));
  if (graph.loss.has_value()) absl::StrAppend(&text, "  loss ", IdText(*graph.loss), "\n");
  for (const Metric& metric : graph.metrics) {
    absl::StrAppend(&text, "  metric ", metric.name, " ", IdText(metric.value), "\n");
  }
  for (const StateUpdate& update : graph.updates) {
    absl::StrAppend(&text, "  update ", IdText(update.state), " = ", IdText(update.value), "\n");
  }
  for (const Look& look : graph.looks) {
    absl::StrAppend(&text, "  look ", LookKindName(look.kind), " ", IdText(look.value), look.part.empty() ? "" : " ",
                    look.part, CommentText(graph, look.name, look.line));
  }
  return absl::StrCat(text, "}\n");
}

absl::StatusOr<Graph> ParseGraph(absl::string_view text) { return GraphParser(text).Parse(); }

}  // namespace cleave::ir

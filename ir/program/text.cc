#include "ir/program/text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/reader.h"

namespace cleave::ir {
namespace {

// How an empty model name is written, as in the text form of a graph.
constexpr absl::string_view kNoModel = "_";
// A Slice; `slice` is an op of the language.
constexpr absl::string_view kSliceWord = "local_slice";
constexpr absl::string_view kViewWord = "local_view";
constexpr absl::string_view kCopyOutWord = "copy_to_host";
constexpr absl::string_view kCopyBackWord = "copy_from_host";
constexpr absl::string_view kSendWord = "send";
constexpr absl::string_view kReceiveWord = "receive";
constexpr absl::string_view kPipelineWord = "pipeline";
constexpr absl::string_view kStageWord = "stage";
constexpr absl::string_view kPartWord = "part";
constexpr absl::string_view kManualWord = "manual";
constexpr absl::string_view kTimeWord = "time";
constexpr absl::string_view kEachWord = "each";
constexpr absl::string_view kOnceWord = "once";
constexpr absl::string_view kBeforeWord = "before";
constexpr absl::string_view kAfterWord = "after";
constexpr absl::string_view kKeptWord = "kept";

// The fields of Messages, as attributes of a collective.
struct MessageList {
  absl::string_view name;
  std::vector<int64_t> Messages::*numbers;
};
constexpr MessageList kMessageLists[] = {{"send_sizes", &Messages::send_sizes},
                                         {"receive_sizes", &Messages::receive_sizes},
                                         {"send_ranks", &Messages::send_ranks},
                                         {"receive_ranks", &Messages::receive_ranks}};

// ---- Writing ----

class Writer {
 public:
  Writer(const Program& program, int rank) : program_(program), rank_(rank) {}

  std::string Write() const {
    std::string text =
        absl::StrCat("program ", program_.model.empty() ? std::string(kNoModel) : program_.model, " ",
                     QuotedText(program_.file), " mesh(", program_.mesh.ToString(), ") ", TimeText(), PipelineText(),
                     "rank ", rank_, program_.is_manual ? absl::StrCat(" ", kManualWord) : "", " {\n");
    for (const Step& step : program_.steps) absl::StrAppend(&text, StepText(step), "\n");
    if (program_.loss.has_value()) {
      absl::StrAppend(&text, "  loss ", ResultText(*program_.loss, program_.loss_of), "\n");
    }
    for (const ProgramMetric& metric : program_.metrics) {
      absl::StrAppend(&text, "  metric ", metric.name, " ", ResultText(metric.value, metric.of), "\n");
    }
    for (const ProgramUpdate& update : program_.updates) {
      absl::StrAppend(&text, "  update ", Id(update.state), " = ", Id(update.value), "\n");
    }
    for (const MeshAxis& axis : program_.mesh.axes()) {
      absl::StrAppend(&text, "  axis ", axis.name, " ", QuotedText(axis.link), " ",
                      QuotedText(FormatDouble(axis.weight)), "\n");
    }
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const ValueId id(static_cast<int64_t>(i));
      const Value& value = program_.value(id);
      absl::StrAppend(&text, "  value ", Id(id), " ", QuotedText(value.name), " ", value.type.ToString(), " ",
                      QuotedText(LayoutText(value.layout, program_.mesh)), " of %", value.origin.value(),
                      StageText(value.stage), "\n");
    }
    return absl::StrCat(text, "}\n");
  }

 private:
  static std::string Id(ValueId id) { return absl::StrCat("%", id.value()); }

  static std::string Ids(absl::Span<const ValueId> ids) {
    return absl::StrJoin(ids, ", ", [](std::string* out, ValueId id) { out->append(Id(id)); });
  }

  static std::string ResultText(ValueId value, std::vector<ValueId> of_stages) {
    of_stages.insert(of_stages.begin(), value);
    return Ids(of_stages);
  }

  std::string TimeText() const {
    if (!program_.time.has_value()) return "";
    return absl::StrCat(kTimeWord, "(", program_.mesh.axis(*program_.time).name, ") ");
  }

  std::string PipelineText() const {
    if (!program_.pipeline.has_value()) return "";
    const auto& [axis, schedule] = *program_.pipeline;
    return absl::StrCat(kPipelineWord, "(", program_.mesh.axis(axis).name, " ", PipelineScheduleName(schedule), ") ",
                        program_.part.has_value() ? absl::StrCat(kPartWord, "(", *program_.part, ") ") : "");
  }

  static std::string StageText(std::optional<int> stage) {
    return stage.has_value() ? absl::StrCat(" ", kStageWord, "(", *stage, ")") : "";
  }

  // Of the first micro-batch.
  std::string LocalType(ValueId id) const {
    return TensorType{program_.value(id).type.dtype, LocalShape(program_, id, AtMoment(program_, rank_))}.ToString();
  }

  // The members of the rank's group at the moment of the first micro-batch, as ranks; of a sum over time, itself.
  std::vector<int> RanksOf(const AxisList& axes) const {
    if (program_.time.has_value() && axes == AxisList{*program_.time}) return {rank_};
    std::vector<int> ranks = program_.mesh.Group(AtMoment(program_, rank_), axes);
    for (int& rank : ranks) rank /= static_cast<int>(MicroBatches(program_));
    return ranks;
  }

  std::string AxisNames(const AxisList& axes) const {
    return absl::StrJoin(axes, " ", [&](std::string* out, AxisId axis) { out->append(program_.mesh.axis(axis).name); });
  }

  std::string StepText(const Step& step) const {
    if (const Glance* glance = std::get_if<Glance>(&step.action)) return GlanceText(step, *glance);
    if (const Send* send = std::get_if<Send>(&step.action)) return SendText(step, *send);
    const StepValues outputs = Writes(step);
    const std::string types =
        absl::StrJoin(outputs, ", ", [&](std::string* out, ValueId id) { out->append(LocalType(id)); });
    std::string text = absl::StrCat("  ", Ids(outputs), ": ", types, " = ");
    std::string comment = step.name;
    bool named_by_comment = true;
    Match(
        step.action, [&](const Compute& compute) { absl::StrAppend(&text, ComputeText(compute)); },
        [&](const Collective& collective) {
          absl::StrAppend(&text, CollectiveText(collective));
          comment = collective.why;
          named_by_comment = false;
        },
        [&](const Slice& slice) { absl::StrAppend(&text, kSliceWord, "(", Id(slice.input), ")"); },
        [&](const View& view) { absl::StrAppend(&text, kViewWord, "(", Id(view.input), ")"); }, [](const Glance&) {},
        [&](const HostCopy& copy) {
          absl::StrAppend(&text, IsCopyOut(step) ? kCopyOutWord : kCopyBackWord, "(", Id(copy.input), ")");
        },
        [](const Send&) {},
        [&](const Receive& receive) { absl::StrAppend(&text, kReceiveWord, "() {from = ", receive.from, "}"); });
    absl::StrAppend(&text, WhenText(step));
    if (!named_by_comment && step.name != program_.value(outputs.front()).name) {
      absl::StrAppend(&text, " name(", QuotedText(step.name), ")");
    }
    return absl::StrCat(text, TailText(comment, step.line));
  }

  std::string GlanceText(const Step& step, const Glance& glance) const {
    return absl::StrCat("  look ", glance.number, " ", LookKindName(glance.kind), "(", Id(glance.input), ")",
                        WhenText(step), TailText(step.name, step.line));
  }

  std::string SendText(const Step& step, const Send& send) const {
    return absl::StrCat("  ", kSendWord, "(", Id(send.input), ") {to = ", send.to, "}", WhenText(step),
                        TailText(step.name, step.line));
  }

  // " phase(backward) once(after)"
  static std::string WhenText(const Step& step) {
    std::string text = step.phase == Phase::kForward ? "" : absl::StrCat(" phase(", PhaseName(step.phase), ")");
    if (step.repeat != Repeat::kEach) {
      absl::StrAppend(&text, " ", step.repeat == Repeat::kEachBefore ? kEachWord : kOnceWord, "(",
                      step.repeat == Repeat::kOnceAfter ? kAfterWord : kBeforeWord, ")");
    }
    return text;
  }

  // What a step is, and the line of the model that causes it.
  std::string TailText(const std::string& comment, int line) const {
    return absl::StrCat("  // ", comment, line > 0 ? absl::StrCat(", ", program_.file, ":", line) : "");
  }

  std::string ComputeText(const Compute& compute) const {
    std::string text =
        absl::StrCat(OpKindName(compute.kind), "(", Ids(compute.inputs), ")", AttributesText(compute.attributes));
    if (!compute.inputs.empty()) {
      const Rule rule = RuleOf(program_, compute);
      absl::StrAppend(&text, " in_strategy", InStrategyText(InStrategy(compute.strategy, rule, program_.mesh)));
    }
    absl::StrAppend(&text, " cuts(",
                    absl::StrJoin(compute.strategy.cuts, ", ",
                                  [&](std::string* out, const AxisList& axes) {
                                    out->append(axes.empty() ? "_" : AxisNames(axes));
                                  }),
                    ")");
    if (!compute.strategy.passes.empty()) {
      absl::StrAppend(&text, " passes(",
                      absl::StrJoin(compute.strategy.passes, ", ",
                                    [&](std::string* out, const PassThrough& pass) {
                                      absl::StrAppend(out, program_.mesh.axis(pass.axis).name, " ", pass.group);
                                    }),
                      ")");
    }
    if (compute.is_kept) absl::StrAppend(&text, " ", kKeptWord);
    return text;
  }

  std::string CollectiveText(const Collective& collective) const {
    std::vector<ValueId> inputs;
    for (const Transfer& transfer : collective.transfers) inputs.push_back(transfer.input);
    std::vector<std::string> attributes;
    if (collective.kind == CollectiveKind::kAllReduce || collective.kind == CollectiveKind::kReduceScatter) {
      attributes.push_back(absl::StrCat("op = ", ReductionName(collective.reduction)));
    }
    AddDimensions(collective, "from", &Transfer::from_dimension, attributes);
    AddDimensions(collective, "to", &Transfer::to_dimension, attributes);
    attributes.push_back(absl::StrCat("axes = (", AxisNames(collective.axes), ")"));
    attributes.push_back(absl::StrCat("ranks = (", absl::StrJoin(RanksOf(collective.axes), ", "), ")"));
    if (collective.kind == CollectiveKind::kPermute) {
      const PermutePartners partners = PartnersOf(program_, collective, AtMoment(program_, rank_));
      attributes.push_back(absl::StrCat("send_to = ", partners.destination / MicroBatches(program_)));
      attributes.push_back(absl::StrCat("receive_from = ", partners.origin / MicroBatches(program_)));
    }
    if (collective.turn != 0) attributes.push_back(absl::StrCat("turn = ", collective.turn));
    if (collective.kind == CollectiveKind::kBroadcast) attributes.push_back(absl::StrCat("root = ", collective.root));
    if (collective.messages.has_value()) {
      for (const auto& [name, numbers] : kMessageLists) {
        attributes.push_back(absl::StrCat(name, " = (", absl::StrJoin((*collective.messages).*numbers, ", "), ")"));
      }
    }
    return absl::StrCat(CollectiveKindName(collective.kind), "(", Ids(inputs), ") {", absl::StrJoin(attributes, ", "),
                        "}");
  }

  // "from = 1", or "from = (1, 0)" where the transfers differ. The kind decides whether they have such a dimension.
  static void AddDimensions(const Collective& collective, absl::string_view name, int Transfer::*dimension,
                            std::vector<std::string>& attributes) {
    const std::vector<Transfer>& transfers = collective.transfers;
    const int first = transfers.front().*dimension;
    if (first < 0) return;
    const auto is_first = [&](const Transfer& transfer) { return transfer.*dimension == first; };
    if (std::all_of(transfers.begin(), transfers.end(), is_first)) {
      attributes.push_back(absl::StrCat(name, " = ", first));
      return;
    }
    const auto append = [&](std::string* out, const Transfer& transfer) { absl::StrAppend(out, transfer.*dimension); };
    attributes.push_back(absl::StrCat(name, " = (", absl::StrJoin(transfers, ", ", append), ")"));
  }

  const Program& program_;
  int rank_;
};

// ---- Reading ----

class Parser {
 public:
  explicit Parser(absl::string_view text) : reader_(text) {}

  absl::StatusOr<Program> Parse() {
    CLEAVE_RETURN_IF_ERROR(ParseHeader());
    while (!reader_.Take("}")) CLEAVE_RETURN_IF_ERROR(ParseLine());
    if (!reader_.AtEnd()) return reader_.Error("the end of the text");
    CLEAVE_RETURN_IF_ERROR(Finish());
    return std::move(program_);
  }

 private:
  absl::Status ParseHeader() {
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("program"));
    CLEAVE_ASSIGN_OR_RETURN(program_.model, reader_.Word());
    if (program_.model == kNoModel) program_.model.clear();
    CLEAVE_ASSIGN_OR_RETURN(program_.file, reader_.String());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("mesh"));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    if (!reader_.Take(")")) {
      do {
        MeshAxis axis;
        CLEAVE_ASSIGN_OR_RETURN(axis.name, reader_.Word());
        CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
        CLEAVE_ASSIGN_OR_RETURN(axis.size, reader_.Integer());
        axes_.push_back(std::move(axis));
      } while (reader_.Take(","));
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    }
    CLEAVE_ASSIGN_OR_RETURN(program_.mesh, Mesh::Create(axes_));
    if (reader_.Take(kTimeWord)) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_ASSIGN_OR_RETURN(program_.time, Axis());
      if (program_.time != program_.mesh.AxisIds().back()) return reader_.Error("the last axis as that of time");
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    }
    if (reader_.Take(kPipelineWord)) CLEAVE_RETURN_IF_ERROR(ParsePipeline());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("rank"));
    CLEAVE_RETURN_IF_ERROR(reader_.Integer().status());
    program_.is_manual = reader_.Take(kManualWord);
    return reader_.Expect("{");
  }

  // "(stage one_f_one_b) part(1)", "(stage interleaved(2))"
  absl::Status ParsePipeline() {
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    CLEAVE_ASSIGN_OR_RETURN(const AxisId axis, Axis());
    CLEAVE_ASSIGN_OR_RETURN(std::string name, reader_.Word());
    if (reader_.Take("(")) {
      CLEAVE_ASSIGN_OR_RETURN(const int64_t stages_per_rank, reader_.Integer());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
      absl::StrAppend(&name, "(", stages_per_rank, ")");
    }
    const std::optional<PipelineSchedule> schedule = ParsePipelineSchedule(name);
    if (!schedule.has_value()) return reader_.Error(absl::StrCat("a schedule instead of `", name, "`"));
    program_.pipeline = Pipeline{.axis = axis, .schedule = *schedule};
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    CLEAVE_ASSIGN_OR_RETURN(program_.part, ParseNumber(kPartWord));
    return absl::OkStatus();
  }

  // "stage(1)" for the word `stage`, or nothing.
  absl::StatusOr<std::optional<int>> ParseNumber(absl::string_view word) {
    if (!reader_.Take(word)) return std::nullopt;
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    CLEAVE_ASSIGN_OR_RETURN(const int64_t stage, reader_.Integer());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    return static_cast<int>(stage);
  }

  absl::Status ParseLine() {
    if (reader_.Take("loss")) {
      CLEAVE_ASSIGN_OR_RETURN(program_.loss, Value());
      while (reader_.Take(",")) {
        CLEAVE_ASSIGN_OR_RETURN(const ValueId own, Value());
        program_.loss_of.push_back(own);
      }
      return absl::OkStatus();
    }
    if (reader_.Take("metric")) {
      ProgramMetric metric;
      CLEAVE_ASSIGN_OR_RETURN(metric.name, reader_.Word());
      CLEAVE_ASSIGN_OR_RETURN(metric.value, Value());
      while (reader_.Take(",")) {
        CLEAVE_ASSIGN_OR_RETURN(const ValueId own, Value());
        metric.of.push_back(own);
      }
      program_.metrics.push_back(std::move(metric));
      return absl::OkStatus();
    }
    if (reader_.Take("update")) {
      ProgramUpdate update;
      CLEAVE_ASSIGN_OR_RETURN(update.state, Value());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
      CLEAVE_ASSIGN_OR_RETURN(update.value, Value());
      program_.updates.push_back(update);
      return absl::OkStatus();
    }
    if (reader_.Take("axis")) return ParseAxis();
    if (reader_.Take("look")) return ParseGlance();
    if (reader_.Take("value")) return ParseValue();
    if (reader_.Take(kSendWord)) return ParseSend();
    return ParseStep();
  }

  absl::StatusOr<ValueId> Value() {
    CLEAVE_ASSIGN_OR_RETURN(const int64_t id, reader_.Id());
    highest_id_ = std::max(highest_id_, id);
    return ValueId(id);
  }

  absl::Status ParseAxis() {
    CLEAVE_ASSIGN_OR_RETURN(const AxisId axis, Axis());
    CLEAVE_ASSIGN_OR_RETURN(axes_[static_cast<size_t>(axis.value())].link, reader_.String());
    CLEAVE_ASSIGN_OR_RETURN(const std::string weight, reader_.String());
    if (!absl::SimpleAtod(weight, &axes_[static_cast<size_t>(axis.value())].weight)) {
      return reader_.Error("a link weight in quotes before this");
    }
    CLEAVE_ASSIGN_OR_RETURN(program_.mesh, Mesh::Create(axes_));
    return absl::OkStatus();
  }

  absl::StatusOr<AxisId> Axis() {
    CLEAVE_ASSIGN_OR_RETURN(const std::string name, reader_.Word());
    const std::optional<AxisId> axis = program_.mesh.Find(name);
    if (!axis.has_value()) return reader_.Error(absl::StrCat("a mesh axis instead of `", name, "`"));
    return *axis;
  }

  // Names of axes up to the next `,` or `)`.
  absl::StatusOr<AxisList> Axes() {
    AxisList axes;
    while (reader_.NextIsWord()) {
      CLEAVE_ASSIGN_OR_RETURN(const AxisId axis, Axis());
      axes.push_back(axis);
    }
    return axes;
  }

  absl::Status ParseValue() {
    CLEAVE_ASSIGN_OR_RETURN(const int64_t id, reader_.Id());
    if (id != static_cast<int64_t>(program_.values.size())) {
      return reader_.Error(absl::StrCat("value %", program_.values.size(), " instead of %", id));
    }
    cleave::ir::Value value;
    CLEAVE_ASSIGN_OR_RETURN(value.name, reader_.String());
    CLEAVE_ASSIGN_OR_RETURN(value.type, reader_.Type());
    CLEAVE_ASSIGN_OR_RETURN(const std::string layout, reader_.String());
    absl::StatusOr<Layout> parsed = ParseLayout(layout, program_.mesh);
    if (!parsed.ok()) return reader_.Error(absl::StrCat("a layout (", parsed.status().message(), ") before this"));
    value.layout = *std::move(parsed);
    if (static_cast<int>(value.layout.dimensions.size()) != value.type.rank()) {
      return reader_.Error(absl::StrCat("a layout of ", value.type.rank(), " dimensions before this"));
    }
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("of"));
    CLEAVE_ASSIGN_OR_RETURN(const int64_t origin, reader_.Id());
    value.origin = OpId(origin);
    CLEAVE_ASSIGN_OR_RETURN(value.stage, ParseNumber(kStageWord));
    program_.values.push_back(std::move(value));
    return absl::OkStatus();
  }

  absl::Status ParseGlance() {
    CLEAVE_ASSIGN_OR_RETURN(const int64_t number, reader_.Integer());
    CLEAVE_ASSIGN_OR_RETURN(const std::string word, reader_.Word());
    const std::optional<LookKind> kind = ParseLookKind(word);
    if (!kind.has_value()) return reader_.Error(absl::StrCat("a way to look at a value instead of `", word, "`"));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    CLEAVE_ASSIGN_OR_RETURN(const ValueId input, Value());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    Step step = {.action = Glance{.kind = *kind, .input = input, .number = static_cast<int>(number)}, .name = {}};
    CLEAVE_RETURN_IF_ERROR(ParseTail(step));
    program_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status ParseSend() {
    Send send;
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    CLEAVE_ASSIGN_OR_RETURN(send.input, Value());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    CLEAVE_ASSIGN_OR_RETURN(send.to, OtherStage("to"));
    Step step = {.action = send, .name = {}};
    CLEAVE_RETURN_IF_ERROR(ParseTail(step));
    program_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  // "{to = 1}"
  absl::StatusOr<int> OtherStage(absl::string_view word) {
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("{"));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(word));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
    CLEAVE_ASSIGN_OR_RETURN(const int64_t stage, reader_.Integer());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("}"));
    return static_cast<int>(stage);
  }

  absl::Status ParseStep() {
    std::vector<ValueId> outputs;
    do {
      CLEAVE_ASSIGN_OR_RETURN(const ValueId id, Value());
      outputs.push_back(id);
    } while (reader_.Take(","));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect(":"));
    // Local types follow from the values below.
    do {
      CLEAVE_RETURN_IF_ERROR(reader_.Type().status());
    } while (reader_.Take(","));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
    CLEAVE_ASSIGN_OR_RETURN(const std::string kind, reader_.Word());
    CLEAVE_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, reader_.Ids());
    std::vector<ValueId> inputs;
    for (int64_t id : ids) {
      highest_id_ = std::max(highest_id_, id);
      inputs.push_back(ValueId(id));
    }
    Step step;
    if (kind == kSliceWord) {
      if (inputs.size() != 1 || outputs.size() != 1) return reader_.Error("one input and one output before this");
      step.action = Slice{inputs[0], outputs[0]};
    } else if (kind == kViewWord) {
      if (inputs.size() != 1 || outputs.size() != 1) return reader_.Error("one input and one output before this");
      step.action = View{inputs[0], outputs[0]};
    } else if (kind == kCopyOutWord || kind == kCopyBackWord) {
      if (inputs.size() != 1 || outputs.size() != 1) return reader_.Error("one input and one output before this");
      const bool goes_out = kind == kCopyOutWord;
      step.action = HostCopy{.direction = goes_out ? HostCopy::Direction::kOut : HostCopy::Direction::kBack,
                             .input = inputs[0],
                             .output = outputs[0]};
    } else if (kind == kReceiveWord) {
      if (!inputs.empty() || outputs.size() != 1) return reader_.Error("no input and one output before this");
      CLEAVE_ASSIGN_OR_RETURN(const int from, OtherStage("from"));
      step.action = Receive{.output = outputs[0], .from = from};
    } else if (const std::optional<CollectiveKind> collective = ParseCollectiveKind(kind); collective.has_value()) {
      CLEAVE_ASSIGN_OR_RETURN(step.action, ParseCollective(*collective, inputs, outputs));
    } else {
      CLEAVE_ASSIGN_OR_RETURN(step.action, ParseCompute(kind, inputs, outputs));
    }
    CLEAVE_RETURN_IF_ERROR(ParseTail(step));
    program_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::StatusOr<Compute> ParseCompute(const std::string& kind, const std::vector<ValueId>& inputs,
                                       const std::vector<ValueId>& outputs) {
    if (outputs.size() != 1) return reader_.Error("one output before this");
    const std::optional<OpKind> op = ParseOpKind(kind);
    if (!op.has_value()) return reader_.Error(absl::StrCat("an op instead of `", kind, "`"));
    Compute compute{.op = {}, .kind = *op, .attributes = {}, .inputs = inputs, .output = outputs[0], .strategy = {}};
    CLEAVE_ASSIGN_OR_RETURN(compute.attributes, reader_.ReadAttributes());
    // The cuts say the same.
    if (reader_.Take("in_strategy")) CLEAVE_RETURN_IF_ERROR(reader_.SkipParentheses());
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("cuts"));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
    if (!reader_.Take(")")) {
      do {
        AxisList axes;
        if (!reader_.Take("_")) {
          CLEAVE_ASSIGN_OR_RETURN(axes, Axes());
        }
        compute.strategy.cuts.push_back(std::move(axes));
      } while (reader_.Take(","));
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    }
    if (reader_.Take("passes")) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      do {
        PassThrough pass;
        CLEAVE_ASSIGN_OR_RETURN(pass.axis, Axis());
        CLEAVE_ASSIGN_OR_RETURN(const int64_t group, reader_.Integer());
        pass.group = static_cast<int>(group);
        compute.strategy.passes.push_back(pass);
      } while (reader_.Take(","));
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    }
    compute.is_kept = reader_.Take(kKeptWord);
    return compute;
  }

  absl::StatusOr<Collective> ParseCollective(CollectiveKind kind, const std::vector<ValueId>& inputs,
                                             const std::vector<ValueId>& outputs) {
    if (inputs.empty() || inputs.size() != outputs.size())
      return reader_.Error("as many inputs as outputs before this");
    Collective collective{.kind = kind, .axes = {}, .reduction = Reduction::kSum, .transfers = {}, .why = {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      collective.transfers.push_back({.input = inputs[i], .output = outputs[i]});
    }
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("{"));
    do {
      CLEAVE_ASSIGN_OR_RETURN(const std::string name, reader_.Word());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("="));
      if (name == "op") {
        CLEAVE_ASSIGN_OR_RETURN(const std::string word, reader_.Word());
        const std::optional<Reduction> reduction = ParseReduction(word);
        if (!reduction.has_value()) return reader_.Error(absl::StrCat("a reduction instead of `", word, "`"));
        collective.reduction = *reduction;
      } else if (name == "axes") {
        CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
        CLEAVE_ASSIGN_OR_RETURN(collective.axes, Axes());
        CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
      } else if (name == "ranks") {
        CLEAVE_RETURN_IF_ERROR(reader_.SkipParentheses());
      } else if (name == "from") {
        CLEAVE_RETURN_IF_ERROR(ParseDimensions(&Transfer::from_dimension, collective));
      } else if (name == "to") {
        CLEAVE_RETURN_IF_ERROR(ParseDimensions(&Transfer::to_dimension, collective));
      } else if (name == "root") {
        CLEAVE_ASSIGN_OR_RETURN(const int64_t root, reader_.Integer());
        collective.root = static_cast<int>(root);
      } else if (name == "turn") {
        CLEAVE_ASSIGN_OR_RETURN(const int64_t turn, reader_.Integer());
        collective.turn = static_cast<int>(turn);
      } else if (const auto* list = FindMessageList(name); list != nullptr) {
        if (!collective.messages.has_value()) collective.messages = Messages{};
        CLEAVE_ASSIGN_OR_RETURN((*collective.messages).*(list->numbers), reader_.Integers());
      } else {
        // A permute's partners follow from the layouts.
        CLEAVE_RETURN_IF_ERROR(reader_.Integer().status());
      }
    } while (reader_.Take(","));
    CLEAVE_RETURN_IF_ERROR(reader_.Expect("}"));
    return collective;
  }

  static const MessageList* FindMessageList(absl::string_view name) {
    for (const MessageList& list : kMessageLists) {
      if (list.name == name) return &list;
    }
    return nullptr;
  }

  // One number for all transfers, or one for each.
  absl::Status ParseDimensions(int Transfer::*dimension, Collective& collective) {
    if (!reader_.Take("(")) {
      CLEAVE_ASSIGN_OR_RETURN(const int64_t number, reader_.Integer());
      for (Transfer& transfer : collective.transfers) transfer.*dimension = static_cast<int>(number);
      return absl::OkStatus();
    }
    for (size_t i = 0; i < collective.transfers.size(); ++i) {
      if (i > 0) CLEAVE_RETURN_IF_ERROR(reader_.Expect(","));
      CLEAVE_ASSIGN_OR_RETURN(const int64_t number, reader_.Integer());
      collective.transfers[i].*dimension = static_cast<int>(number);
    }
    return reader_.Expect(")");
  }

  // " phase(backward) once(after) name("…")  // what, file:line"
  absl::Status ParseTail(Step& step) {
    if (reader_.Take("phase")) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_ASSIGN_OR_RETURN(const std::string name, reader_.Word());
      const std::optional<Phase> phase = ParsePhase(name);
      if (!phase.has_value()) return reader_.Error(absl::StrCat("a phase instead of `", name, "`"));
      step.phase = *phase;
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    }
    if (reader_.Take(kOnceWord)) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      const bool is_before = reader_.Take(kBeforeWord);
      if (!is_before) CLEAVE_RETURN_IF_ERROR(reader_.Expect(kAfterWord));
      step.repeat = is_before ? Repeat::kOnceBefore : Repeat::kOnceAfter;
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    } else if (reader_.Take(kEachWord)) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(kBeforeWord));
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
      step.repeat = Repeat::kEachBefore;
    }
    if (reader_.Take("name")) {
      CLEAVE_RETURN_IF_ERROR(reader_.Expect("("));
      CLEAVE_ASSIGN_OR_RETURN(step.name, reader_.String());
      CLEAVE_RETURN_IF_ERROR(reader_.Expect(")"));
    }
    std::string comment = reader_.Comment();
    const size_t place = comment.rfind(absl::StrCat(", ", program_.file, ":"));
    if (place != std::string::npos) {
      const absl::string_view number = absl::string_view(comment).substr(place + program_.file.size() + 3);
      if (!absl::SimpleAtoi(number, &step.line)) return reader_.Error("a comment that ends with a line number");
      comment.resize(place);
    }
    if (Collective* collective = std::get_if<Collective>(&step.action)) {
      collective->why = std::move(comment);
    } else {
      step.name = std::move(comment);
    }
    return absl::OkStatus();
  }

  // What stands only in the table of values: the op of a compute and the names of collectives.
  absl::Status Finish() {
    if (highest_id_ >= static_cast<int64_t>(program_.values.size())) {
      return absl::InvalidArgumentError(absl::StrCat("%", highest_id_, " has no `value` line"));
    }
    for (Step& step : program_.steps) {
      if (Compute* compute = std::get_if<Compute>(&step.action)) compute->op = program_.value(compute->output).origin;
      if (std::holds_alternative<Collective>(step.action) && step.name.empty()) {
        step.name = program_.value(Writes(step).front()).name;
      }
    }
    return absl::OkStatus();
  }

  TextReader reader_;
  Program program_;
  std::vector<MeshAxis> axes_;
  int64_t highest_id_ = -1;
};

}  // namespace

std::string ProgramText(const Program& program, int rank) { return Writer(program, rank).Write(); }

absl::StatusOr<Program> ParseProgram(absl::string_view text) { return Parser(text).Parse(); }

}  // namespace cleave::ir

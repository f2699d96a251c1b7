#include "codegen/source/communication.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/source/buckets.h"
#include "ir/sharding/micro_batches/micro_batches.h"

namespace cleave::codegen {

std::string ReductionText(ir::Reduction reduction) {
  switch (reduction) {
    case ir::Reduction::kSum:
      return "Reduction::kSum";
    case ir::Reduction::kMax:
      return "Reduction::kMax";
    case ir::Reduction::kMin:
      return "Reduction::kMin";
    case ir::Reduction::kProd:
      return "Reduction::kProd";
  }
  return "";
}

namespace {

class CollectiveEmitter {
 public:
  CollectiveEmitter(Emission& emission, int step, SourceWriter& writer)
      : emission_(emission),
        step_(step),
        collective_(std::get<ir::Collective>(emission.step(step).action)),
        writer_(writer) {}

  void Run() {
    if (ir::IsSumOverTime(emission_.program, collective_)) return SumOverTime();
    Announce(emission_, {step_}, Explanation(), writer_);
    Watch(emission_, step_, collective_.transfers.front().output, writer_);
    Communicate();
  }

  // Nothing may read the result before it has arrived, so the watch is not told where it lies.
  void Start(const std::string& pending) {
    const ir::Step& step = emission_.step(step_);
    Announce(emission_, {step_}, Explanation(), writer_);
    writer_.Open(absl::StrCat(pending, " = comm.Overlap([&] {"));
    writer_.Call("watch.Start(",
                 {OpNameText(emission_.layer, step.name), LineText(emission_.layer, step.name, step.line)}, ");");
    Communicate();
    writer_.Close("});");
  }

  // The arguments that a call for the tensor alone would have.
  std::vector<std::string> Listed(const ir::Transfer& transfer) {
    const bool gathers = collective_.kind == ir::CollectiveKind::kAllGather;
    const ir::ValueId whole = gathers ? transfer.output : transfer.input;
    const std::string cut =
        gathers ? Cut(transfer.input, transfer.from_dimension) : Cut(transfer.output, transfer.to_dimension);
    return {Name(transfer.input), Name(transfer.output), emission_.sizes.ShapeList(whole), cut};
  }

 private:
  // "gradient of h1.weight; each of 4 ranks sends 2408448 bytes", counted as plan.json counts them. Of a bucket also
  // what lies between its tensors is sent.
  std::string Explanation() const {
    const std::string why = absl::StrCat(collective_.why, collective_.why.empty() ? "" : "; ");
    const int ranks = emission_.program.mesh.Size(collective_.axes);
    const int64_t bytes = ir::CollectiveBytes(emission_.program, collective_).value();
    if (collective_.kind == ir::CollectiveKind::kBroadcast) {
      return absl::StrCat(why, "rank ", collective_.root, " of ", ranks, " sends ", bytes, " bytes to the others");
    }
    double sent = ir::SentBytes(emission_.program, collective_);
    if (HasBucket()) sent *= static_cast<double>(BucketBytes(emission_, step_)) / static_cast<double>(bytes);
    return absl::StrCat(why, "each of ", ranks, " ranks sends ", SendsAlike() ? "" : "at most ",
                        static_cast<int64_t>(std::ceil(sent)), " bytes");
  }

  bool HasBucket() const { return emission_.storage.buckets.count(step_) > 0; }

  // Whether every rank sends as much as every other.
  bool SendsAlike() const {
    switch (collective_.kind) {
      case ir::CollectiveKind::kAllReduce:
      case ir::CollectiveKind::kAllGather:
      case ir::CollectiveKind::kReduceScatter:
      case ir::CollectiveKind::kAllToAll:
      case ir::CollectiveKind::kBroadcast:
        return std::all_of(collective_.transfers.begin(), collective_.transfers.end(),
                           [&](const ir::Transfer& transfer) {
                             return emission_.sizes.IsEven(transfer.input) && emission_.sizes.IsEven(transfer.output);
                           });
      case ir::CollectiveKind::kPermute:
      case ir::CollectiveKind::kNeighborExchange:
      case ir::CollectiveKind::kSendReceive:
      case ir::CollectiveKind::kNeighborExchangeV2:
        return false;
    }
    return false;
  }

  // What the micro-batches so far amount to, and this one's part.
  void SumOverTime() {
    const ir::Transfer& transfer = collective_.transfers.front();
    Announce(emission_, {step_}, "", writer_);
    Watch(emission_, step_, transfer.output, writer_);
    writer_.Call("Accumulate(",
                 {ReductionText(collective_.reduction), IsFirstMicroBatch(emission_), Name(transfer.input),
                  Count(transfer.input), Name(transfer.output)},
                 ");");
  }

  void Communicate() {
    if (collective_.kind == ir::CollectiveKind::kAllReduce) return AllReduce();
    if (collective_.transfers.size() > 1) return Merged();
    if (collective_.messages.has_value()) return SendReceive(*collective_.messages);
    for (const ir::Transfer& transfer : collective_.transfers) Emit(transfer);
  }

  const std::string& Name(ir::ValueId value) const { return emission_.names[value]; }
  const std::string& Group() const { return emission_.Group(collective_.axes); }
  std::string Count(ir::ValueId value) const { return emission_.sizes.Count(value).Text(); }

  void Call(absl::string_view function, const std::vector<std::string>& arguments) {
    writer_.Call(absl::StrCat("comm.", function, "("), arguments, ");");
  }

  void AllReduce() {
    for (const ir::Transfer& transfer : collective_.transfers) {
      if (emission_.storage.SameBuffer(transfer.input, transfer.output)) continue;
      writer_.Call("Copy(", {Name(transfer.input), Count(transfer.input), Name(transfer.output)}, ");");
    }
    const std::string reduction = ReductionText(collective_.reduction);
    if (HasBucket()) {
      const ir::DType dtype = emission_.value(collective_.transfers.front().output).type.dtype;
      const int64_t count = BucketBytes(emission_, step_) / ir::ElementSize(dtype).value();
      // In the function of a layer a bucket is known by its first tensor.
      const std::string& name =
          emission_.layer == nullptr ? emission_.Bucket(step_) : Name(collective_.transfers.front().output);
      return Call("AllReduce", {name, absl::StrCat(count), reduction, Group()});
    }
    for (const ir::Transfer& transfer : collective_.transfers) {
      Call("AllReduce", {Name(transfer.output), Count(transfer.output), reduction, Group()});
    }
  }

  // One call for all tensors.
  void Merged() {
    const std::string list = emission_.identifiers.Local(LocalWish(emission_.layer, emission_.step(step_).name));
    const auto in_loops = emission_.tensor_lists.find(step_);
    if (emission_.layer == nullptr && in_loops != emission_.tensor_lists.end()) {
      writer_.Line(absl::StrCat(ListType(emission_, step_), " ", list, ";"));
      in_loops->second(list, writer_);
    } else {
      writer_.Line(absl::StrCat("const ", ListType(emission_, step_), " ", list, " = {"));
      SourceWriter tensors(writer_.indent() + 4);
      for (const ir::Transfer& transfer : collective_.transfers) tensors.Call("{", Listed(transfer), "},");
      writer_.Append(tensors);
      writer_.Line("};");
    }
    if (collective_.kind == ir::CollectiveKind::kAllGather) return Call("AllGather", {list, Group()});
    Call("ReduceScatter", {list, ReductionText(collective_.reduction), Group()});
  }

  void Emit(const ir::Transfer& transfer) {
    const std::string& input = Name(transfer.input);
    const std::string& output = Name(transfer.output);
    switch (collective_.kind) {
      case ir::CollectiveKind::kAllReduce:
        return;
      case ir::CollectiveKind::kAllGather:
        return Call("AllGather", {input, output, emission_.sizes.ShapeList(transfer.output),
                                  Cut(transfer.input, transfer.from_dimension), Group()});
      case ir::CollectiveKind::kReduceScatter:
        return Call("ReduceScatter",
                    {input, output, emission_.sizes.ShapeList(transfer.input),
                     Cut(transfer.output, transfer.to_dimension), ReductionText(collective_.reduction), Group()});
      case ir::CollectiveKind::kAllToAll:
        return AllToAll(transfer);
      case ir::CollectiveKind::kBroadcast:
        if (!emission_.storage.SameBuffer(transfer.input, transfer.output)) {
          writer_.Call("Copy(", {input, Count(transfer.input), output}, ");");
        }
        return Call("Broadcast", {output, Count(transfer.output), absl::StrCat(collective_.root), Group()});
      case ir::CollectiveKind::kPermute:
        return Permute(transfer);
      case ir::CollectiveKind::kNeighborExchange:
        return NeighborExchange(transfer);
      case ir::CollectiveKind::kSendReceive:
      case ir::CollectiveKind::kNeighborExchangeV2:
        return;  // It is done by messages.
    }
  }

  // How the members of the group share dimension `d` of `value`, whose innermost axes are those of the collective.
  std::string Cut(ir::ValueId value, int d) {
    const ir::Value& info = emission_.value(value);
    const int64_t elements = info.type.shape[static_cast<size_t>(d)];
    const ir::AxisList& axes = info.layout.dimensions[static_cast<size_t>(d)];
    const ir::Mesh& mesh = emission_.program.mesh;
    const int64_t members = mesh.Size(collective_.axes);
    const int64_t pieces = mesh.Size(axes);
    if (members == pieces || elements % pieces == 0) {
      // The pieces of one group together are the piece that the outer axes cut; if it is cut evenly, all pieces have
      // one size.
      return absl::StrCat("{", d, ", PieceSizes(", elements / (pieces / members), ", ", members, ")}");
    }
    const ir::AxisList outer(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(collective_.axes.size()));
    const std::string index = emission_.sizes.IndexText(outer);
    const bool sum = index.find('+') != std::string::npos;
    return absl::StrCat("{", d, ", PieceSizes(", elements, ", ", pieces, ", ", sum ? "(" : "", index, sum ? ")" : "",
                        " * ", members, ", ", members, ")}");
  }

  // In the tensor that the group holds together, the dimension that becomes whole has the size of the output's piece;
  // the others have those of the input's piece.
  void AllToAll(const ir::Transfer& transfer) {
    std::vector<std::string> shape;
    for (int d = 0; d < emission_.value(transfer.input).type.rank(); ++d) {
      const ir::ValueId holder = d == transfer.from_dimension ? transfer.output : transfer.input;
      shape.push_back(emission_.sizes.Size(holder, d).Text());
    }
    Call("AllToAll",
         {Name(transfer.input), Name(transfer.output), absl::StrCat("{", absl::StrJoin(shape, ", "), "}"),
          Cut(transfer.input, transfer.from_dimension), Cut(transfer.output, transfer.to_dimension), Group()});
  }

  // The axes of ranks, by which the part that belongs to the micro-batch is cut.
  std::string AxisLists(ir::Layout layout) const {
    if (emission_.program.time.has_value()) layout = ir::WithoutTime(std::move(layout), *emission_.program.time);
    std::vector<std::string> lists;
    for (const ir::AxisList& axes : layout.dimensions) lists.push_back(AxisList(axes));
    return absl::StrCat("{", absl::StrJoin(lists, ", "), "}");
  }

  static std::string AxisList(const ir::AxisList& axes) {
    return absl::StrCat(
        "{", absl::StrJoin(axes, ", ", [](std::string* out, ir::AxisId axis) { absl::StrAppend(out, axis.value()); }),
        "}");
  }

  void Permute(const ir::Transfer& transfer) {
    const std::string partners = emission_.identifiers.Local(absl::StrCat(Name(transfer.output), "_partners"));
    writer_.Call(
        absl::StrCat("const Partners ", partners, " = FindPartners("),
        {"comm.mesh()", "comm.rank()", AxisList(collective_.axes), AxisLists(emission_.value(transfer.input).layout),
         AxisLists(emission_.value(transfer.output).layout)},
        ");");
    Call("Permute", {Name(transfer.input), Count(transfer.input), absl::StrCat(partners, ".destination"),
                     Name(transfer.output), Count(transfer.output), absl::StrCat(partners, ".origin"), Group()});
  }

  void NeighborExchange(const ir::Transfer& transfer) {
    const ir::Value& needed = emission_.value(transfer.output);
    std::vector<std::string> windows;
    for (const auto& [dimension, window] : needed.layout.windows) {
      windows.push_back(absl::StrCat("{", dimension, ", ", WindowText(window), "}"));
    }
    const std::string neighbors = emission_.identifiers.Local(absl::StrCat(Name(transfer.output), "_neighbors"));
    writer_.Call(absl::StrCat("const Exchange ", neighbors, " = FindNeighbors("),
                 {"comm.mesh()", "comm.rank()", AxisList(collective_.axes), ExchangedShape(transfer.input),
                  ExchangedAxes(needed.layout), absl::StrCat("{", absl::StrJoin(windows, ", "), "}")},
                 ");");
    Call("NeighborExchange", {Name(transfer.input), Name(transfer.output), neighbors, Group()});
  }

  // The tensor that the members of the group exchange pieces of, and the axes that cut it. All of them hold the same
  // samples of a micro-batch.
  std::string ExchangedShape(ir::ValueId value) {
    std::vector<std::string> sizes;
    const ir::Value& info = emission_.value(value);
    const std::optional<size_t> samples = SamplesOf(info.layout);
    for (int d = 0; d < info.type.rank(); ++d) {
      const auto dimension = static_cast<size_t>(d);
      sizes.push_back(samples == dimension ? emission_.sizes.Size(value, d).Text()
                                           : absl::StrCat(info.type.shape[dimension]));
    }
    return absl::StrCat("{", absl::StrJoin(sizes, ", "), "}");
  }
  std::string ExchangedAxes(ir::Layout layout) const {
    if (const std::optional<size_t> samples = SamplesOf(layout)) layout.dimensions[*samples].clear();
    return AxisLists(layout);
  }

  // The dimension that micro-batches cut.
  std::optional<size_t> SamplesOf(const ir::Layout& layout) const {
    const std::optional<ir::AxisId> time = emission_.program.time;
    return time.has_value() ? ir::SampleDimension(layout, *time) : std::nullopt;
  }

  static absl::string_view KindText(ir::CollectiveKind kind) {
    switch (kind) {
      case ir::CollectiveKind::kNeighborExchange:
        return "CollectiveKind::kNeighborExchange";
      case ir::CollectiveKind::kSendReceive:
        return "CollectiveKind::kSendReceive";
      case ir::CollectiveKind::kNeighborExchangeV2:
        return "CollectiveKind::kNeighborExchangeV2";
      case ir::CollectiveKind::kAllReduce:
      case ir::CollectiveKind::kAllGather:
      case ir::CollectiveKind::kReduceScatter:
      case ir::CollectiveKind::kAllToAll:
      case ir::CollectiveKind::kBroadcast:
      case ir::CollectiveKind::kPermute:
        break;
    }
    return "";
  }

  void SendReceive(const ir::Messages& messages) {
    const ir::Transfer& transfer = collective_.transfers.front();
    Call("SendReceive", {std::string(KindText(collective_.kind)), Name(transfer.input),
                         MessageList(messages.send_sizes, messages.send_ranks, "_receiver"), Name(transfer.output),
                         MessageList(messages.receive_sizes, messages.receive_ranks, "_sender"), "comm.world()"});
  }

  // "{{(rank + 1) % 4, 64}, {-1, 8}}": each part's partner and elements.
  std::string MessageList(const std::vector<int64_t>& sizes, const std::vector<int64_t>& partners,
                          absl::string_view role) {
    const std::string wish = absl::StrCat(Name(collective_.transfers.front().output), role);
    std::vector<std::string> parts;
    for (size_t part = 0; part < sizes.size(); ++part) {
      std::vector<int64_t> by_rank;
      for (size_t entry = part; entry < partners.size(); entry += sizes.size()) by_rank.push_back(partners[entry]);
      parts.push_back(absl::StrCat("{", emission_.rank_numbers.Text(by_rank, wish), ", ", sizes[part], "}"));
    }
    return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
  }

  Emission& emission_;
  int step_;
  const ir::Collective& collective_;
  SourceWriter& writer_;
};

}  // namespace

void EmitCollective(Emission& emission, int step, SourceWriter& writer) {
  CollectiveEmitter(emission, step, writer).Run();
}

void EmitStart(Emission& emission, int step, const std::string& pending, SourceWriter& writer) {
  CollectiveEmitter(emission, step, writer).Start(pending);
}

bool TakesList(const Emission& emission, int step) {
  const auto* collective = std::get_if<ir::Collective>(&emission.step(step).action);
  return collective != nullptr && collective->transfers.size() > 1 &&
         collective->kind != ir::CollectiveKind::kAllReduce;
}

std::string ListType(const Emission& emission, int step) {
  const auto& collective = std::get<ir::Collective>(emission.step(step).action);
  const bool gathers = collective.kind == ir::CollectiveKind::kAllGather;
  const ir::DType dtype = emission.value(collective.transfers.front().input).type.dtype;
  return absl::StrCat("std::vector<", gathers ? "Gathered" : "Scattered", "<", ElementTypeName(dtype), ">>");
}

void EmitListed(Emission& emission, int step, size_t transfer, const std::string& list, SourceWriter& writer) {
  const auto& collective = std::get<ir::Collective>(emission.step(step).action);
  writer.Call(absl::StrCat(list, ".push_back({"),
              CollectiveEmitter(emission, step, writer).Listed(collective.transfers[transfer]), "});");
}

void EmitSlice(Emission& emission, int step, SourceWriter& writer) {
  const ir::Slice& slice = std::get<ir::Slice>(emission.step(step).action);
  const ir::Layout& from = emission.value(slice.input).layout;
  const ir::Layout& to = emission.value(slice.output).layout;
  Sizes& sizes = emission.sizes;
  std::vector<std::string> begins;
  for (int d = 0; d < emission.value(slice.input).type.rank(); ++d) {
    const size_t dimension = static_cast<size_t>(d);
    if (from.dimensions[dimension] == to.dimensions[dimension] && to.WindowOf(dimension) == nullptr) {
      begins.push_back("0");
      continue;
    }
    // Relative to the rank's piece.
    const std::string begin = sizes.Begin(slice.output, d);
    const std::string base = sizes.Begin(slice.input, d);
    int64_t begin_number = 0;
    int64_t base_number = 0;
    if (base == "0") {
      begins.push_back(begin);
    } else if (absl::SimpleAtoi(begin, &begin_number) && absl::SimpleAtoi(base, &base_number)) {
      begins.push_back(absl::StrCat(begin_number - base_number));
    } else {
      begins.push_back(absl::StrCat(begin, " - ", base));
    }
  }
  Announce(emission, {step}, "", writer);
  Watch(emission, step, slice.output, writer);
  writer.Call(
      "CopyBox(",
      {emission.names[slice.input], sizes.ShapeList(slice.input), absl::StrCat("{", absl::StrJoin(begins, ", "), "}"),
       sizes.ShapeList(slice.output), emission.names[slice.output]},
      ");");
}

}  // namespace cleave::codegen

// What the emitters of one program share.
#ifndef CLEAVE_CODEGEN_SOURCE_EMISSION_H_
#define CLEAVE_CODEGEN_SOURCE_EMISSION_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/cpp/cpp.h"
#include "codegen/roll/passes.h"
#include "codegen/source/elements.h"
#include "codegen/source/layer_scope.h"
#include "codegen/source/names.h"
#include "codegen/source/rank_numbers.h"
#include "codegen/source/sizes.h"
#include "codegen/source/target.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/memory/memory.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// The group for messages between ranks of different stages.
struct Lane {
  std::string group;
  std::set<std::pair<int, int>> ways = {};  // Which members send, and to which others.
};

// What ranks are created as groups, all by all ranks and in one order.
struct Groups {
  std::map<ir::AxisList, std::string> by_axes;  // The ranks that differ on these axes: "group_m0_m1".
  std::map<int, Lane> lanes;                    // Of a pipeline, by LaneOf (ir/program/program.h).
};

// Those of all steps of a program: of a pipeline, the whole one.
Groups GroupsOf(const ir::Program& whole, const Sizes& sizes, Identifiers& identifiers);

// How a text is written that several stages of a pipeline may run (codegen/program/stage_texts.h).
struct Sharing {
  bool is_shared = false;              // No identifier has a number of a layer or of a stage, and forms are whole.
  std::set<std::string> readers = {};  // Structs with a member `of_stage`, what differs between the stages.
};

// What stands above the program's struct, because its functions call it.
struct Definitions {
  cpp::Code kernels = cpp::Code();
  std::map<std::string, std::string> kernel_names = {};  // By their text without it.
  ElementFunctions element_functions = {};
};

// The names of the tensors that each collective with a bucket (ir/program/fuse/storage.h) sends as one:
// "gradients_bucket".
std::map<int, std::string> NameBuckets(const ir::Program& program, const ir::Storage& storage,
                                       Identifiers& identifiers);

struct Emission {
  const Target& target;
  const ir::Graph& graph;
  const ir::Program& program;
  const ir::Training& training;
  const ir::Fusion& fusion;
  const ir::Storage& storage;
  const ir::MemoryUse& memory;
  const IdVector<ir::ValueId, const ir::Compute*> sources;  // SourcesOf(program).
  Names& names;
  Identifiers& identifiers;
  Sizes& sizes;
  RankNumbers& rank_numbers;
  const Groups groups;
  const Sharing sharing = {};
  const std::map<int, std::string> buckets;  // By step, a merged collective whose tensors lie in one piece: its name.
  // The places from which kernels of a device read numbers that differ between steps: "learning_rate_place".
  const std::map<ir::ValueId, std::string> number_places;
  const std::map<std::string, std::string> numbers;  // The variables of numbers that flags change (settings.h).

  // Found when layers are, before text is written.
  // Where the program keeps the handles of collectives that begin in one function and end in another, by step:
  // "pending[x_layers[3].gradients_all_reduce_pending]".
  std::map<int, cpp::Expr> pending = {};
  // Writes the tensors of a merged gather or scatter, a step, one by one: for lists in which layers are loops.
  std::map<int, std::function<void(const std::string& list, cpp::Code& code)>> tensor_lists = {};

  // Writes the row of each loop, or call, of a batch, by its first step, where layers are loops; and with `lists`,
  // which functions of layers take.
  using EmitRow = std::function<void(size_t number, cpp::Code& code)>;
  std::map<int, std::function<void(const std::vector<cpp::Variable>& lists, const EmitRow& emit, cpp::Code& code)>>
      rows_in_loops = {};

  // Where the text that is being written stands.
  const LayerScope* layer = nullptr;  // The function, if it is one of layers.
  std::string section = {};           // Of the model, to which the last statement belongs.

  Definitions definitions = {};  // What the text calls.

  const ir::Step& step(int i) const { return program.steps[static_cast<size_t>(i)]; }
  const ir::Value& value(ir::ValueId id) const { return program.value(id); }

  // Where a value lies in the arena or in the host's memory, in bytes, and what gives its place there: "arena.At",
  // "arena.OnHost".
  int64_t OffsetOf(ir::ValueId value) const { return storage.BufferOf(*storage.root[value]).offset; }
  absl::string_view MemoryOf(ir::ValueId value) const {
    return storage.host.Find(*storage.root[value]) == nullptr ? "arena.At" : "arena.OnHost";
  }

  // The op that makes a source value (a parameter, a constant, …), or null.
  const ir::Compute* SourceOf(ir::ValueId value) const { return sources[value]; }

  // The passes of the model's loops to which a step or a value belongs.
  const Passes& PassesOf(const ir::Step& step) const;
  const Passes& PassesOf(ir::ValueId value) const;

  // What stands among values for the number of a step: that of a look, or that of the handle of a collective that runs
  // beside other work.
  ir::ValueId NumberOf(int step) const { return ir::ValueId(static_cast<int64_t>(program.values.size()) + step); }

  // What stands among values for a number in the text: the place of a slice. The same for equal numbers.
  ir::ValueId PlainNumber(int64_t number) const {
    return ir::ValueId(static_cast<int64_t>(program.values.size() + program.steps.size()) + number);
  }
  // The number: "3", "layer.begin".
  cpp::Expr PlainNumberExpr(int64_t number) const;

  // Where the handle of a collective is kept; nullopt for a variable of the function.
  std::optional<cpp::Expr> PendingPlace(int step) const;

  // The number of a look: "3", "layer.attn_out_matmul_look".
  cpp::Expr LookNumber(int step) const;

  // The pointer to a value's memory, at `offset` bytes of it: "arena.At<float>(4096)".
  cpp::Expr PointerTo(ir::ValueId value, const cpp::Expr& offset) const;

  // The type of a value's elements: "float".
  cpp::Expr ElementTypeOf(ir::ValueId value) const;

  // The Group for messages from one stage to another; the same for all with one lane.
  const std::string& GroupBetween(int from, int to) const;

  // "mnist_mlp.model:7", or only the file if there is no line.
  std::string Place(int line) const;
};

// The same of a program.
std::string PlaceIn(const ir::Program& program, int line);

// "f32[256, 512] cut as [m0 m1, -]", "f32[128, 32, 28, 28] in blocks of 16 channels"; nothing is said of the cuts of a
// tensor that every rank holds whole. Partial sums are not mentioned, because an all-reduce completes them in place.
std::string TensorText(const Emission& emission, ir::ValueId value);

// The sizes of a value's local piece in the order of memory: those of its dimensions, or for images in blocks of
// channels [n, c / 16, h, w, 16], where two are of the channels.
struct StoredDimension {
  size_t dimension = 0;
  SizeProduct size;
};
std::vector<StoredDimension> StoredDimensions(const Emission& emission, ir::ValueId value);

// For each value the op that makes it if it is a source, else null.
IdVector<ir::ValueId, const ir::Compute*> SourcesOf(const ir::Program& program);

// "float", "BFloat16", "Float16" or "int32_t".
absl::string_view ElementTypeName(ir::DType dtype);

// A number of elements of the type: "0.5f", "BFloat16(0.5f)", "int32_t{2}".
cpp::Expr ElementLiteral(ir::DType dtype, double value);

// Whether the micro-batch under way is the first of its step: "micro_batch == 0". REQUIRES: the program has some.
cpp::Expr IsFirstMicroBatch(const Emission& emission);

// Begins the text of steps that run as one piece: an empty line where another part of the model begins, and a comment
// with their names where the line for the watch does not say all. `comment` is what to add to the names; it may be
// empty.
void Announce(Emission& emission, const std::vector<int>& steps, absl::string_view comment, cpp::Code& code);

// Writes only the line for the watch, for a step with result `value`. What is written as a part of another value is
// looked at when that is complete.
void Watch(Emission& emission, int step, ir::ValueId value, cpp::Code& code);

// The same of a step whose result cannot be looked at.
void WatchName(Emission& emission, int step, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_EMISSION_H_

// A program whose equal layers are said once: which statements a loop repeats, and what its passes differ in.
//
//   watch.Start("x.0.norm", 8, ...); LayerNorm(x_add, x_0_norm_weight, ..., x_0_norm);      i = 0
//   watch.Start("x.1.norm", 8, ...); LayerNorm(x_0_add, x_1_norm_weight, ..., x_1_norm);    i = 1
//   watch.Start("x.2.norm", 8, ...); LayerNorm(x_1_add, x_2_norm_weight, ..., x_2_norm);    i = 2
//   ->  for each layer: watch.Start({"x.#.norm", i}, 8, ...); LayerNorm(previous_add, norm_weight, ..., norm);
//
// A layer is a pass of a loop of the model. Statements that differ only in the buffers and in the names that they refer
// to are alike, and a sequence of statements that returns is a body. What stands at one place of a body in all layers
// is a column: a buffer that is the same in all of them keeps its name, the others are a field of the layer. Fields,
// names and lines are forms (forms.h), so that `unroll.h` can compare what is said once with what was to be said.
#ifndef CLEAVE_CODEGEN_ROLL_ROLL_H_
#define CLEAVE_CODEGEN_ROLL_ROLL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/roll/forms.h"
#include "codegen/roll/passes.h"

namespace cleave::codegen {

// A statement, or several that stay together.
struct Statement {
  std::string shape;         // Equal where the text differs at most in what follows.
  std::vector<int> buffers;  // The buffers to which it refers, in order; numbers that the caller gives.
  struct Name {
    std::string text;  // "x.3.norm1.layer_norm"
    int line = 0;      // Of the model.
    Passes passes = {};
  };
  std::vector<Name> names;       // The ops and parameters that it names, in order.
  std::vector<int> locals = {};  // What exists only within it and has a name there.
};

// Where a buffer lies, or the number that stands for it in the text.
struct Place {
  enum class Kind { kDevice, kHost, kNumber };
  Kind kind = Kind::kNumber;
  int64_t begin = 0;  // In bytes; or the number.
  // Micro-batch m uses piece m % pieces, `stride` bytes from one to the next.
  int64_t pieces = 1;
  int64_t stride = 0;

  int64_t At(int64_t micro_batch) const { return begin + micro_batch % pieces * stride; }
  bool operator==(const Place&) const = default;
};

struct Buffer {
  std::string name;  // "x.3.norm1.weight"
  Passes passes = {};
  Place place = {};
};

// A buffer of a layer.
struct LayerField {
  std::string name;                // "norm1.weight", "previous.add"; unique among the fields of a group.
  std::map<int64_t, int> buffers;  // By layer; some layers may lack it.
  Place::Kind kind = Place::Kind::kNumber;
  NumberForm begin = {};  // By the layer's index.
  // Where the place depends on the micro-batch: a number of pieces, unless all have as many as the group has slots or
  // one, and the bytes from one to the next.
  std::optional<NumberForm> pieces = {};
  std::optional<NumberForm> stride = {};
};

// The layers of a loop. Where they take turns between several forms, those of one turn are one layer, which has the
// number of the first of them: passes 0 and 1 are layer 0, then comes layer 2.
struct LayerGroup {
  LoopKey loop;
  std::string prefix;  // "x.": what most names begin with.
  int64_t first = 0;   // Layers first, first + step, …: `count` of them. Some of them may stand apart.
  int64_t step = 1;
  int64_t count = 0;
  int64_t slots = 1;  // Micro-batch m uses the layers' fields of slot m % slots.
  std::vector<LayerField> fields;

  int64_t last() const { return LayerAt(count - 1); }
  int64_t LayerAt(int64_t index) const { return first + index * step; }
  int64_t IndexOf(int64_t layer) const { return (layer - first) / step; }
};

// Statements that are said once.
struct LayerBody {
  int list = 0;      // Of the lists given.
  int period = 0;    // Statements.
  size_t group = 0;  // Index into RolledProgram::groups.
  struct Occurrence {
    int begin = 0;  // Its first statement.
    int64_t layer = 0;
  };
  std::vector<Occurrence> occurrences;  // At least two, of different layers, ordered by their places.
  // What replaces the buffers and names of one occurrence, by the statement's place in the body: the index of a field,
  // or -1 for a buffer that is the same in all layers; and the names, by layer.
  std::vector<std::vector<int>> fields;
  std::vector<std::vector<NameForm>> names;
  // The occurrences by which the body could be written: no buffer stands in them for two fields, no name for two forms.
  std::vector<size_t> clear;

  // The one by which it is written.
  size_t model() const { return clear.front(); }
};

// A call of what is said once for a layer.
struct BodyCall {
  size_t body = 0;
  int64_t layer = 0;  // In the first pass of the loop.
};
// Calls that follow each other, `passes` times; in each pass their layers are `distance` further.
struct BodyLoop {
  std::vector<BodyCall> calls;
  int64_t passes = 1;
  int64_t distance = 0;
};
// What stands in a list: a statement, by its place, or a loop.
using RolledItem = std::variant<int, BodyLoop>;

struct RolledProgram {
  std::vector<LayerGroup> groups;
  std::vector<LayerBody> bodies;  // Ordered by list and place; they do not overlap.
  std::vector<std::vector<RolledItem>> lists;

  // The field that stands for a buffer outside of bodies, because it is its layer's own.
  struct Owner {
    size_t group = 0;
    int64_t layer = 0;
    size_t field = 0;
  };
  std::map<int, Owner> owners;  // By buffer.
};

struct RollOptions {
  int least_saved = 1;  // Statements that a body saves.
  int64_t micro_batches = 1;
  bool repeats_layers = false;  // Nothing is said once.
};

RolledProgram Roll(const std::vector<std::vector<Statement>>& lists, const RollOptions& options,
                   const std::function<Buffer(int buffer)>& buffer_of);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_ROLL_ROLL_H_

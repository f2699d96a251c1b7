// Equal layers in the text of a program: which statements can be said once for all of them, and which tensors then
// belong to a layer.
//
//   watch.Start("x.0.norm", 8, ...); LayerNorm(x_add, x_0_norm_weight, ..., x_0_norm);      i = 0
//   watch.Start("x.1.norm", 8, ...); LayerNorm(x_0_add, x_1_norm_weight, ..., x_1_norm);    i = 1
//   watch.Start("x.2.norm", 8, ...); LayerNorm(x_1_add, x_2_norm_weight, ..., x_2_norm);    i = 2
//   ->  for each layer: watch.Start({"x.#.norm", i}, 8, ...); LayerNorm(previous_add, norm_weight, ..., norm);
//
// Statements whose text differs only in buffers and in names are alike. A sequence of statements that returns is a
// body; the number in the names of an occurrence is its layer's. What stands at one place of a body in all layers is a
// column: a buffer that is the same in all of them keeps its name, the others are a field of the layer.
#ifndef CLEAVE_CODEGEN_LAYERS_LAYERS_H_
#define CLEAVE_CODEGEN_LAYERS_LAYERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cleave::codegen {

// A statement, or several that stay together.
struct Statement {
  std::string shape;         // Equal where the text differs at most in what follows.
  std::vector<int> buffers;  // The buffers that it names, in order; numbers that the caller gives.
  struct Name {
    std::string text;  // "x.3.norm1.layer_norm"
    int line = 0;      // Of the model.
  };
  std::vector<Name> names;       // The ops and parameters that it names, in order.
  std::vector<int> locals = {};  // What exists only within it and has a name there.
};

// A name in all layers: `text` with '#' for the number of the layer plus `shift`, except in some layers.
struct LayerText {
  std::string text;  // "x.#.norm1.layer_norm"
  int64_t shift = 0;
  std::map<int64_t, std::string> exceptions = {};  // By layer.
  int line = 0;
  std::map<int64_t, int> other_lines = {};  // By layer.

  bool operator==(const LayerText&) const = default;
};

// A tensor of a layer.
struct LayerField {
  std::string name;                // "norm1.weight", "previous.add"; unique among the fields of a group.
  std::map<int64_t, int> buffers;  // By layer; some layers may lack it.
};

// Layers that share a beginning of their names: "x.0", "x.1", … Where layers take turns between several forms, those of
// one turn are one layer, which has the number of the first of them: "x.0" and "x.1" are layer 0, then comes layer 2.
struct LayerGroup {
  std::string prefix;  // "x."
  int64_t first = 0;   // Layers first, first + step, …: `count` of them. Some of them may stand apart.
  int64_t step = 1;
  int64_t count = 0;
  std::vector<LayerField> fields;
};

// Statements that are said once.
struct LayerBody {
  int list = 0;      // Of the lists given.
  int period = 0;    // Statements.
  size_t group = 0;  // Index into LayerPlan::groups.
  struct Occurrence {
    int begin = 0;  // Its first statement.
    int64_t layer = 0;
  };
  std::vector<Occurrence> occurrences;  // At least two, of different layers, ordered by their places.
  // What replaces the buffers and names of one occurrence, by the statement's place in the body: the index of a field,
  // or -1 for a buffer that is the same in all layers; and the names.
  std::vector<std::vector<int>> fields;
  std::vector<std::vector<LayerText>> names;
  // The occurrence by which the body is written: no buffer stands in it for two fields, no name for two texts.
  size_t model = 0;
};

struct LayerPlan {
  std::vector<LayerGroup> groups;
  std::vector<LayerBody> bodies;  // Ordered by list and place; they do not overlap.

  // The field that stands for a buffer outside of bodies, because it is its layer's own.
  struct Owner {
    size_t group = 0;
    int64_t layer = 0;
    size_t field = 0;
  };
  std::map<int, Owner> owners;  // By buffer.
};

// `buffer_name`: the name of a buffer's value, "x.3.norm1.weight". A body saves at least `least_saved` statements.
LayerPlan PlanLayers(const std::vector<std::vector<Statement>>& lists, int least_saved,
                     const std::function<std::string(int buffer)>& buffer_name);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_LAYERS_LAYERS_H_

// The functions of a program, with equal layers written once: a struct with the tensors of a layer, a function for what
// all of them do, and a loop that calls it.
//
//   struct XLayer { … float* const norm1_weight = arena.At<float>(786432 + i * 790528); … };
//   void ForwardXLayer(const XLayer& layer) { LayerNorm(layer.previous_add, layer.norm1_weight, …); }
//   void Forward() override { …  for (const XLayer& layer : x_layers) ForwardXLayer(layer);  … }
#ifndef CLEAVE_CODEGEN_SOURCE_LAYERED_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_LAYERED_TEXT_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/layers/layers.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// Statements in the order of the text.
struct StatementList {
  std::string function;  // "Forward": functions of its layers begin with it.
  // Whether a loop over all layers contains the statements themselves, rather than a call.
  bool is_inline = false;
  std::vector<Statement> statements;
  std::function<void(int place, SourceWriter& writer)> emit;  // Writes one statement.
  // What its functions are given beside the layer, and what they begin with.
  std::string parameters = {};  // ", const StepScalars& scalars"
  std::string arguments = {};   // ", scalars"
  std::function<void(SourceWriter& writer)> begin = [](SourceWriter&) {};
};

class LayeredText {
 public:
  // Finds the layers, unless they are to be repeated, and names their tensors: outside of their functions a tensor is
  // `x_layers[3].norm1_weight`.
  LayeredText(Emission& emission, std::vector<StatementList> lists, bool repeats_layers);

  // Writes the statements of a list, and the functions that they call.
  void Write(size_t list, SourceWriter& functions, SourceWriter& statements);

  // Whether a value lies in the struct of a layer, and needs no declaration of its own.
  bool IsOfLayer(ir::ValueId value) const { return plan_.owners.count(static_cast<int>(value.value())) > 0; }

  // ", with 12 of x_layers": the groups of layers that have tensors among these values; empty where none has.
  std::string LayersIn(const std::vector<ir::ValueId>& values) const;

  // Whether some of a list's statements are of layers.
  bool HasLayers(size_t list) const;

  // Other arguments for the functions of a list that are called from now on.
  void SetArguments(size_t list, std::string arguments) { lists_[list].arguments = std::move(arguments); }

  void WriteStructs(SourceWriter& writer) const;
  void WriteFields(SourceWriter& writer) const;
  // Says which micro-batch the layers belong to from now on, where that makes a difference.
  void WriteBegin(absl::string_view number, SourceWriter& writer) const;

 private:
  struct Group {
    std::string type;                 // "XLayer"
    std::string layers;               // "x_layers"
    std::vector<std::string> fields;  // Their identifiers.
  };

  // A call of the function of a body.
  struct Call {
    const LayerBody* body = nullptr;
    int64_t layer = 0;
  };
  struct Loop {
    size_t calls = 0;  // In a pass.
    size_t passes = 0;
    int64_t distance = 0;  // From a layer to that of the next pass.
  };

  std::string BufferName(int buffer) const;
  bool IsNumber(int buffer) const;
  bool IsPlainNumber(int buffer) const;
  int StepOfNumber(int buffer) const;
  bool IsPending(int buffer) const;
  std::string OwnedName(const LayerPlan::Owner& owner) const;
  void NameTensors();
  void FindNumbers();
  const std::string& FunctionOf(const LayerBody& body, SourceWriter& functions);
  void WriteModel(const LayerBody& body, bool is_function, SourceWriter& writer);
  void WriteCalls(const std::vector<Call>& calls, SourceWriter& functions, SourceWriter& statements);
  void WriteLoop(const std::vector<Call>& calls, size_t begin, const Loop& loop, SourceWriter& functions,
                 SourceWriter& statements);
  static Loop LoopAt(const std::vector<Call>& calls, size_t begin);
  void WriteStruct(size_t group, SourceWriter& writer) const;
  SourceWriter::Commented FieldRow(size_t group, size_t field) const;
  // What chooses among the pieces of a field's buffers, and of how many micro-batches the group has tensors of their
  // own: of so many that each buffer begins again with its first piece where the group does.
  std::string SlotText(size_t group, const std::map<int64_t, int>& buffers) const;
  int64_t SlotsOf(size_t group) const;
  // How many pieces a value has, of which each micro-batch uses one, and the bytes from one to the next: those of what
  // waits for a later pass, and those of an input.
  bool IsInputOfMicroBatches(ir::ValueId value) const;
  int64_t PiecesOf(ir::ValueId value) const;
  int64_t StrideOf(ir::ValueId value) const;

  Emission& emission_;
  std::vector<StatementList> lists_;
  LayerPlan plan_;
  std::vector<Group> groups_;  // By the plan's.
  std::map<int, int64_t>
      numbers_;          // Of steps that functions of layers name by one (Emission::NumberOf), and the plain ones.
  std::string pending_;  // Where the handles of collectives lie that such functions begin or await,
  int64_t pending_count_ = 0;  // and how many.
  // By list and place: the body that begins there, and which of its occurrences.
  std::map<std::pair<int, int>, std::pair<const LayerBody*, size_t>> places_;
  std::map<const LayerBody*, std::string> functions_;
};

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_LAYERED_TEXT_H_

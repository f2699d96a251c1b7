// The functions of a program, with equal layers written once: a struct with the tensors of a layer, a function for what
// all of them do, and a loop that calls it.
//
//   struct XLayer { … float* const norm1_weight = arena.At<float>(786432 + i * 790528); … };
//   void ForwardXLayer(const XLayer& layer) { LayerNorm(layer.previous_add, layer.norm1_weight, …); }
//   void Forward() override { …  for (const XLayer& layer : x_layers) ForwardXLayer(layer);  … }
#ifndef CLEAVE_CODEGEN_PROGRAM_LAYERED_TEXT_H_
#define CLEAVE_CODEGEN_PROGRAM_LAYERED_TEXT_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "codegen/roll/roll.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// Statements in the order of the text.
struct StatementList {
  std::string function;  // "Forward": functions of its layers begin with it.
  // Whether a loop over all layers contains the statements themselves, rather than a call.
  bool is_inline = false;
  std::vector<Statement> statements;
  std::function<void(int place, cpp::Code& code)> emit;  // Writes one statement.
  // What its functions are given beside the layer, and what they begin with if they do `body`.
  std::vector<cpp::Variable> parameters = {};  // "const StepScalars& scalars"
  std::vector<cpp::Expr> arguments = {};       // "scalars"
  std::function<void(const cpp::Code& body, cpp::Code& code)> begin = [](const cpp::Code&, cpp::Code&) {};
};

class LayeredText {
 public:
  // Finds the layers, unless they are to be repeated, and names their tensors: outside of their functions a tensor is
  // `x_layers[3].norm1_weight`.
  LayeredText(Emission& emission, std::vector<StatementList> lists, bool repeats_layers);

  // Whether what is said once for layers unrolls to all statements, and whether all layers that were written so far
  // say what is said for them. No program is written otherwise.
  const absl::Status& check() const { return check_; }

  // Writes the statements of a list, and the functions that they call.
  void Write(size_t list, cpp::Code& functions, cpp::Code& statements);

  // Whether a value lies in the struct of a layer, and needs no declaration of its own.
  bool IsOfLayer(ir::ValueId value) const { return rolled_.owners.count(static_cast<int>(value.value())) > 0; }

  // ", with 12 of x_layers": the groups of layers that have tensors among these values; empty where none has.
  std::string LayersIn(const std::vector<ir::ValueId>& values) const;

  // Whether some of a list's statements are of layers.
  bool HasLayers(size_t list) const;

  // Other arguments for the functions of a list that are called from now on.
  void SetArguments(size_t list, std::vector<cpp::Expr> arguments) { lists_[list].arguments = std::move(arguments); }
  // The same with parameters, which the arguments are references to.
  void SetParameters(size_t list, const std::vector<cpp::Variable>& variables) {
    lists_[list].parameters.clear();
    lists_[list].arguments.clear();
    for (const cpp::Variable& variable : variables) {
      lists_[list].parameters.push_back({cpp::Reference(variable.type), variable.name});
      lists_[list].arguments.push_back(cpp::Name(variable.name));
    }
  }

  void WriteStructs(cpp::Code& code) const;
  void WriteFields(cpp::Code& code) const;
  // Says which micro-batch the layers belong to from now on, where that makes a difference.
  void WriteBegin(const cpp::Expr& number, cpp::Code& code) const;

 private:
  struct Group {
    std::string type;                 // "XLayer"
    std::string layers;               // "x_layers"
    std::vector<std::string> fields;  // Their identifiers.
  };

  Buffer BufferOf(int buffer) const;
  bool IsNumber(int buffer) const;
  bool IsPlainNumber(int buffer) const;
  int StepOfNumber(int buffer) const;
  bool IsPending(int buffer) const;
  cpp::Expr OwnedName(const RolledProgram::Owner& owner) const;
  void NameTensors();
  void NamePendings();
  const std::string& FunctionOf(size_t body, cpp::Code& functions);
  void WriteModel(const LayerBody& body, bool is_function, cpp::Code& code);
  void WriteOccurrence(const LayerBody& body, size_t occurrence, bool is_function, cpp::Code& code);
  void WriteLoop(const BodyLoop& loop, cpp::Code& functions, cpp::Code& statements);
  bool ReadsStage(size_t group) const;
  cpp::Expr InLayer(const NumberForm& form) const;
  static cpp::Expr WhereItIs(const LayerGroup& group, const NumberForm& form, const cpp::Expr& present,
                             const cpp::Expr& absent);
  void WriteStruct(size_t group, cpp::Code& code) const;
  void WriteField(size_t group, size_t field, cpp::Code& code) const;

  Emission& emission_;
  std::vector<StatementList> lists_;
  RolledProgram rolled_;
  absl::Status check_;
  std::vector<Group> groups_;        // By the rolled program's.
  std::string pending_;              // Where the handles of collectives lie that functions of layers begin or await,
  std::map<int, int64_t> pendings_;  // and at which places, by buffer.
  std::map<size_t, std::string> functions_;  // By body.
};

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_LAYERED_TEXT_H_

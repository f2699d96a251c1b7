// Helpers with which the families of samples are made. Inside of ir/graph/ops/samples*.cc only.
#ifndef CLEAVE_IR_GRAPH_OPS_SAMPLE_MAKER_H_
#define CLEAVE_IR_GRAPH_OPS_SAMPLE_MAKER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/ops/samples.h"

namespace cleave::ir {

using Ints = std::vector<int64_t>;

struct InputForm {
  Shape shape;
  Fill fill = Fill::kSigned;
};

// Collects the samples of one op.
class Maker {
 public:
  Maker(const OpDefinition& op, Random& random) : op_(op), random_(random) {}

  void Add(const std::vector<InputForm>& inputs, Attributes attributes = {},
           void (*complete)(const Attributes& attributes, std::vector<Tensor>& inputs) = nullptr);

  int64_t Size() { return RandomInt(random_, 2, 5); }

  std::vector<Sample> samples;

 private:
  const OpDefinition& op_;
  Random& random_;
};

// Adds the samples of one op.
using Form = std::function<void(Maker&)>;
using Forms = std::map<OpKind, Form>;

// Forms that ops of several families share: one input of rank 2, 0 and 3; two inputs that broadcast in every way; a
// gradient and a forward value of one shape.
void Unary(Maker& maker, Fill fill, const Attributes& attributes = {});
void Binary(Maker& maker, Fill fill);
void UnaryGradient(Maker& maker);

// One function per family, each in samples_<family>.cc.
void AddAttentionSamples(Forms& forms);
void AddConvolutionSamples(Forms& forms);
void AddCustomSamples(Forms& forms);
void AddElementwiseSamples(Forms& forms);
void AddManualSamples(Forms& forms);
void AddReductionSamples(Forms& forms);
void AddMovementSamples(Forms& forms);
void AddIndexingSamples(Forms& forms);
void AddProductSamples(Forms& forms);
void AddRankingSamples(Forms& forms);
void AddSourceSamples(Forms& forms);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_SAMPLE_MAKER_H_

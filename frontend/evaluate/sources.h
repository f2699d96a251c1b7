// Inputs and parameters of a model: the ops that read nothing, and where the user declares them.
#ifndef CLEAVE_FRONTEND_EVALUATE_SOURCES_H_
#define CLEAVE_FRONTEND_EVALUATE_SOURCES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "frontend/evaluate/frame/context.h"
#include "frontend/evaluate/path_numbers.h"
#include "frontend/evaluate/pins/pin_recorder.h"
#include "frontend/evaluate/ranks/manual_model.h"
#include "frontend/evaluate/statics/step_formula.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::frontend {

// The parameter that an optimizer updates while it is expanded.
struct OptimizedParameter {
  std::string name;
  bool is_local = false;  // Each rank of a manual model has its own.
  Value step = StepNumber();
};

class Sources {
 public:
  // `input x: f32[batch, 784];`, `input edge: i32[2, 500] = npy("edge.npy");` and `param w: f32[10, k] = zeros();`,
  // with the attributes of their statements.
  void RunInput(const dsl::syntax::Input& input, const dsl::syntax::Statement& statement, Frame& frame,
                PinRecorder& pins, const Context& context);
  void RunParam(const dsl::syntax::Param& param, const dsl::syntax::Statement& statement, Frame& frame,
                const ManualModel& model, PathNumbers& numbers, PinRecorder& pins, const Context& context);

  // `state m: f32[..n] = zeros();` in an optimizer: what it keeps of `parameter`.
  void RunSlot(const dsl::syntax::Param& state, const dsl::syntax::Statement& statement, Frame& frame,
               const OptimizedParameter& parameter, const Context& context);

  // `batched`: ops that were removed, and the ops that replace them.
  void MoveToBatched(const ir::Vectorized& batched) { parameters_ = MovedToBatched(parameters_, batched); }

  // The places as in an Expansion; inputs are those with a batch.
  const std::map<ir::OpId, Span>& inputs() const { return inputs_; }
  const std::map<ir::OpId, Span>& parameters() const { return parameters_; }
  const std::map<std::string, Span>& npy_places() const { return npy_places_; }

 private:
  // Whether the parameter called `path` that `call` makes is the first of that name, or a number will make it so. The
  // `trail` leads to its statement.
  bool IsFirst(const std::string& path, TextTrail trail, Span call, PathNumbers& numbers, Reporter& reporter);

  // The parameter called `path`, which the first call of a layer has made.
  Value SharedParameter(const dsl::syntax::Param& param, const std::string& path, const ir::TensorType& type,
                        Span first, const Context& context);

  std::map<ir::OpId, Span> inputs_;
  std::map<ir::OpId, Span> parameters_;
  std::map<std::string, Span> npy_places_;
  std::map<std::string, Span> parameter_places_;      // By path, where the user declares each.
  std::map<std::string, TextTrail> trails_;           // By path.
  std::set<std::pair<int32_t, int32_t>> same_paths_;  // Calls that are known to make parameters of one path.
  std::set<int32_t> refused_calls_;                   // Of layers, that are known to need other parameters.
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_SOURCES_H_

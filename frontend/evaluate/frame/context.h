// What the pieces of an expansion may use of each other.
//
// An expression contains calls, a call runs the statements of a function, and statements contain expressions. The
// pieces that expand these do not know each other: a piece that finds an expression or a body gives it to the
// `Interpreter`, which is implemented once, by `Evaluator`. Besides that, all pieces only need the OpWriter and the
// Reporter.
#ifndef CLEAVE_FRONTEND_EVALUATE_FRAME_CONTEXT_H_
#define CLEAVE_FRONTEND_EVALUATE_FRAME_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/attributes/attributes.h"
#include "frontend/evaluate/frame/frame.h"
#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/evaluate/statics/demands.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"
#include "frontend/sightings/sightings.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

class Interpreter {
 public:
  virtual ~Interpreter() = default;

  // The value of an expression of `frame`; Poison after a mistake, which has been reported.
  virtual Value Evaluate(const dsl::syntax::Expression& expression, Frame& frame) = 0;

  // Runs the statements of a body until one returns or an assertion fails.
  virtual void Run(const std::vector<dsl::syntax::Statement>& body, Frame& frame) = 0;
};

struct Context {
  Interpreter& interpreter;
  OpWriter& ops;
  Reporter& reporter;
  Demands& demands;
  const FunctionTable& functions;
  Sightings* sightings = nullptr;  // Null: nobody asks what is found where.

  const ir::Graph& graph() const { return ops.graph(); }
  void Saw(Span span, const Value& value) const {
    if (sightings != nullptr) sightings->Saw(span, value, graph());
  }
  void Means(Span use, Span definition) const {
    if (sightings != nullptr) sightings->Means(use, definition);
  }
  Value Evaluate(const dsl::syntax::Expression& expression, Frame& frame) const {
    return interpreter.Evaluate(expression, frame);
  }

  // A value that is known without running anything: not a tensor. Poison after a mistake.
  Value EvaluateStatic(const dsl::syntax::Expression& expression, Frame& frame) const;
  // `what` names the number in messages. Nothing after a mistake.
  std::optional<int64_t> EvaluateInt(const dsl::syntax::Expression& expression, const std::string& what,
                                     Frame& frame) const;
  std::optional<double> EvaluateNumber(const dsl::syntax::Expression& expression, const std::string& what,
                                       Frame& frame) const;

  // EvaluateInt with the names of `frame`, for attributes. Valid as long as the context and the frame.
  IntEvaluator IntsOf(Frame& frame) const;
};

// A call: its text and its place.
struct CallSite {
  const dsl::syntax::Call& call;
  Span span;
  Frame& frame;
};

// The values of a call's arguments.
using ArgumentValues = std::map<const dsl::syntax::Argument*, Value>;

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FRAME_CONTEXT_H_

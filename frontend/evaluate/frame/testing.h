// For tests of one piece: everything that it may use of the others, and no more. The interpreter here evaluates
// literals, names, tuples and static arithmetic.
//
//   TestBench bench(LetText("x[2..5]"));
//   bench.DefineTensor("x", {DType::kF32, {8, 6}});
//   EvaluateIndex(std::get<syntax::Index>(bench.expression().kind), Span(), bench.frame, bench.context);
//   EXPECT_EQ(bench.OpsText(), "slice(x): f32[3, 6]");
#ifndef CLEAVE_FRONTEND_EVALUATE_FRAME_TESTING_H_
#define CLEAVE_FRONTEND_EVALUATE_FRAME_TESTING_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/evaluate/frame/context.h"
#include "frontend/report/report.h"
#include "ir/graph/manual/manual.h"

namespace cleave::frontend {

// A file whose model has only `let y = expression;`.
std::string LetText(const std::string& expression);

class TestBench : private Interpreter {
 public:
  // `text`: the text of a file, which must parse. `ranks`: those of a manual model.
  explicit TestBench(const std::string& text, std::vector<ir::RankAxis> ranks = {});

  const dsl::syntax::File& file() const { return file_; }
  // The value of the only `let` of a LetText.
  const dsl::syntax::Expression& expression() const;
  CallSite call() { return {std::get<dsl::syntax::Call>(expression().kind), expression().span, frame}; }

  // Names that expressions of `frame` can use.
  void Define(const std::string& name, Value value);
  ir::OpId DefineTensor(const std::string& name, const ir::TensorType& type);

  // `value` as text: "7" or "f32[8, 6]"; for Poison, the messages that have been reported instead.
  std::string TextOf(const Value& value) const;
  // "E0208: division by zero", one per line.
  std::string Messages() const;
  // The labels of all that has been reported, one per line.
  std::string LabelsText() const;
  const Diagnostics& diagnostics() const { return diagnostics_; }
  // The ops after the tensors that are defined: "slice(x): f32[3, 6]", one per line.
  std::string OpsText() const;

 private:
  Value Evaluate(const dsl::syntax::Expression& expression, Frame& frame) override;
  void Run(const std::vector<dsl::syntax::Statement>& body, Frame& frame) override;

  SourceSet sources_;
  Diagnostics diagnostics_;
  dsl::syntax::File file_;
  dsl::syntax::File prelude_;  // Nothing.
  int defined_ = 0;

 public:
  Reporter reporter;
  OpWriter ops;
  Demands demands;

 private:
  FunctionTable functions_;

 public:
  Context context;
  Frame frame;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FRAME_TESTING_H_

// Handles a token that does not fit: one error in our own words, and then parsing continues with the next statement.
#ifndef CLEAVE_DSL_PARSE_SYNTAX_ERRORS_H_
#define CLEAVE_DSL_PARSE_SYNTAX_ERRORS_H_

#include <antlr4-runtime.h>

#include <memory>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "dsl/parse/tokens.h"

namespace cleave::dsl {

struct SyntaxError {
  size_t token = 0;  // The index of the token that does not fit.
  Diagnostic diagnostic;
};

// The error strategy of one parser. After an error it skips to the end of the statement, the setting or the item (or
// only to the next comma or closing bracket, where the error lies within brackets), and reports nothing until a token
// fits again.
class SyntaxErrorStrategy : public antlr4::ANTLRErrorStrategy {
 public:
  // Both outlive the strategy.
  SyntaxErrorStrategy(const TokenPlaces& places, std::vector<SyntaxError>& errors) : places_(places), errors_(errors) {}

  void reset(antlr4::Parser* parser) override;
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void recover(antlr4::Parser* parser, std::exception_ptr exception) override;
  void sync(antlr4::Parser* parser) override;
  bool inErrorRecoveryMode(antlr4::Parser* parser) override;
  void reportMatch(antlr4::Parser* parser) override;
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& exception) override;

 private:
  antlr4::misc::IntervalSet WithLastDecision(antlr4::Parser& parser, const antlr4::Token& found,
                                             antlr4::misc::IntervalSet expected) const;
  void Report(antlr4::Parser& parser, antlr4::Token& found, const antlr4::misc::IntervalSet& expected_after_decision);
  Diagnostic MakeDiagnostic(antlr4::Parser& parser, antlr4::Token& found, const antlr4::misc::IntervalSet& expected);

  const TokenPlaces& places_;
  std::vector<SyntaxError>& errors_;
  bool recovering_ = false;
  bool skips_next_ =
      false;  // The token that did not fit is a reserved word in place of a name: no statement begins there.
  // The last decision between going on and stopping, and the token at which it was made: the tokens that it accepts are
  // expected there, and also those that may follow it.
  const antlr4::RuleContext* decision_context_ = nullptr;
  size_t decision_state_ = 0;
  size_t decision_token_ = 0;
  size_t last_sync_ = SIZE_MAX;  // The place of the last sync of a recovery: a second one there must not stay.
  std::vector<std::unique_ptr<antlr4::Token>> missing_;  // Semicolons that were supplied.
};

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_SYNTAX_ERRORS_H_

// Checks one definition of an op. Inside of frontend/custom_ops only.
#ifndef CLEAVE_FRONTEND_CUSTOM_OPS_DEFINITION_H_
#define CLEAVE_FRONTEND_CUSTOM_OPS_DEFINITION_H_

#include <list>
#include <string>

#include "frontend/custom_ops/custom_ops.h"

namespace cleave::frontend {

// Fills `op`, whose `syntax` is set, and reports what is wrong with it.
class Definition {
 public:
  Definition(CustomOp& op, std::list<BodyFile>& files, const std::string& folder, const std::string& target,
             Reporter& reporter)
      : op_(op), files_(files), folder_(folder), target_(target), reporter_(reporter) {}

  void Read();

 private:
  void Report(Diagnostic diagnostic);
  void CheckSignature();
  // The settings by name, each once.
  std::map<std::string, const dsl::syntax::Setting*> CollectSettings();
  std::optional<std::string> TextOf(const dsl::syntax::Setting& setting);
  void ReadRule(const dsl::syntax::Setting& setting);
  bool TermFits(const ir::Formula::Term& term, const dsl::syntax::Type& type, const std::string& what, Span rule);
  void ReadWhole(const dsl::syntax::Setting& setting);
  void ReadLinear(const dsl::syntax::Setting& setting);
  std::optional<std::vector<std::string>> NamesIn(const dsl::syntax::Expression& expression,
                                                  const std::string& example);
  void ReadBody(const std::map<std::string, const dsl::syntax::Setting*>& settings);

  CustomOp& op_;
  std::list<BodyFile>& files_;
  const std::string& folder_;
  const std::string& target_;
  Reporter& reporter_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_CUSTOM_OPS_DEFINITION_H_

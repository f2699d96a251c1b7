// Private to runtime/chat_template: a template as a tree.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_SYNTAX_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_SYNTAX_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/chat_template/value.h"

namespace cleave::runtime {

struct TemplateExpr;
using TemplateExprPtr = std::unique_ptr<TemplateExpr>;  // Null for what was left out.

struct TemplateExpr {
  enum class Kind {
    kConstant,   // value
    kName,       // name
    kList,       // items
    kDict,       // items: keys and values by turns
    kAttribute,  // items[0].name
    kItem,       // items[0][items[1]]
    kSlice,      // items[0][items[1]:items[2]:items[3]]
    kCall,       // items[0](items[1], …), the last with names: keywords
    kFilter,     // items[0] | name(items[1], …)
    kTest,       // items[0] is name items[1]
    kNot,
    kNegative,
    kPositive,
    kBinary,   // items[0] name items[1], for + - * / // % ** ~
    kCompare,  // items[0] names[0] items[1] names[1] items[2] …
    kAnd,
    kOr,
    kCondition,  // items[0] if items[1] else items[2]
  };
  Kind kind;
  size_t offset;
  std::string name;
  Value value;
  std::vector<TemplateExprPtr> items;
  std::vector<std::string> names;  // Keywords of a call or filter; the operators of a comparison.
  int depth = 1;                   // Expressions in one another.
};

struct TemplateNode {
  enum class Kind {
    kText,        // name: the text
    kOutput,      // exprs[0]
    kIf,          // exprs[i]: bodies[i]; one more body: otherwise
    kFor,         // for names in exprs[0] if exprs[1]: bodies[0]; bodies[1] where there is none
    kSet,         // names = exprs[0]; with a member: names[0].name = exprs[0]
    kSetBlock,    // names[0] = the text of bodies[0]
    kMacro,       // name(names): bodies[0]; exprs: values of the last parameters
    kGeneration,  // bodies[0]
    kBreak,
    kContinue,
  };
  Kind kind;
  size_t offset;
  std::string name;
  std::vector<std::string> names;
  std::vector<TemplateExprPtr> exprs;
  std::vector<std::vector<TemplateNode>> bodies;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_SYNTAX_H_

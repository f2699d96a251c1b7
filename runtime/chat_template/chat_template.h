// Chat templates: how a model's tokenizer writes a conversation as one text. They are written in a part of the language
// Jinja, as transformers runs it (trim_blocks, lstrip_blocks, and its own functions).
//
//   ChatTemplate parsed;
//   if (auto problem = ChatTemplate::Parse(text, parsed)) return At(problem->offset, problem->message);
//   Rendering rendering;
//   if (auto problem = parsed.Render(variables, {}, rendering)) …
//   Use(rendering.text.text());
//
// What of Jinja is not known is a problem with its name and place, when the template is parsed or when it is reached.
// A template cannot read files or run for long: steps, nesting and sizes have limits. A ChatTemplate does not change,
// and can render on several threads.
//
// Language: https://jinja.palletsprojects.com/templates; its use: transformers, chat_template_utils.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_CHAT_TEMPLATE_H_

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/chat_template/marked_text.h"
#include "runtime/chat_template/value.h"

namespace cleave::runtime {

struct TemplateProblem {
  size_t offset;        // In the text of the template.
  std::string message;  // "`{% include %}` is not supported"
};

constexpr int64_t kMostTemplateSteps = 4'000'000;

struct RenderOptions {
  int64_t most_steps = kMostTemplateSteps;  // Values that are looked at; 256 bytes are one, too.
  std::optional<std::tm> date;              // For strftime_now. Without one a template that asks for it has a problem.
};

struct Rendering {
  MarkedText text;
  std::vector<MarkedRange> generated;  // What `{% generation %}` encloses; marks are 0.
  int64_t steps = 0;
};

class ChatTemplate {
 public:
  ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // REQUIRES: the text is UTF-8, and its lines end in "\n" alone, which is what Jinja makes of other ends.
  static std::optional<TemplateProblem> Parse(const std::string& text, ChatTemplate& parsed);

  // Whether it reads a variable, or a member of something, that is called so.
  bool HasVariable(const std::string& name) const { return variables_.count(name) > 0; }
  bool HasMember(const std::string& name) const { return members_.count(name) > 0; }
  bool has_generation() const { return has_generation_; }

  std::optional<TemplateProblem> Render(const std::map<std::string, Value>& variables, const RenderOptions& options,
                                        Rendering& rendering) const;

 private:
  struct Tree;

  std::unique_ptr<const Tree> tree_;
  std::set<std::string> variables_, members_;
  bool has_generation_ = false;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_CHAT_TEMPLATE_H_

#include "tools/data/learned_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace cleave::tools {
namespace {

class LearnedFinder {
 public:
  LearnedFinder(const Conversation& conversation, const RenderingSettings& settings)
      : conversation_(conversation), settings_(settings) {}

  std::optional<RenderingProblem> Find(LearnedText& result) {
    runtime::Rendering whole;
    const size_t count = conversation_.messages.size();
    if (auto problem = Render(count, /*asks=*/false, whole)) return problem;
    if (auto problem = CheckAllAreWritten(whole.text)) return problem;
    size_t given = 0;
    for (size_t i = 0; i < conversation_.given; ++i) given = std::max(given, EndOf(whole.text, i, 0));
    for (const runtime::MarkedRange& range : whole.generated) {
      if (range.begin >= given) result.learned.push_back({range.begin, range.end});
    }
    if (!settings_.chat_template->has_generation()) {
      for (size_t i = conversation_.given; i < count; ++i) {
        if (conversation_.messages[i].role != "assistant") continue;
        if (auto problem = FindMessage(i, whole.text, result.learned)) return problem;
      }
    }
    result.text = std::move(whole.text);
    return std::nullopt;
  }

 private:
  // The first `count` messages; `asks`: and what asks for the next one, of the assistant.
  std::optional<RenderingProblem> Render(size_t count, bool asks, runtime::Rendering& rendering) {
    std::map<std::string, runtime::Value> variables = settings_.variables;
    // Those that transformers always gives.
    variables.insert(conversation_.variables.begin(), conversation_.variables.end());
    variables.insert({{"tools", runtime::None{}}, {"documents", runtime::None{}}});
    std::vector<runtime::Value> messages;
    for (size_t i = 0; i < count; ++i) messages.push_back(conversation_.messages[i].value);
    std::optional<runtime::Value> list = runtime::MakeList(std::move(messages));
    if (!list.has_value()) return RenderingProblem{std::nullopt, "has too many values"};
    variables["messages"] = *std::move(list);
    variables["add_generation_prompt"] = asks;
    runtime::RenderOptions options = settings_.options;
    options.most_steps = std::min(options.most_steps, settings_.most_steps - steps_);
    const auto problem = settings_.chat_template->Render(variables, options, rendering);
    steps_ += rendering.steps;
    if (problem.has_value()) {
      return RenderingProblem{problem->offset, problem->message};
    }
    return std::nullopt;
  }

  std::optional<RenderingProblem> CheckAllAreWritten(const runtime::MarkedText& text) const {
    std::vector<bool> is_written(conversation_.messages.size() + 1);
    for (const runtime::MarkedRange& range : text.ranges()) {
      if (range.mark > 0) is_written[static_cast<size_t>(range.mark)] = true;
    }
    for (size_t i = 0; i < conversation_.messages.size(); ++i) {
      const Message& message = conversation_.messages[i];
      if (!message.has_words || is_written[static_cast<size_t>(MarkOf(i))]) continue;
      return RenderingProblem{std::nullopt, absl::StrCat("has message ", i + 1, " of the role `", message.role,
                                                         "`, which the chat template leaves out")};
    }
    return std::nullopt;
  }

  // Behind the last byte of the message, or `otherwise`.
  static size_t EndOf(const runtime::MarkedText& text, size_t message, size_t otherwise) {
    size_t end = otherwise;
    for (const runtime::MarkedRange& range : text.ranges()) {
      if (range.mark == MarkOf(message)) end = std::max(end, range.end);
    }
    return end;
  }

  // Where special tokens of the template are in text[begin, …), up to one that ends behind `end`, which is the last.
  std::vector<runtime::TextRange> SpecialsIn(const std::string& text, size_t begin, size_t end) const {
    std::vector<runtime::TextRange> found;
    for (size_t at = begin; at < end;) {
      size_t longest = 0;
      for (const std::string& token : settings_.special_tokens) {
        if (token.size() > longest && text.compare(at, token.size(), token) == 0) longest = token.size();
      }
      if (longest > 0) found.push_back({at, at + longest});
      at += std::max<size_t>(longest, 1);
    }
    return found;
  }

  std::optional<RenderingProblem> FindMessage(size_t message, const runtime::MarkedText& whole,
                                              std::vector<runtime::TextRange>& learned) {
    runtime::Rendering before, until;
    if (auto problem = Render(message, /*asks=*/true, before)) return problem;
    const std::string& asking = before.text.text();
    const size_t shorter = std::min(asking.size(), whole.size());
    const auto differs =
        std::mismatch(asking.begin(), asking.begin() + static_cast<ptrdiff_t>(shorter), whole.text().begin()).first;
    const auto begin = static_cast<size_t>(differs - asking.begin());
    const auto is_space = [](char c) { return absl::ascii_isspace(c); };
    // Templates that leave ends of lines behind their last tag write these only where nothing follows.
    if (!std::all_of(differs, asking.end(), is_space)) {
      return RenderingProblem{
          std::nullopt,
          absl::StrCat("cannot be divided: the chat template writes what comes before message ", message + 1,
                       " in another way when that message follows, so what the assistant says cannot be told from it")};
    }
    const bool is_last = message + 1 == conversation_.messages.size();
    if (!is_last) {
      if (auto problem = Render(message + 1, /*asks=*/false, until)) return problem;
    }
    const runtime::MarkedText& own = is_last ? whole : until.text;
    const size_t words = EndOf(whole, message, begin), own_words = EndOf(own, message, std::min(begin, own.size()));
    size_t end = words;
    for (size_t at = own_words; end < whole.size() && at < own.size() && whole.text()[end] == own.text()[at]; ++at)
      ++end;
    const bool is_all = end == whole.size() || end - words == own.size() - own_words;
    std::vector<runtime::TextRange> specials = SpecialsIn(whole.text(), words, end);
    if (!specials.empty() && specials.back().end > end) {
      end = specials.back().begin;
      specials.pop_back();
    }
    if (!is_all && specials.empty()) {
      return RenderingProblem{
          std::nullopt, absl::StrCat("cannot be divided: the chat template does not say where message ", message + 1,
                                     " ends, as it writes its end in another way when more messages follow")};
    }
    if (!specials.empty()) {
      const auto first = whole.text().begin() + static_cast<ptrdiff_t>(specials.back().end);
      if (std::all_of(first, whole.text().begin() + static_cast<ptrdiff_t>(end), is_space)) end = specials.back().end;
    }
    if (begin < end) learned.push_back({begin, end});
    return std::nullopt;
  }

  const Conversation& conversation_;
  const RenderingSettings& settings_;
  int64_t steps_ = 0;
};

}  // namespace

std::optional<RenderingProblem> RenderLearned(const Conversation& conversation, const RenderingSettings& settings,
                                              LearnedText& result) {
  result = LearnedText();
  return LearnedFinder(conversation, settings).Find(result);
}

}  // namespace cleave::tools

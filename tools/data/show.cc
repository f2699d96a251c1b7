#include "tools/data/show.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "runtime/npy/npy.h"
#include "tools/data/arrays.h"
#include "tools/data/facts.h"
#include "tools/data/sample_store.h"
#include "tools/data/tokenizer_folder.h"

namespace cleave::tools {
namespace {

Diagnostic CannotShow(const std::string& message) { return Error(Code::kE0636, message); }

// Bytes on which a terminal would act, as escapes; ends of lines and tabs stay.
std::string Printable(const std::string& text) {
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool acts = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
    absl::StrAppend(&printable, acts ? absl::StrFormat("\\x%02x", byte) : std::string(1, c));
  }
  return printable;
}

class Show {
 public:
  Show(const DataOptions& options, bool has_colours, std::ostream& out)
      : options_(options), has_colours_(has_colours), out_(out) {}

  std::optional<Diagnostic> Run() {
    const std::string& folder = options_.sources[0];
    if (auto error = ReadFacts(folder, facts_)) return error;
    const bool is_named = !options_.tokenizer.empty();
    if (auto error = OpenTokenizerFolder(is_named ? options_.tokenizer : facts_.tokenizer, tokenizer_)) {
      return is_named ? std::move(*error)
                      : std::move(*error).Help("`--tokenizer` says where the tokenizer of these arrays is now");
    }
    if (tokenizer_.digest != facts_.tokenizer_digest) {
      return CannotShow(absl::StrCat(QuotedPath(folder), " was made with another tokenizer than ",
                                     QuotedPath(tokenizer_.path)))
          .Help(is_named ? "name that one with `--tokenizer`, or make the folder again"
                         : "its tokenizer.json has changed since: make the folder again");
    }
    for (const std::string& name : ArrayNames(facts_.pairs > 0)) {
      auto file = runtime::NpyFile::Open((std::filesystem::path(folder) / absl::StrCat(name, ".npy")).string());
      if (!file.ok()) return CannotShow(file.error().message);
      if (auto error =
              file.value().CheckFits(absl::StrCat("`", name, "`"), /*is_float=*/false, {facts_.rows, facts_.seq})) {
        return CannotShow(error->message);
      }
      files_.push_back(std::move(file.value()));
    }
    for (int64_t row = 0; row < std::min(options_.count, facts_.rows); ++row) {
      if (auto error = ShowRow(row)) return error;
    }
    out_ << FactsText(facts_);
    return std::nullopt;
  }

 private:
  std::optional<Diagnostic> ShowRow(int64_t row) {
    const auto seq = static_cast<size_t>(facts_.seq);
    std::array<std::vector<int32_t>, 4> arrays;
    for (size_t i = 0; i < arrays.size(); ++i) {
      arrays[i].resize(seq);
      if (auto error = files_[i].ReadRun(row * facts_.seq, facts_.seq, arrays[i].data()))
        return CannotShow(error->message);
    }
    if (facts_.pairs > 0) {
      for (const size_t side : {0, 2}) {
        // Up to the last token that is learned.
        size_t end = seq;
        while (end > 0 && arrays[side + 1][end - 1] == kNoLabel) --end;
        out_ << absl::StrFormat("--- pair %d, %s\n", row + 1, ArrayNames(true)[side]);
        if (auto error = ShowDocument(arrays[side], arrays[side + 1], 0, std::min(end + 1, seq))) return error;
      }
      return std::nullopt;
    }
    const auto& [tokens, labels, documents, positions] = arrays;
    for (size_t begin = 0; begin < seq;) {
      size_t end = begin;
      while (end < seq && documents[end] == documents[begin]) ++end;
      if (documents[begin] == 0) {
        out_ << absl::StrFormat("--- row %d: %s of padding\n", row + 1,
                                Plural(static_cast<int64_t>(end - begin), "place"));
      } else {
        out_ << absl::StrFormat("--- row %d, document %d: places %d to %d\n", row + 1, documents[begin], begin,
                                end - 1);
        if (auto error = ShowDocument(tokens, labels, begin, end)) return error;
      }
      begin = end;
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> ShowDocument(const std::vector<int32_t>& tokens, const std::vector<int32_t>& labels,
                                         size_t begin, size_t end) {
    std::string text, part;
    bool was_learned = false;
    const auto finish = [&] {
      if (!part.empty() && was_learned)
        part = has_colours_ ? absl::StrCat("\x1B[32m", part, "\x1B[0m") : absl::StrCat("«", part, "»");
      text += part;
      part.clear();
    };
    for (size_t at = begin; at < end; ++at) {
      // Marks have no bytes of their own.
      const bool is_special = tokenizer_.tokenizer->IsSpecial(tokens[at]);
      const auto bytes = tokenizer_.tokenizer->Bytes(tokens[at], at == begin);
      if (!bytes.ok()) return CannotShow(bytes.error().message);
      const bool is_learned = at > begin && labels[at - 1] != kNoLabel;
      if (is_learned != was_learned) finish();
      was_learned = is_learned;
      part += Printable(is_special ? tokenizer_.tokenizer->Content(tokens[at]) : bytes.value());
    }
    finish();
    out_ << text << (text.empty() || text.back() != '\n' ? "\n" : "");
    return std::nullopt;
  }

  const DataOptions& options_;
  const bool has_colours_;
  std::ostream& out_;
  DataFacts facts_;
  TokenizerFolder tokenizer_;
  std::vector<runtime::NpyFile> files_;
};

}  // namespace

std::optional<Diagnostic> ShowData(const DataOptions& options, bool has_colours, std::ostream& out) {
  return Show(options, has_colours, out).Run();
}

}  // namespace cleave::tools

// Reading guide: TokenizeTexts reads documents in parts and tokenizes these on all cores; `ShardWriter` cuts the row of
// tokens into files. A long plain text is cut into parts, too: only at the end of a line where the tokens around it are
// those of both sides (`TextCutter`), so that the tokens are those of the whole text.
#include "tools/data/tokenize.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/utf8/utf8.h"
#include "tools/data/parts.h"
#include "tools/data/tokenizer_folder.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

using Memory = runtime::TextTokenizer::Memory;

constexpr size_t kPart = size_t{1} << 19;         // A plain text is cut where it is this long,
constexpr size_t kLongestPart = size_t{1} << 30;  // and must be before it is this long.
constexpr size_t kAround = 2048;                  // So much of both sides of a place is looked at.

// What is written for a part of a text.
struct Tokens {
  std::optional<Diagnostic> problem;
  std::vector<int32_t> tokens;
  int64_t documents = 0;
  int64_t passed_over = 0;
};

// A text of which the document may go on in the next part.
struct DocumentPart {
  std::string path;
  int64_t line = 0;
  std::string text;
  bool is_begin = true;
  bool is_end = true;
};

// All texts as literal: what stands in a document is no mark.
runtime::Result<runtime::TextEncoding> Encode(const runtime::TextTokenizer& tokenizer, const std::string& text,
                                              Memory& memory) {
  return tokenizer.EncodeText(text, {{0, text.size()}}, {}, memory);
}

class ShardWriter {
 public:
  ShardWriter(std::string prefix, int64_t width, int64_t shard_tokens)
      : prefix_(std::move(prefix)), width_(width), shard_tokens_(shard_tokens) {}
  ShardWriter(const ShardWriter&) = delete;
  ~ShardWriter() {
    if (file_ != nullptr) std::fclose(file_);
    for (const std::string& path : paths_) std::remove(Unfinished(path).c_str());
  }

  int64_t tokens() const { return tokens_; }
  size_t shards() const { return paths_.size(); }

  std::optional<Diagnostic> Write(const std::vector<int32_t>& tokens) {
    for (size_t at = 0; at < tokens.size();) {
      if (file_ == nullptr) {
        paths_.push_back(absl::StrFormat("%s_%06d.bin", prefix_, paths_.size()));
        in_shard_ = 0;
        file_ = std::fopen(Unfinished(paths_.back()).c_str(), "wb");
        if (file_ == nullptr) return CannotWrite();
      }
      const auto count = std::min<int64_t>(static_cast<int64_t>(tokens.size() - at), shard_tokens_ - in_shard_);
      bytes_.clear();
      for (int64_t i = 0; i < count; ++i, ++at) {
        for (int64_t byte = 0; byte < width_; ++byte) bytes_ += static_cast<char>(tokens[at] >> (8 * byte));
      }
      if (std::fwrite(bytes_.data(), 1, bytes_.size(), file_) != bytes_.size()) return CannotWrite();
      in_shard_ += count;
      tokens_ += count;
      if (in_shard_ < shard_tokens_) continue;
      if (auto error = Close()) return error;
    }
    return std::nullopt;
  }

  // Gives the files their names.
  std::optional<Diagnostic> Finish() {
    if (file_ != nullptr) {
      if (auto error = Close()) return error;
    }
    for (const std::string& path : paths_) {
      if (std::rename(Unfinished(path).c_str(), path.c_str()) != 0) return CannotWrite();
    }
    return std::nullopt;
  }

 private:
  static std::string Unfinished(const std::string& path) { return path + ".unfinished"; }

  Diagnostic CannotWrite() const {
    return Error(Code::kE0602, absl::StrCat("cannot write ", QuotedPath(paths_.back()), ": ", std::strerror(errno)));
  }

  std::optional<Diagnostic> Close() {
    const bool is_written = std::fclose(std::exchange(file_, nullptr)) == 0;
    return is_written ? std::nullopt : std::optional<Diagnostic>(CannotWrite());
  }

  const std::string prefix_;
  const int64_t width_;  // Bytes of a token.
  const int64_t shard_tokens_;
  std::vector<std::string> paths_;
  std::FILE* file_ = nullptr;
  int64_t in_shard_ = 0;
  int64_t tokens_ = 0;
  std::string bytes_;
};

// Cuts a text that comes in pieces.
class TextCutter {
 public:
  TextCutter(const runtime::TextTokenizer& tokenizer, Memory& memory) : tokenizer_(tokenizer), memory_(memory) {}

  // The place behind the first end of a line from `from` on at which the text can be cut, or 0.
  size_t FindCut(const std::string& text, size_t from) const {
    constexpr int kTries = 32;
    size_t at = from;
    for (int tried = 0; tried < kTries && at + kAround < text.size(); ++tried) {
      const size_t line = text.find('\n', at);
      if (line == std::string::npos || line + 1 + kAround >= text.size()) break;
      at = line + 1;
      if (CanCut(text, at)) return at;
    }
    return 0;
  }

 private:
  static bool IsStart(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

  bool CanCut(const std::string& text, size_t at) const {
    size_t begin = at - std::min(at, kAround), end = at + kAround;
    while (begin < at && !IsStart(text[begin])) ++begin;
    while (end > at && !IsStart(text[end])) --end;
    const std::string left = text.substr(begin, at - begin), right = text.substr(at, end - at);
    const auto of_left = Encode(tokenizer_, left, memory_), of_right = Encode(tokenizer_, right, memory_);
    const auto of_both = Encode(tokenizer_, left + right, memory_);
    if (!of_left.ok() || !of_right.ok() || !of_both.ok()) return false;
    std::vector<int32_t> joined = of_left.value().tokens;
    joined.insert(joined.end(), of_right.value().tokens.begin(), of_right.value().tokens.end());
    return joined == of_both.value().tokens;
  }

  const runtime::TextTokenizer& tokenizer_;
  Memory& memory_;
};

// The documents of files: a line of JSON each, or a whole plain text.
class Documents {
 public:
  Documents(const runtime::TextTokenizer& tokenizer, const DataOptions& options)
      : options_(options), memory_(tokenizer.NewMemory()), cutter_(tokenizer, *memory_) {}

  std::optional<Diagnostic> Open() { return files_.Open(options_.sources); }

  // Some of them; none behind the last.
  std::optional<Diagnostic> Next(std::vector<DocumentPart>& parts) {
    for (size_t bytes = 0; bytes < kPart;) {
      TextFile* file = nullptr;
      if (auto error = files_.Now(file)) return error;
      if (file == nullptr) break;
      DocumentPart part{.path = file->path()};
      bool is_there = false;
      if (auto error = IsJson(part.path) ? NextLine(*file, part, is_there) : NextText(*file, part, is_there))
        return error;
      if (is_there) {
        bytes += part.text.size();
        parts.push_back(std::move(part));
      } else {
        files_.GoOn();
        is_begin_ = true;
      }
    }
    return std::nullopt;
  }

  static bool IsJson(const std::string& path) {
    for (const char* const packed : {"", ".gz", ".zst"}) {
      for (const char* const lines : {".jsonl", ".ndjson"}) {
        if (absl::EndsWith(path, absl::StrCat(lines, packed))) return true;
      }
    }
    return false;
  }

 private:
  static std::optional<Diagnostic> NextLine(TextFile& file, DocumentPart& part, bool& is_there) {
    do {
      if (auto error = file.ReadLine(part.text, is_there)) return error;
    } while (is_there && part.text.find_first_not_of(" \t\r\f\v") == std::string::npos);
    part.line = file.line();
    return std::nullopt;
  }

  std::optional<Diagnostic> NextText(TextFile& file, DocumentPart& part, bool& is_there) {
    bool is_at_end = false;
    size_t cut = 0;
    for (size_t searched = kPart; !is_at_end && cut == 0;) {
      std::string more;
      if (auto error = file.Read(kPart + 2 * kAround, more)) return error;
      is_at_end = more.empty();
      text_ += more;
      if (text_.size() > kLongestPart) {
        return Error(Code::kE0634, absl::StrCat(QuotedPath(file.path()),
                                                " has 1 GiB in a row that this tokenizer takes as one piece"))
            .Help("write its documents as lines of a .jsonl file: {\"text\": \"…\"}");
      }
      while (cut == 0 && searched + kAround < text_.size()) {
        cut = cutter_.FindCut(text_, searched);
        searched += kPart;
      }
    }
    is_there = !text_.empty();
    if (!is_there) return std::nullopt;
    part.is_begin = is_begin_;
    part.is_end = cut == 0;
    is_begin_ = cut == 0;
    part.text = cut == 0 ? std::exchange(text_, "") : text_.substr(0, cut);
    if (cut > 0) text_.erase(0, cut);
    return std::nullopt;
  }

  const DataOptions& options_;
  std::unique_ptr<Memory> memory_;
  TextCutter cutter_;
  FilesInTurn files_;
  std::string text_;  // Of the file, and not yet given out.
  bool is_begin_ = true;
};

Tokens TokensOf(const std::vector<DocumentPart>& parts, const TokenizerFolder& folder, const std::string& key,
                const std::vector<int32_t>& end, Memory& memory) {
  Tokens tokens;
  for (const DocumentPart& part : parts) {
    std::string text = part.text;
    const std::string place = part.line > 0 ? PlaceOf(part.path, part.line) : QuotedPath(part.path);
    const auto wrong = [&](const std::string& message) {
      tokens.problem = Error(Code::kE0630, absl::StrCat(place, " ", message));
      return tokens;
    };
    if (const auto at = runtime::FindInvalidUtf8(text)) return wrong(absl::StrCat("is not UTF-8 at byte ", *at));
    if (part.line > 0) {
      const auto json = runtime::ParseJson(text);
      if (!json.ok()) return wrong(JsonMistake(json.error().message));
      const auto member = runtime::StringMember(json.value(), key);
      if (!member.ok()) return wrong(member.error().message);
      text = member.value();
    }
    const auto encoding = Encode(*folder.tokenizer, text, memory);
    if (!encoding.ok()) return wrong(absl::StrCat("cannot be tokenized: ", encoding.error().message));
    const std::vector<int32_t>& prefix = folder.tokenizer->prefix();
    if (part.is_begin) tokens.tokens.insert(tokens.tokens.end(), prefix.begin(), prefix.end());
    tokens.tokens.insert(tokens.tokens.end(), encoding.value().tokens.begin(), encoding.value().tokens.end());
    if (part.is_end) tokens.tokens.insert(tokens.tokens.end(), end.begin(), end.end());
    tokens.documents += part.is_end ? 1 : 0;
    tokens.passed_over += encoding.value().passed_over;
  }
  return tokens;
}

// Files of an earlier run are in the way: a pattern would find them, too.
std::optional<Diagnostic> ClearPlace(const std::string& prefix, bool force) {
  const auto files = runtime::FilesOf(prefix + "_*.bin");
  if (!files.ok()) return std::nullopt;
  if (!force) {
    return Error(Code::kE0601, absl::StrCat("there is ", QuotedPath(files.value()[0]), " already"))
        .Help("choose another `--out`, or replace what is there with `--force`");
  }
  for (const std::string& file : files.value()) {
    std::error_code error;
    fs::remove(file, error);
    if (error) return Error(Code::kE0602, absl::StrCat("cannot remove ", QuotedPath(file), ": ", error.message()));
  }
  return std::nullopt;
}

// What stands behind each document: the token of this name, or what the tokenizer puts there, or its `eos_token`.
std::optional<Diagnostic> FindEnd(const TokenizerFolder& folder, const std::string& name, std::vector<int32_t>& end) {
  end = folder.tokenizer->suffix();
  if (name.empty() && !end.empty()) return std::nullopt;
  const std::optional<int32_t> found = name.empty() ? folder.Special("eos_token") : folder.tokenizer->Find(name);
  if (found.has_value()) {
    end = {*found};
    return std::nullopt;
  }
  if (!name.empty()) return Error(Code::kE0632, absl::StrCat(QuotedPath(folder.path), " has no token `", name, "`"));
  return Error(Code::kE0632, absl::StrCat(QuotedPath(folder.path), " does not say which token ends a text"))
      .Help("name it: `--end '<|endoftext|>'`");
}

}  // namespace

std::optional<Diagnostic> TokenizeTexts(const DataOptions& options, std::ostream& out) {
  TokenizerFolder folder;
  if (auto error = OpenTokenizerFolder(options.tokenizer, folder)) return error;
  std::vector<int32_t> end;
  if (auto error = FindEnd(folder, options.end, end)) return error;
  if (auto error = ClearPlace(options.out, options.force)) return error;
  const int64_t width = folder.tokenizer->size() <= 65536 ? 2 : 4;
  ShardWriter writer(options.out, width, options.shard_tokens);
  Documents documents(*folder.tokenizer, options);
  if (auto error = documents.Open()) return error;
  Memories memories(*folder.tokenizer);
  int64_t count = 0, passed_over = 0;
  const auto error = InParts<std::vector<DocumentPart>>(
      [&](std::vector<DocumentPart>& parts) { return documents.Next(parts); },
      [&](const std::vector<DocumentPart>& parts) {
        return memories.With([&](Memory& memory) { return TokensOf(parts, folder, options.text_key, end, memory); });
      },
      [&](Tokens tokens) -> std::optional<Diagnostic> {
        if (tokens.problem.has_value()) return std::move(tokens.problem);
        count += tokens.documents;
        passed_over += tokens.passed_over;
        return writer.Write(tokens.tokens);
      });
  if (error.has_value()) return error;
  if (count == 0) return Error(Code::kE0635, absl::StrCat("there is no text in ", QuotedList(options.sources, "and")));
  if (auto failed = writer.Finish()) return failed;
  out << Plural(count, "document") << ", " << FormatCount(writer.tokens()) << " tokens in "
      << Plural(static_cast<int64_t>(writer.shards()), "file") << "\n";
  if (passed_over > 0)
    out << Plural(passed_over, "special token") << " written out within documents: text there, and no mark\n";
  out << "a model reads them by: data = tokens(\"" << options.out << "_*.bin\", dtype = u" << 8 * width << ")\n";
  return std::nullopt;
}

}  // namespace cleave::tools

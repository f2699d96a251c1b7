// Reading guide: ChatMaker::Make is the sequence: the tokenizer and its template, whether the folder is there already,
// the samples (`ReadSamples`: lines to tokens on all cores), the draw of those for testing, the arrays, and at last the
// name of the folder. `Sampler` makes one line a sample, or two that are a pair.
#include "tools/data/chat.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "runtime/chat_template/chat_template.h"
#include "runtime/digest/digest.h"
#include "runtime/file/file.h"
#include "runtime/random/philox.h"
#include "runtime/utf8/utf8.h"
#include "tools/data/arrays.h"
#include "tools/data/conversation.h"
#include "tools/data/facts.h"
#include "tools/data/learned_text.h"
#include "tools/data/parts.h"
#include "tools/data/sample_store.h"
#include "tools/data/tokenizer_folder.h"
#include "tools/pending_folder/pending_folder.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

// Changes whenever the same input gives other arrays.
constexpr int kArraysVersion = 1;

constexpr size_t kMostWarnings = 20;

// What one line became.
struct Outcome {
  std::optional<Diagnostic> problem;
  std::string place;
  std::vector<std::vector<LabelledToken>> samples;
  int64_t passed_over = 0;
};

// A date as the options write it.
std::optional<std::tm> DateOf(const std::string& text) {
  std::tm date = {};
  if (strptime(text.c_str(), "%Y-%m-%d", &date) == nullptr) return std::nullopt;
  return date;
}

class Sampler {
 public:
  // `file`: the text of the template.
  Sampler(const TokenizerFolder& folder, const runtime::ChatTemplate& chat_template, FileId file,
          const DataOptions& options)
      : folder_(folder),
        file_(file),
        ignored_(options.ignored.begin(), options.ignored.end()),
        makes_pairs_(options.MakesPairs()) {
    settings_.chat_template = &chat_template;
    settings_.options.date = DateOf(options.date);
    for (const auto& [name, token] : folder.special_tokens) settings_.variables[name] = runtime::TextValue(token);
    for (int32_t token = 0; token < folder.tokenizer->size(); ++token) {
      if (folder.tokenizer->IsSpecial(token)) settings_.special_tokens.push_back(folder.tokenizer->Content(token));
    }
  }

  Outcome Make(const TextLine& line, Memories::Memory& memory) const {
    Outcome outcome{.place = PlaceOf(line.path, line.number)};
    if (makes_pairs_) {
      const auto pair = ReadPair(line.text, *settings_.chat_template, ignored_);
      if (!pair.ok()) return Wrong(std::move(outcome), pair.error().message);
      Add(pair.value().chosen, memory, outcome);
      if (!outcome.problem.has_value()) Add(pair.value().rejected, memory, outcome);
    } else {
      const auto conversation = ReadConversation(line.text, *settings_.chat_template, ignored_);
      if (!conversation.ok()) return Wrong(std::move(outcome), conversation.error().message);
      Add(conversation.value(), memory, outcome);
    }
    return outcome;
  }

  // The character of the template that begins there; none at its end.
  static Span TemplateSpan(FileId file, const std::string& text, size_t offset) {
    size_t end = std::min(offset, text.size());
    if (end < text.size()) runtime::ReadUtf8(text, end);
    return {.file = file, .begin = static_cast<int32_t>(offset), .end = static_cast<int32_t>(end)};
  }

 private:
  static Outcome Wrong(Outcome outcome, const std::string& message) {
    outcome.problem = Error(Code::kE0630, absl::StrCat(outcome.place, " ", message));
    return outcome;
  }

  void Add(const Conversation& conversation, Memories::Memory& memory, Outcome& outcome) const {
    LearnedText learned;
    const auto problem = RenderLearned(conversation, settings_, learned);
    if (!problem.has_value()) return Tokenize(learned, memory, outcome);
    if (!problem->offset.has_value()) {
      outcome = Wrong(std::move(outcome), problem->message);
    } else {
      outcome.problem = Error(Code::kE0631, absl::StrCat(problem->message, ", for ", outcome.place))
                            .At(TemplateSpan(file_, folder_.template_text, *problem->offset), "here");
    }
  }

  void Tokenize(const LearnedText& learned, Memories::Memory& memory, Outcome& outcome) const {
    std::vector<runtime::TextRange> literal;
    for (const runtime::MarkedRange& range : learned.text.ranges()) literal.push_back({range.begin, range.end});
    std::vector<size_t> places;
    for (const runtime::TextRange& range : learned.learned) places.insert(places.end(), {range.begin, range.end});
    const auto encoding = folder_.tokenizer->EncodeText(learned.text.text(), literal, places, memory);
    if (!encoding.ok()) {
      outcome.problem = Error(Code::kE0630, absl::StrCat(outcome.place, ": ", encoding.error().message));
      return;
    }
    outcome.passed_over += encoding.value().passed_over;
    const std::vector<int32_t>& tokens = encoding.value().tokens;
    std::vector<bool> is_learned(tokens.size());
    for (size_t i = 0; i + 1 < encoding.value().cuts.size(); i += 2) {
      // Also tokens of which only a part is within the learned text.
      std::fill(is_learned.begin() + static_cast<ptrdiff_t>(encoding.value().cuts[i].ended),
                is_learned.begin() + static_cast<ptrdiff_t>(encoding.value().cuts[i + 1].begun), true);
    }
    std::vector<LabelledToken>& sample = outcome.samples.emplace_back();
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool has_label = i + 1 < tokens.size() && is_learned[i + 1];
      sample.push_back({tokens[i], has_label ? tokens[i + 1] : kNoLabel});
    }
  }

  const TokenizerFolder& folder_;
  const FileId file_;
  const std::set<std::string> ignored_;
  const bool makes_pairs_;
  RenderingSettings settings_;
};

// What this command writes into a folder.
bool IsWrittenHere(const std::string& name) {
  const std::string file(absl::StripPrefix(name, "test/"));
  if (file.empty() || file == kFactsFile) return true;
  for (const bool of_pairs : {false, true}) {
    for (const std::string& array : ArrayNames(of_pairs)) {
      if (file == absl::StrCat(array, ".npy")) return true;
    }
  }
  return false;
}

bool HasArrays(const std::string& folder, bool of_pairs) {
  const std::vector<std::string>& names = ArrayNames(of_pairs);
  return std::all_of(names.begin(), names.end(), [&](const std::string& array) {
    std::error_code ignored;
    return fs::exists(fs::path(folder) / absl::StrCat(array, ".npy"), ignored);
  });
}

class ChatMaker {
 public:
  ChatMaker(const DataOptions& options, SourceSet& sources, Diagnostics& diagnostics, std::ostream& out)
      : options_(options), sources_(sources), diagnostics_(diagnostics), out_(out) {}

  std::optional<Diagnostic> Make() {
    if (auto error = OpenTokenizerFolder(options_.tokenizer, folder_)) return error;
    if (auto error = ParseOwnTemplate()) return error;
    if (auto error = FindDigest()) return error;
    if (IsThere()) {
      out_ << QuotedPath(options_.out) << " is made of the same already\n" << FactsText(facts_);
      return std::nullopt;
    }
    runtime::Result<PendingFolder> folder = PendingFolder::Create(options_.out, IsWrittenHere, /*is_replaced=*/true);
    if (!folder.ok()) return NotWritten(folder.error());
    if (auto error = store_.Create(folder.value().path())) return error;
    if (auto error = ReadSamples()) return error;
    if (auto error = WriteAll(folder.value().path())) return error;
    if (auto error = folder.value().Rename()) return NotWritten(*error);
    out_ << FactsText(facts_) << "wrote " << QuotedPath(options_.out) << "\n";
    return std::nullopt;
  }

 private:
  static Diagnostic NotWritten(const runtime::Error& error) {
    if (error.code != runtime::ExitCode::kUsage) return Error(Code::kE0602, error.message);
    return Error(Code::kE0601, error.message).Help("name another folder with `--out`");
  }

  std::optional<Diagnostic> ParseOwnTemplate() {
    if (folder_.template_path.empty()) {
      return Error(Code::kE0631,
                   absl::StrCat("the tokenizer ", QuotedPath(options_.tokenizer), " has no chat template"))
          .Help(
              "take the tokenizer of a model that was made for chats, or write the template into `chat_template.jinja` "
              "beside its tokenizer.json");
    }
    template_file_ = sources_.Add(folder_.template_path, folder_.template_text);
    if (const auto problem = runtime::ChatTemplate::Parse(folder_.template_text, template_)) {
      return Error(Code::kE0631, absl::StrCat("the chat template cannot be used: ", problem->message))
          .At(Sampler::TemplateSpan(*template_file_, folder_.template_text, problem->offset), "here");
    }
    const std::string name = "strftime_now";
    if (template_.HasVariable(name) && options_.date.empty()) {
      return Error(Code::kE0631,
                   "the chat template writes today's date, so the same files would give other arrays tomorrow")
          .At(Sampler::TemplateSpan(*template_file_, folder_.template_text, folder_.template_text.find(name)), "here")
          .Help("choose the date: `--date 2024-07-26`");
    }
    return std::nullopt;
  }

  // Of all that the arrays depend on.
  std::optional<Diagnostic> FindDigest() {
    runtime::Digest digest;
    const auto add = [&](const std::string& text) {
      digest.Add(text.data(), static_cast<int64_t>(text.size()));
      digest.Add("\0", 1);
    };
    add(absl::StrCat(kArraysVersion, " ", options_.action, " ", options_.seq, " ", options_.too_long, " ",
                     options_.test, " ", options_.seed, " ", options_.no_pack, " ", options_.skip_bad, " ",
                     options_.date));
    for (const std::string& key : options_.ignored) add(key);
    add(folder_.digest);
    add(folder_.template_text);
    for (const auto& [name, token] : folder_.special_tokens) add(absl::StrCat(name, "=", token));
    for (const std::string& path : options_.sources) {
      std::unique_ptr<TextFile> file;
      if (auto error = TextFile::Open(path, file)) return error;
      if (auto error = AddFile(path, digest)) return error;
      digest.Add("\0", 1);
    }
    facts_.digest = runtime::DigestText(digest.Value());
    facts_.tokenizer = options_.tokenizer;
    facts_.tokenizer_digest = folder_.digest;
    return std::nullopt;
  }

  // The bytes of a file as they are on disk.
  static std::optional<Diagnostic> AddFile(const std::string& path, runtime::Digest& digest) {
    const auto file = runtime::File::Open(path);
    if (!file.ok()) return Error(Code::kE0634, file.error().message);
    constexpr int64_t kPiece = int64_t{1} << 20;
    std::vector<char> piece(kPiece);
    for (int64_t at = 0; at < file.value().bytes(); at += kPiece) {
      const int64_t count = std::min(kPiece, file.value().bytes() - at);
      if (auto error = file.value().Read(at, count, piece.data())) return Error(Code::kE0634, error->message);
      digest.Add(piece.data(), count);
    }
    return std::nullopt;
  }

  bool IsThere() {
    DataFacts known;
    const bool of_pairs = options_.MakesPairs();
    const std::string& place = options_.out;
    if (!HasArrays(place, of_pairs) || ReadFacts(place, known).has_value() || known.digest != facts_.digest)
      return false;
    if (known.test_rows > 0 && !HasArrays((fs::path(place) / "test").string(), of_pairs)) return false;
    facts_ = known;
    return true;
  }

  std::optional<Diagnostic> ReadSamples() {
    LinesOfFiles lines;
    if (auto error = lines.Open(options_.sources)) return error;
    const Sampler sampler(folder_, template_, *template_file_, options_);
    Memories memories(*folder_.tokenizer);
    const auto make = [&](const std::vector<TextLine>& part, Memories::Memory& memory) {
      std::vector<Outcome> outcomes;
      for (const TextLine& line : part) outcomes.push_back(sampler.Make(line, memory));
      return outcomes;
    };
    const auto error = InParts<std::vector<TextLine>>(
        [&](std::vector<TextLine>& part) { return lines.Next(part); },
        [&](const std::vector<TextLine>& part) {
          return memories.With([&](Memories::Memory& memory) { return make(part, memory); });
        },
        [&](std::vector<Outcome> outcomes) -> std::optional<Diagnostic> {
          for (Outcome& outcome : outcomes) {
            if (auto wrong = Take(std::move(outcome))) return wrong;
          }
          return std::nullopt;
        });
    if (error.has_value()) return error;
    if (facts_.skipped > static_cast<int64_t>(kMostWarnings)) {
      diagnostics_.Add(Warning(Code::kW0630, absl::StrCat("skipped ", facts_.skipped - kMostWarnings, " more lines")));
    }
    if (!store_.lengths().empty()) return store_.Finish();
    Diagnostic empty = Error(Code::kE0635, absl::StrCat("there is no sample in ", QuotedList(options_.sources, "and")));
    if (facts_.skipped > 0) empty.notes.push_back(absl::StrCat(Plural(facts_.skipped, "line"), " skipped"));
    if (facts_.dropped > 0) empty.notes.push_back(absl::StrCat(Plural(facts_.dropped, "sample"), " longer than a row"));
    if (facts_.unlearned > 0)
      empty.notes.push_back(absl::StrCat(Plural(facts_.unlearned, "sample"), " with nothing to learn"));
    return empty;
  }

  std::optional<Diagnostic> Take(Outcome outcome) {
    if (outcome.problem.has_value()) {
      if (!options_.skip_bad) return std::move(outcome.problem);
      if (++facts_.skipped <= static_cast<int64_t>(kMostWarnings)) {
        diagnostics_.Add(Warning(Code::kW0630, absl::StrCat("skipped ", outcome.place)).Note(outcome.problem->message));
      }
      return std::nullopt;
    }
    facts_.passed_over += outcome.passed_over;
    const uint32_t conversation = conversations_++;
    size_t longest = 0;
    for (const std::vector<LabelledToken>& tokens : outcome.samples) longest = std::max(longest, tokens.size());
    const auto seq = static_cast<size_t>(options_.seq);
    if (longest <= seq) return Add(outcome.samples, conversation);
    if (options_.too_long == "error") {
      return Error(Code::kE0633, absl::StrCat(outcome.place, " has ", FormatCount(static_cast<int64_t>(longest)),
                                              " tokens, and a row has ", FormatCount(options_.seq)))
          .Help(absl::StrCat("make rows longer with `--seq`, or choose `--long truncate`",
                             options_.MakesPairs() ? " or `drop`" : ", `drop` or `split`"));
    }
    if (options_.too_long == "drop") {
      ++facts_.dropped;
      return std::nullopt;
    }
    if (options_.too_long == "truncate") {
      ++facts_.truncated;
      for (std::vector<LabelledToken>& tokens : outcome.samples) tokens.resize(std::min(tokens.size(), seq));
      return Add(outcome.samples, conversation);
    }
    ++facts_.split;
    const std::vector<LabelledToken>& tokens = outcome.samples[0];
    for (size_t begin = 0; begin < tokens.size(); begin += seq) {
      const auto first = tokens.begin() + static_cast<ptrdiff_t>(begin);
      const auto last = tokens.begin() + static_cast<ptrdiff_t>(std::min(begin + seq, tokens.size()));
      if (auto error = Add({{first, last}}, conversation)) return error;
    }
    return std::nullopt;
  }

  // A sample or a pair.
  std::optional<Diagnostic> Add(const std::vector<std::vector<LabelledToken>>& samples, uint32_t conversation) {
    const auto is_learned = [](const LabelledToken& token) { return token.label != kNoLabel; };
    for (const std::vector<LabelledToken>& tokens : samples) {
      if (std::any_of(tokens.begin(), tokens.end(), is_learned)) continue;
      ++facts_.unlearned;
      return std::nullopt;
    }
    for (const std::vector<LabelledToken>& tokens : samples) {
      if (auto error = store_.Add(tokens.data(), tokens.data() + tokens.size(), conversation)) return error;
    }
    return std::nullopt;
  }

  // The conversations that are set aside, in order: as many as the share says, but at least one and not all, those with
  // the smallest drawn numbers.
  std::vector<uint32_t> DrawTest() const {
    std::vector<uint32_t> all = store_.conversations();
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (options_.test == 0 || all.size() < 2) return {};
    const double share = options_.test * static_cast<double>(all.size());
    const auto count = std::clamp<size_t>(static_cast<size_t>(share + 0.5), 1, all.size() - 1);
    const auto seed = static_cast<uint64_t>(options_.seed);
    const auto drawn = [&](uint32_t conversation) {
      const runtime::PhiloxKey key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
      const runtime::PhiloxBlock block = runtime::PhiloxAt(key, conversation, 0);
      return std::pair(uint64_t{block[0]} << 32 | block[1], conversation);
    };
    std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(count), all.end(),
                     [&](uint32_t a, uint32_t b) { return drawn(a) < drawn(b); });
    all.resize(count);
    std::sort(all.begin(), all.end());
    return all;
  }

  std::optional<Diagnostic> WriteAll(const std::string& place) {
    const std::vector<uint32_t> set_aside = DrawTest();
    std::vector<uint32_t> train, test;
    for (uint32_t i = 0; i < store_.lengths().size(); ++i) {
      const bool is_test = std::binary_search(set_aside.begin(), set_aside.end(), store_.conversations()[i]);
      (is_test ? test : train).push_back(i);
    }
    const ArrayOptions arrays{.seq = static_cast<uint32_t>(options_.seq),
                              .padding = folder_.Special("pad_token").value_or(0),
                              .kind = options_.MakesPairs() ? RowKind::kPair
                                      : options_.no_pack    ? RowKind::kSingle
                                                            : RowKind::kPacked};
    if (!test.empty()) {
      const std::string folder = (fs::path(place) / "test").string();
      DataFacts facts{
          .digest = facts_.digest, .tokenizer = facts_.tokenizer, .tokenizer_digest = facts_.tokenizer_digest};
      std::error_code error;
      fs::create_directory(folder, error);
      if (error) return Error(Code::kE0602, absl::StrCat("cannot make ", QuotedPath(folder), ": ", error.message()));
      if (auto wrong = WriteArrays(store_, test, folder, arrays, facts)) return wrong;
      if (auto wrong = WriteFacts(folder, facts)) return wrong;
      facts_.test_rows = facts.rows;
    }
    if (auto wrong = WriteArrays(store_, train, place, arrays, facts_)) return wrong;
    return WriteFacts(place, facts_);
  }

  const DataOptions& options_;
  SourceSet& sources_;
  Diagnostics& diagnostics_;
  std::ostream& out_;
  TokenizerFolder folder_;
  runtime::ChatTemplate template_;
  std::optional<FileId> template_file_;
  SampleStore store_;
  DataFacts facts_;
  uint32_t conversations_ = 0;
};

}  // namespace

void MakeChatData(const DataOptions& options, SourceSet& sources, Diagnostics& diagnostics, std::ostream& out) {
  if (auto error = ChatMaker(options, sources, diagnostics, out).Make()) diagnostics.Add(*std::move(error));
}

}  // namespace cleave::tools

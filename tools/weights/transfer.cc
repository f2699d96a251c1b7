// Reading guide: a Planner gives each tensor of the source its line of the mapping; tensors of one line and the same
// numbers make a Move, whose shapes are then worked out. RunTransfer does to the values what the shapes say.
#include "tools/weights/transfer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/text/text.h"
#include "tools/weights/rearrange.h"
#include "tools/weights/table.h"

namespace cleave::tools {
namespace {

using runtime::Error;
using runtime::Result;

Error TransferError(std::string message) { return {runtime::ExitCode::kInput, std::move(message)}; }

std::string Quoted(const std::string& name) { return absl::StrCat("`", ShownName(name), "`"); }

std::string LineText(const Mapping& mapping, const MappingLine& line) {
  return absl::StrCat("line ", line.number, " of ", mapping.name);
}

std::string Shown(const WeightTensor& tensor) {
  return absl::StrCat(Quoted(tensor.name), ", which is ", ShapeText(tensor.shape));
}

// The line that a tensor belongs to, and which of its names it has.
struct LineMatch {
  const MappingLine* line = nullptr;
  size_t part = 0;  // Of the names in the other program.
  bool is_copy = false;
  NameParts parts;
};

class Planner {
 public:
  Planner(const std::string& path, const std::vector<WeightTensor>& tensors, const Mapping* mapping,
          const TransferOptions& options)
      : path_(path), tensors_(tensors), mapping_(mapping), is_import_(options.direction == Direction::kImport) {
    transfer_.options = options;
    if (mapping != nullptr) transfer_.mapping_name = mapping->name;
  }

  Result<Transfer> Plan() {
    int64_t states = 0;
    for (const WeightTensor& tensor : tensors_) {
      if (!tensor.parameter.empty() && !transfer_.options.has_states) {
        ++states;
        continue;
      }
      if (auto error = Add(tensor)) return *error;
    }
    for (Move& move : transfer_.moves) {
      if (auto error = is_import_ ? FinishImport(move) : FinishExport(move)) return *error;
    }
    if (auto error = CheckTargets()) return *error;
    if (states > 0) {
      transfer_.notes.push_back(absl::StrCat("without ", Plural(states, "tensor"), " of the optimizer's state",
                                             is_import_ ? "" : " (`--with-optimizer` takes them along)"));
    }
    if (mapping_ == nullptr) return std::move(transfer_);
    if (used_lines_.empty()) return NothingMatches();
    FindMissing();
    return std::move(transfer_);
  }

 private:
  // All names of a line on the side of the source that match.
  void FindMatches(const MappingLine& line, const std::string& name, std::vector<LineMatch>& found) const {
    const auto try_pattern = [&](const NamePattern& pattern, size_t part, bool is_copy) {
      std::optional<NameParts> parts = pattern.Match(name);
      if (parts.has_value()) found.push_back({&line, part, is_copy, std::move(*parts)});
    };
    if (!is_import_) {
      if (line.ours.has_value()) try_pattern(*line.ours, 0, false);
      return;
    }
    for (size_t part = 0; part < line.theirs.size(); ++part) try_pattern(line.theirs[part], part, false);
    if (line.copy.has_value()) try_pattern(*line.copy, 0, true);
  }

  // A match without a line where there is none.
  Result<LineMatch> Match(const std::string& name) const {
    std::vector<LineMatch> found;
    if (mapping_ == nullptr) return LineMatch();
    for (const MappingLine& line : mapping_->lines) FindMatches(line, name, found);
    if (found.empty()) return LineMatch();
    if (found.size() == 1) return found[0];
    return TransferError(absl::StrCat(Quoted(name), " is matched by line ", found[0].line->number, " and by ",
                                      LineText(*mapping_, *found[1].line)));
  }

  std::optional<Error> Add(const WeightTensor& tensor) {
    // States lie as their parameters do.
    const std::string& name = tensor.parameter.empty() ? tensor.name : tensor.parameter;
    const Result<LineMatch> matched = Match(name);
    if (!matched.ok()) return matched.error();
    const LineMatch& match = matched.value();
    if (match.line != nullptr) used_lines_[match.line->number].insert(PartsOf(*match.line, match.parts));
    if (match.line != nullptr && !match.line->ours.has_value()) {
      transfer_.left_out.push_back({&tensor, absl::StrCat("not wanted (line ", match.line->number, ")")});
      return std::nullopt;
    }
    if (!IsReadAsFloat(tensor)) {
      if (match.line == nullptr) {
        transfer_.left_out.push_back({&tensor, absl::StrCat("values of type ", tensor.type)});
        return std::nullopt;
      }
      return TransferError(absl::StrCat(Quoted(tensor.name), " has values of type ", tensor.type, "; ",
                                        LineText(*mapping_, *match.line),
                                        " wants floating-point numbers: F32, F64, F16 or BF16"));
    }
    if (match.line == nullptr) {
      if (mapping_ != nullptr) transfer_.unmatched.push_back(&tensor);
      transfer_.moves.push_back({{&tensor}, {{tensor.name, tensor.shape}}, nullptr, nullptr, tensor.shape});
      return std::nullopt;
    }
    return is_import_ ? AddTheirs(tensor, match) : AddOurs(tensor, match);
  }

  std::optional<Error> AddOurs(const WeightTensor& tensor, const LineMatch& match) {
    Move move = {{&tensor}, {}, match.line, nullptr, tensor.shape};
    const std::string state = tensor.parameter.empty() ? "" : tensor.name.substr(tensor.parameter.size());
    const std::string& counter = match.line->stacked_by;
    if (!counter.empty() && !tensor.shape.empty()) {
      NameParts parts = match.parts;
      for (int64_t i = 0; i < tensor.shape[0]; ++i) {
        parts[counter] = i;
        move.targets.push_back({match.line->theirs[0].Fill(parts) + state, {}});
      }
    } else if (counter.empty()) {
      for (const NamePattern& theirs : match.line->theirs) {
        move.targets.push_back({theirs.Fill(match.parts) + state, {}});
      }
    }
    transfer_.moves.push_back(std::move(move));
    return std::nullopt;
  }

  // Tensors of one line and the same numbers meet in one Move.
  std::optional<Error> AddTheirs(const WeightTensor& tensor, const LineMatch& match) {
    const std::string name = match.line->ours->Fill(match.parts);
    const auto [found, is_first] = by_target_.emplace(name, transfer_.moves.size());
    if (is_first) {
      transfer_.moves.push_back({{}, {{name, {}}}, match.line, nullptr, {}});
      transfer_.moves.back().sources.resize(match.line->theirs.size());
    }
    Move& move = transfer_.moves[found->second];
    if (move.line != match.line) {
      return TransferError(absl::StrCat("lines ", move.line->number, " and ", match.line->number, " of ",
                                        mapping_->name, " both make ", Quoted(name)));
    }
    size_t part = match.part;
    if (!match.line->stacked_by.empty()) {
      part = static_cast<size_t>(std::get<int64_t>(match.parts.at(match.line->stacked_by)));
      // There cannot be more of them than there are tensors.
      if (part >= tensors_.size()) return Missing(move, tensors_.size());
      move.sources.resize(std::max(move.sources.size(), part + 1));
    }
    const WeightTensor*& place = match.is_copy ? move.copy : move.sources[part];
    if (place != nullptr) {
      return TransferError(absl::StrCat(Quoted(place->name), " and ", Quoted(tensor.name), " both become ",
                                        Quoted(name), " by ", LineText(*mapping_, *match.line)));
    }
    place = &tensor;
    return std::nullopt;
  }

  // Checks what a line says of a tensor of this project.
  std::optional<Error> CheckShape(const Move& move, const std::string& name) const {
    const MappingLine& line = *move.line;
    const auto wrong = [&](absl::string_view what) {
      return TransferError(
          absl::StrCat(LineText(*mapping_, line), " ", what, " ", Quoted(name), ", which is ", ShapeText(move.shape)));
    };
    const auto parts = static_cast<int64_t>(line.theirs.size());
    const bool is_stacked = !line.stacked_by.empty();
    if (is_stacked && move.shape.empty()) return wrong("asks for a first dimension of");
    if (line.is_transposed && move.shape.size() != (is_stacked ? 3 : 2)) return wrong("transposes");
    if ((line.is_qkv || parts > 1 || line.is_vocabulary) && move.shape.empty()) return wrong("asks for rows of");
    if (parts > 1 && move.shape[0] % parts != 0) return wrong(absl::StrCat("makes ", parts, " equal tensors of"));
    if (!line.is_qkv) return std::nullopt;
    const int64_t heads = transfer_.options.heads;
    if (heads == 0) {
      return TransferError(absl::StrCat(LineText(*mapping_, line), " puts the heads of ", Quoted(name),
                                        " in another order: say with `--heads N` how many there are"));
    }
    if (move.shape[0] % (3 * heads) != 0) {
      return wrong(absl::StrCat("finds no query, key and value of ", Plural(heads, "head"), " in the rows of"));
    }
    return std::nullopt;
  }

  std::optional<Error> FinishExport(Move& move) {
    if (move.line == nullptr) return std::nullopt;
    const WeightTensor& source = *move.sources[0];
    if (auto error = CheckShape(move, source.name)) return error;
    std::vector<int64_t> shape = move.shape;
    const int64_t vocabulary = transfer_.options.vocabulary;
    if (move.line->is_vocabulary && vocabulary > 0) {
      if (shape[0] < vocabulary) {
        return TransferError(
            absl::StrCat("`--vocabulary ", vocabulary, "` asks for more rows than ", Shown(source), " has"));
      }
      shape[0] = vocabulary;
    }
    if (!move.line->stacked_by.empty()) {
      shape.erase(shape.begin());
    } else if (move.targets.size() > 1) {
      shape[0] /= static_cast<int64_t>(move.targets.size());
    }
    if (move.line->is_transposed) std::swap(shape[0], shape[1]);
    for (OutputTensor& target : move.targets) target.shape = shape;
    return std::nullopt;
  }

  std::optional<Error> FinishImport(Move& move) {
    if (move.line == nullptr) return std::nullopt;
    // The copy has the values where the tensor itself was left out.
    if (move.sources.size() == 1 && move.sources[0] == nullptr) move.sources[0] = std::exchange(move.copy, nullptr);
    const WeightTensor* const first = *std::find_if(move.sources.begin(), move.sources.end(),
                                                    [](const WeightTensor* source) { return source != nullptr; });
    for (size_t i = 0; i < move.sources.size(); ++i) {
      if (move.sources[i] == nullptr) return Missing(move, i);
      if (move.sources[i]->shape == first->shape) continue;
      return TransferError(absl::StrCat(LineText(*mapping_, *move.line), " puts together ", Shown(*first), ", and ",
                                        Shown(*move.sources[i]), ": they must be equal"));
    }
    if (move.copy != nullptr && move.copy->shape != first->shape) return NotTheSame(move);
    move.shape = first->shape;
    if (move.line->is_transposed && move.shape.size() == 2) std::swap(move.shape[0], move.shape[1]);
    const auto count = static_cast<int64_t>(move.sources.size());
    if (!move.line->stacked_by.empty()) {
      move.shape.insert(move.shape.begin(), count);
    } else if (!move.shape.empty()) {
      move.shape[0] *= count;
    }
    if (auto error = CheckShape(move, move.targets[0].name)) return error;
    move.targets[0].shape = move.shape;
    if (move.copy != nullptr) {
      transfer_.left_out.push_back({move.copy, absl::StrCat("has the values of ", Quoted(first->name))});
    }
    return std::nullopt;
  }

  Error Missing(const Move& move, size_t part) const {
    return TransferError(absl::StrCat(LineText(*mapping_, *move.line), " makes ", Quoted(move.targets[0].name), " of ",
                                      Plural(static_cast<int64_t>(move.sources.size()), "tensor"), ", and ",
                                      Quoted(path_), " lacks that which is called `", NameOfPart(move, part), "`"));
  }

  // With its number, where the parts of a tensor are counted.
  static std::string NameOfPart(const Move& move, size_t part) {
    const std::string& counter = move.line->stacked_by;
    if (counter.empty()) return move.line->theirs[part].text();
    return absl::StrReplaceAll(move.line->theirs[0].text(), {{absl::StrCat("{", counter, "}"), absl::StrCat(part)}});
  }

  Error NotTheSame(const Move& move) const {
    return TransferError(absl::StrCat(Quoted(move.copy->name), " does not have the values of ",
                                      Quoted(move.sources[0]->name), ", and by ", LineText(*mapping_, *move.line),
                                      " both are ", Quoted(move.targets[0].name)));
  }

  // Two tensors that would have one name.
  std::optional<Error> CheckTargets() const {
    std::map<std::string, const Move*> by_name;
    for (const Move& move : transfer_.moves) {
      for (const OutputTensor& target : move.targets) {
        const auto [found, is_first] = by_name.emplace(target.name, &move);
        if (is_first) continue;
        return TransferError(absl::StrCat(Quoted(found->second->sources[0]->name), " and ",
                                          Quoted(move.sources[0]->name), " would both be called ",
                                          Quoted(target.name)));
      }
    }
    return std::nullopt;
  }

  const std::string& SourceSide(const MappingLine& line) const {
    return is_import_ ? line.theirs[0].text() : line.ours->text();
  }

  Error NothingMatches() const {
    std::vector<std::string> names;
    for (const WeightTensor& tensor : tensors_) {
      if (names.size() < 3) names.push_back(ShownName(tensor.name));
    }
    std::string expected;
    for (const MappingLine& line : mapping_->lines) {
      if (line.ours.has_value() && expected.empty())
        expected = absl::StrCat("; it has names like `", SourceSide(line), "`");
    }
    return TransferError(absl::StrCat(
        mapping_->name, " fits no tensor of ", Quoted(path_),
        names.empty() ? ", which has none" : absl::StrCat(", which has ", QuotedList(names, "and")), expected));
  }

  // Those that the name in this project has.
  static NameParts PartsOf(const MappingLine& line, NameParts parts) {
    parts.erase(line.stacked_by);
    return parts;
  }

  // Lines whose names here begin alike and have the same names in braces are of the same layers.
  static std::pair<std::string, std::set<std::string>> LayersOf(const MappingLine& line) {
    const std::string& text = line.ours->text();
    return {text.substr(0, text.find('{')), line.ours->Names()};
  }

  // What lines describe and no tensor is: lines without any, and the layers that only others have.
  void FindMissing() {
    std::map<std::pair<std::string, std::set<std::string>>, std::set<NameParts>> layers;
    for (const MappingLine& line : mapping_->lines) {
      if (!line.ours.has_value()) continue;
      const std::set<NameParts>& used = used_lines_[line.number];
      layers[LayersOf(line)].insert(used.begin(), used.end());
    }
    std::vector<std::string> unused;
    for (const MappingLine& line : mapping_->lines) {
      if (!line.ours.has_value()) continue;
      const std::set<NameParts>& used = used_lines_[line.number];
      const std::string theirs = absl::StrCat("`", SourceSide(line), "` (line ", line.number, ")");
      if (used.empty()) {
        unused.push_back(theirs);
        if (line.is_optional) continue;
        ++transfer_.unused_lines;
        transfer_.missing.push_back(theirs);
        continue;
      }
      for (const NameParts& parts : layers.at(LayersOf(line))) {
        if (line.is_optional || used.count(parts) > 0) continue;
        transfer_.missing.push_back(absl::StrCat(theirs, ", for ", Quoted(line.ours->Fill(parts))));
      }
    }
    if (!unused.empty()) transfer_.notes.push_back(absl::StrCat("no tensor is called ", absl::StrJoin(unused, " or ")));
  }

  const std::string& path_;
  const std::vector<WeightTensor>& tensors_;
  const Mapping* const mapping_;
  const bool is_import_;
  Transfer transfer_;
  std::map<std::string, size_t> by_target_;        // Moves of an import.
  std::map<int, std::set<NameParts>> used_lines_;  // With the parts of the names in this project.
};

// What the tensor of a Move in this project is there.
std::optional<Error> RunExport(const WeightSource& source, const Move& move, int64_t heads, size_t first_target,
                               WeightOutput& output) {
  std::vector<float> values;
  if (auto error = source.Read(*move.sources[0], values)) return error;
  if (move.line == nullptr) return output.Write(first_target, values);
  if (move.line->is_qkv) values = Swapped(values, heads, 3);
  const std::vector<int64_t>& shape = move.targets[0].shape;
  const int64_t count = ValueCount(shape);
  for (size_t part = 0; part < move.targets.size(); ++part) {
    std::vector<float> piece;
    if (move.targets.size() == 1) {
      piece = std::move(values);
      piece.resize(static_cast<size_t>(count));
    } else {
      const auto begin = values.begin() + static_cast<int64_t>(part) * count;
      piece.assign(begin, begin + count);
    }
    if (move.line->is_transposed) piece = Transposed(piece, shape[1], shape[0]);
    if (auto error = output.Write(first_target + part, piece)) return error;
  }
  return std::nullopt;
}

std::optional<Error> CheckCopy(const WeightSource& source, const Move& move, const std::vector<float>& values) {
  std::vector<float> copy;
  if (auto error = source.Read(*move.copy, copy)) return error;
  if (values.empty() || std::memcmp(values.data(), copy.data(), values.size() * sizeof(float)) == 0)
    return std::nullopt;
  return TransferError(absl::StrCat(Quoted(move.copy->name), " does not have the values of ",
                                    Quoted(move.sources[0]->name), ", and by line ", move.line->number,
                                    " of the mapping both are ", Quoted(move.targets[0].name)));
}

std::optional<Error> RunImport(const WeightSource& source, const Move& move, int64_t heads, size_t target,
                               WeightOutput& output) {
  std::vector<float> values;
  for (const WeightTensor* const part : move.sources) {
    std::vector<float> piece;
    if (auto error = source.Read(*part, piece)) return error;
    if (move.line != nullptr && move.line->is_transposed) piece = Transposed(piece, part->shape[0], part->shape[1]);
    if (move.copy != nullptr) {
      if (auto error = CheckCopy(source, move, piece)) return error;
    }
    if (values.empty()) {
      values = std::move(piece);
    } else {
      values.insert(values.end(), piece.begin(), piece.end());
    }
  }
  if (move.line != nullptr && move.line->is_qkv) values = Swapped(values, 3, heads);
  return output.Write(target, values);
}

std::string HowText(const Transfer& transfer, const Move& move) {
  if (move.line == nullptr) return transfer.mapping_name.empty() ? "" : "no line of the mapping: keeps its name";
  std::vector<std::string> words;
  if (move.line->is_transposed) words.push_back("transposed");
  if (move.line->is_qkv) words.push_back("qkv");
  if (!move.line->stacked_by.empty()) words.push_back("stacked");
  const OutputTensor& target = move.targets[0];
  const bool is_export = transfer.options.direction == Direction::kExport;
  if (is_export && move.line->is_vocabulary) {
    const int64_t rows = target.shape[move.line->is_transposed ? 1 : 0];
    if (rows < move.shape[0]) words.push_back(absl::StrCat("without the last ", Plural(move.shape[0] - rows, "row")));
  }
  return absl::StrJoin(words, ", ");
}

}  // namespace

std::string IncompleteText(const std::string& path, const Transfer& transfer) {
  std::vector<std::string> lines;
  for (const std::string& missing : transfer.missing) lines.push_back(absl::StrCat("  missing: ", missing));
  for (const WeightTensor* const tensor : transfer.unmatched) {
    lines.push_back(absl::StrCat("  not described: ", Shown(*tensor)));
  }
  if (lines.empty()) return "";
  constexpr size_t kMostLines = 40;
  if (lines.size() > kMostLines) {
    const size_t more = lines.size() - kMostLines;
    lines.resize(kMostLines);
    lines.push_back(absl::StrCat("  … and ", more, " more"));
  }
  return absl::StrCat(Quoted(path), " is not what ", transfer.mapping_name,
                      " describes, and nothing is written; `--partial` takes what is there\n",
                      absl::StrJoin(lines, "\n"));
}

Result<Transfer> PlanTransfer(const std::string& path, const std::vector<WeightTensor>& tensors, const Mapping* mapping,
                              const TransferOptions& options) {
  return Planner(path, tensors, mapping, options).Plan();
}

std::optional<Error> RunTransfer(const WeightSource& source, const Transfer& transfer, const std::string& target,
                                 const OutputOptions& options) {
  std::vector<OutputTensor> tensors;
  for (const Move& move : transfer.moves) tensors.insert(tensors.end(), move.targets.begin(), move.targets.end());
  Result<WeightOutput> output = WeightOutput::Create(target, tensors, options);
  if (!output.ok()) return output.error();
  size_t next = 0;
  for (const Move& move : transfer.moves) {
    const auto run = transfer.options.direction == Direction::kExport ? RunExport : RunImport;
    if (auto error = run(source, move, transfer.options.heads, next, output.value())) return error;
    next += move.targets.size();
  }
  return output.value().Finish();
}

std::string TransferText(const Transfer& transfer, WeightType type) {
  TextTable table({"tensor", "shape", "becomes", "shape", ""});
  int64_t tensors = 0, values = 0;
  for (const Move& move : transfer.moves) {
    const size_t rows = std::max(move.sources.size(), move.targets.size());
    for (size_t i = 0; i < rows; ++i) {
      const bool has_source = i < move.sources.size(), has_target = i < move.targets.size();
      table.Add({has_source ? ShownName(move.sources[i]->name) : "",
                 has_source ? ShapeText(move.sources[i]->shape) : "", has_target ? ShownName(move.targets[i].name) : "",
                 has_target ? ShapeText(move.targets[i].shape) : "", i == 0 ? HowText(transfer, move) : ""});
    }
    for (const OutputTensor& target : move.targets) {
      ++tensors;
      values += ValueCount(target.shape);
    }
  }
  for (const LeftOut& left_out : transfer.left_out) {
    table.Add({ShownName(left_out.tensor->name), ShapeText(left_out.tensor->shape), "-", "", left_out.reason});
  }
  std::string text = table.Text();
  for (const std::string& note : transfer.notes) absl::StrAppend(&text, note, "\n");
  absl::StrAppend(&text, Plural(tensors, "tensor"), ", ", FormatCount(values), " values, ",
                  FormatCount(values * BytesOf(type)), " bytes\n");
  return text;
}

}  // namespace cleave::tools

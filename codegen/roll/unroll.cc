#include "codegen/roll/unroll.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"

namespace cleave::codegen {
namespace {

// Runs a rolled program, which it trusts in nothing.
class Runner {
 public:
  Runner(const RolledProgram& rolled, const std::vector<std::vector<Statement>>& lists, int64_t micro_batches,
         const std::function<Buffer(int)>& buffer_of)
      : rolled_(rolled), lists_(lists), micro_batches_(micro_batches), buffer_of_(buffer_of) {}

  absl::StatusOr<std::vector<Invocation>> Run(size_t list) {
    invocations_.clear();
    for (const RolledItem& item : rolled_.lists[list]) {
      CLEAVE_RETURN_IF_ERROR(Match(
          item, [&](int place) { return RunStatement(list, place); },
          [&](const BodyLoop& loop) { return RunLoop(loop); }));
    }
    return std::move(invocations_);
  }

  // What a statement does that stands alone, without anything that is said once.
  Invocation Direct(const Statement& statement) {
    Invocation invocation{.shape = statement.shape, .kinds = {}, .places = {}, .names = {}};
    for (const int buffer : statement.buffers) AddPlace(PlaceOf(buffer), invocation);
    for (const Statement::Name& name : statement.names) invocation.names.emplace_back(name.text, name.line);
    return invocation;
  }

 private:
  const Place& PlaceOf(int buffer) {
    const auto found = places_.find(buffer);
    return found != places_.end() ? found->second : places_.emplace(buffer, buffer_of_(buffer).place).first->second;
  }

  void AddPlace(const Place& place, Invocation& invocation) const {
    invocation.kinds.push_back(place.kind);
    std::vector<int64_t>& by_micro_batch = invocation.places.emplace_back();
    // Where it lies in one place, one number says so.
    const int64_t count = place.stride == 0 ? 1 : micro_batches_;
    for (int64_t m = 0; m < count; ++m) by_micro_batch.push_back(place.At(m));
  }

  absl::Status AddField(size_t g, size_t f, int64_t layer, Invocation& invocation) const {
    if (g >= rolled_.groups.size() || f >= rolled_.groups[g].fields.size()) return absl::InternalError("no such field");
    const LayerGroup& group = rolled_.groups[g];
    const LayerField& field = group.fields[f];
    if (layer < group.first || layer > group.last() || (layer - group.first) % group.step != 0) {
      return absl::InternalError(absl::StrCat("layer ", layer, " of ", group.prefix, " is none"));
    }
    const int64_t index = group.IndexOf(layer);
    for (const auto* form : {&field.begin, field.pieces.has_value() ? &*field.pieces : nullptr,
                             field.stride.has_value() ? &*field.stride : nullptr}) {
      if (form == nullptr || (index >= form->least && index <= form->greatest)) continue;
      return absl::InternalError(absl::StrCat("layer ", layer, " of ", group.prefix, " has no `", field.name, "`"));
    }
    const int64_t stride = field.stride.has_value() ? field.stride->At(index) : 0;
    invocation.kinds.push_back(field.kind);
    std::vector<int64_t>& by_micro_batch = invocation.places.emplace_back();
    for (int64_t m = 0; m < (stride == 0 ? 1 : micro_batches_); ++m) {
      int64_t piece = m % group.slots;
      if (field.pieces.has_value()) {
        const int64_t pieces = field.pieces->At(index);
        if (pieces <= 0) return absl::InternalError(absl::StrCat("`", field.name, "` has ", pieces, " pieces"));
        piece %= pieces;
      }
      by_micro_batch.push_back(field.begin.At(index) + piece * stride);
    }
    return absl::OkStatus();
  }

  // A buffer that is named as it is outside of layers.
  absl::Status AddBuffer(int buffer, Invocation& invocation) {
    const auto owner = rolled_.owners.find(buffer);
    if (owner != rolled_.owners.end()) {
      return AddField(owner->second.group, owner->second.field, owner->second.layer, invocation);
    }
    AddPlace(PlaceOf(buffer), invocation);
    return absl::OkStatus();
  }

  absl::Status RunStatement(size_t list, int place) {
    if (place < 0 || static_cast<size_t>(place) >= lists_[list].size()) return absl::InternalError("no such statement");
    const Statement& statement = lists_[list][static_cast<size_t>(place)];
    Invocation invocation{.shape = statement.shape, .kinds = {}, .places = {}, .names = {}};
    for (const int buffer : statement.buffers) CLEAVE_RETURN_IF_ERROR(AddBuffer(buffer, invocation));
    for (const Statement::Name& name : statement.names) invocation.names.emplace_back(name.text, name.line);
    invocations_.push_back(std::move(invocation));
    return absl::OkStatus();
  }

  absl::Status RunLoop(const BodyLoop& loop) {
    for (int64_t pass = 0; pass < loop.passes; ++pass) {
      for (const BodyCall& call : loop.calls) {
        if (call.body >= rolled_.bodies.size()) return absl::InternalError("no such body");
        CLEAVE_RETURN_IF_ERROR(RunBody(rolled_.bodies[call.body], call.layer + pass * loop.distance));
      }
    }
    return absl::OkStatus();
  }

  absl::Status RunBody(const LayerBody& body, int64_t layer) {
    const std::vector<Statement>& list = lists_[static_cast<size_t>(body.list)];
    const int begin = body.occurrences[body.model()].begin;
    for (int i = 0; i < body.period; ++i) {
      const Statement& statement = list[static_cast<size_t>(begin + i)];
      const std::vector<int>& fields = body.fields[static_cast<size_t>(i)];
      const std::vector<NameForm>& names = body.names[static_cast<size_t>(i)];
      if (fields.size() != statement.buffers.size() || names.size() != statement.names.size()) {
        return absl::InternalError("a statement of a body has other references than its model");
      }
      Invocation invocation{.shape = statement.shape, .kinds = {}, .places = {}, .names = {}};
      for (size_t slot = 0; slot < fields.size(); ++slot) {
        CLEAVE_RETURN_IF_ERROR(fields[slot] < 0
                                   ? AddBuffer(statement.buffers[slot], invocation)
                                   : AddField(body.group, static_cast<size_t>(fields[slot]), layer, invocation));
      }
      for (const NameForm& name : names) invocation.names.emplace_back(name.NameAt(layer), name.LineAt(layer));
      invocations_.push_back(std::move(invocation));
    }
    return absl::OkStatus();
  }

  const RolledProgram& rolled_;
  const std::vector<std::vector<Statement>>& lists_;
  const int64_t micro_batches_;
  const std::function<Buffer(int)>& buffer_of_;
  std::map<int, Place> places_;  // Of the buffers asked for so far.
  std::vector<Invocation> invocations_;
};

// What differs between two invocations, in words.
std::string Difference(const Invocation& rolled, const Invocation& direct) {
  if (rolled.shape != direct.shape) return absl::StrCat("does `", rolled.shape, "` instead of `", direct.shape, "`");
  for (size_t i = 0; i < std::min(rolled.names.size(), direct.names.size()); ++i) {
    if (rolled.names[i] == direct.names[i]) continue;
    return absl::StrCat("is called `", rolled.names[i].first, "` of line ", rolled.names[i].second, " instead of `",
                        direct.names[i].first, "` of line ", direct.names[i].second);
  }
  for (size_t i = 0; i < std::min(rolled.places.size(), direct.places.size()); ++i) {
    if (rolled.places[i] == direct.places[i]) continue;
    return absl::StrCat("has its buffer ", i, " at ", absl::StrJoin(rolled.places[i], ", "), " instead of ",
                        absl::StrJoin(direct.places[i], ", "));
  }
  return "refers to other memory";
}

}  // namespace

absl::StatusOr<std::vector<Invocation>> Unroll(const RolledProgram& rolled, size_t list,
                                               const std::vector<std::vector<Statement>>& lists, int64_t micro_batches,
                                               const std::function<Buffer(int buffer)>& buffer_of) {
  return Runner(rolled, lists, micro_batches, buffer_of).Run(list);
}

absl::Status CheckUnrolled(const RolledProgram& rolled, const std::vector<std::vector<Statement>>& lists,
                           int64_t micro_batches, const std::function<Buffer(int buffer)>& buffer_of) {
  Runner runner(rolled, lists, micro_batches, buffer_of);
  if (rolled.lists.size() != lists.size()) return absl::InternalError("another number of functions");
  for (size_t list = 0; list < lists.size(); ++list) {
    CLEAVE_ASSIGN_OR_RETURN(const std::vector<Invocation> invocations, runner.Run(list));
    for (size_t i = 0; i < lists[list].size(); ++i) {
      const Invocation direct = runner.Direct(lists[list][i]);
      const std::string name = direct.names.empty() ? "" : absl::StrCat(" (`", direct.names.front().first, "`)");
      if (i >= invocations.size()) {
        return absl::InternalError(absl::StrCat("statement ", i, name, " of list ", list, " is not said"));
      }
      if (invocations[i] == direct) continue;
      return absl::InternalError(
          absl::StrCat("statement ", i, name, " of list ", list, " ", Difference(invocations[i], direct)));
    }
    if (invocations.size() > lists[list].size()) {
      return absl::InternalError(absl::StrCat("list ", list, " says more than its statements"));
    }
  }
  return absl::OkStatus();
}

}  // namespace cleave::codegen

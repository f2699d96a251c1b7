#include "frontend/manual/mailbox.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::frontend {
namespace {

constexpr char kEndless[] = "ranks would wait for each other without end";

std::string Someone(int64_t rank) { return rank < 0 ? "nobody" : absl::StrCat("rank ", rank); }

int64_t At(const std::vector<int64_t>& table, int64_t rank) { return table[static_cast<size_t>(rank)]; }

// The call that was probably meant: the last one with the tag, else the last one.
template <typename Call>
const Call* LastWith(const std::vector<Call>& calls, int64_t tag) {
  const Call* found = nullptr;
  for (const Call& call : calls) {
    if (found == nullptr || call.tag == tag || found->tag != tag) found = &call;
  }
  return found;
}

std::string WithTag(std::string text, int64_t tag, int64_t expected) {
  return tag == expected ? text : absl::StrCat(text, ", with tag ", tag);
}

Diagnostic TwoSends(const ReceiveCall& call, int64_t rank, const SendCall& first, const SendCall& second) {
  return Error(Code::kE0705, "ranks receive what two calls of `send` sent")
      .At(call.span, absl::StrCat("on rank ", rank, " this is another message than on the ranks before"))
      .At(second.span, absl::StrCat("rank ", rank, " gets this one"))
      .At(first.span, "the ranks before get this one")
      .Note(
          "a call of `recv` takes what one call of `send` sends; the k-th message from a rank with a tag is the k-th "
          "that it sent")
      .Help("give the two messages tags of their own: `tag = 1`");
}

Diagnostic NotReceivedHere(const ReceiveCall& call, const SendCall& send, int64_t from, int64_t to) {
  return Error(Code::kE0705, absl::StrCat("rank ", to, " does not receive what rank ", from, " sends"))
      .At(call.span, absl::StrCat("rank ", to, " receives from ", Someone(At(call.from, to)), " here"))
      .At(send.span, absl::StrCat("rank ", from, " sends to rank ", to, " here"))
      .Note("all messages of one call of `send` are received by one call of `recv`");
}

}  // namespace

void Mailbox::Send(SendCall call) {
  for (int64_t rank = 0; rank < static_cast<int64_t>(call.to.size()); ++rank) {
    if (At(call.to, rank) >= 0) waiting_[{rank, At(call.to, rank), call.tag}].push_back(sends_.size());
  }
  sends_.push_back(std::move(call));
}

Diagnostic Mailbox::NeverSent(const ReceiveCall& call, int64_t rank) const {
  const int64_t from = At(call.from, rank);
  Diagnostic error =
      Error(Code::kE0705, absl::StrCat("rank ", rank, " waits for a message of rank ", from, ", which sends none"))
          .At(call.span, absl::StrCat("rank ", rank, " receives from rank ", from, " here"));
  if (const SendCall* send = LastWith(sends_, call.tag)) {
    const std::string text = absl::StrCat("rank ", from, " sends to ", Someone(At(send->to, from)), " here");
    error.labels.push_back({send->span, WithTag(text, send->tag, call.tag)});
  } else {
    error.help.push_back("write the `send` before the `recv`");
  }
  return std::move(error).Note(kEndless);
}

Delivery Mailbox::Receive(ReceiveCall call) {
  receives_.push_back(call);
  std::optional<size_t> chosen;
  for (int64_t rank = 0; rank < static_cast<int64_t>(call.from.size()); ++rank) {
    if (At(call.from, rank) < 0) continue;
    std::deque<size_t>& queue = waiting_[{At(call.from, rank), rank, call.tag}];
    if (queue.empty()) return {.send = std::nullopt, .mistake = NeverSent(call, rank)};
    if (chosen && *chosen != queue.front()) {
      return {.send = std::nullopt, .mistake = TwoSends(call, rank, sends_[*chosen], sends_[queue.front()])};
    }
    chosen = queue.front();
    queue.pop_front();
  }
  if (!chosen) return {};
  const SendCall& send = sends_[*chosen];
  for (int64_t rank = 0; rank < static_cast<int64_t>(send.to.size()); ++rank) {
    const int64_t to = At(send.to, rank);
    if (to >= 0 && At(call.from, to) != rank) {
      return {.send = std::nullopt, .mistake = NotReceivedHere(call, send, rank, to)};
    }
  }
  return {.send = send, .mistake = std::nullopt};
}

std::vector<Diagnostic> Mailbox::Unreceived() const {
  std::map<size_t, Route> lost;  // For each send the first lost message.
  for (const auto& [route, queue] : waiting_) {
    for (const size_t send : queue) lost.try_emplace(send, route);
  }
  std::vector<Diagnostic> errors;
  for (const auto& [index, route] : lost) {
    const auto [from, to, tag] = route;
    Diagnostic error =
        Error(Code::kE0705, absl::StrCat("rank ", from, " sends to rank ", to, ", which never receives it"))
            .At(sends_[index].span, absl::StrCat("rank ", from, " sends to rank ", to, " here"));
    if (const ReceiveCall* call = LastWith(receives_, tag)) {
      const std::string text = absl::StrCat("rank ", to, " receives from ", Someone(At(call->from, to)), " here");
      error.labels.push_back({call->span, WithTag(text, call->tag, tag)});
    }
    errors.push_back(std::move(error).Note(kEndless).Help("`-1` sends to nobody and receives from nobody"));
  }
  return errors;
}

}  // namespace cleave::frontend

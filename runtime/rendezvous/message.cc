#include "runtime/rendezvous/message.h"

#include <utility>

#include "runtime/placement/number.h"

namespace cleave::runtime {
namespace {

using Fields = std::vector<std::string>;

// Messages begin with it: other programs that may listen on a port, or talk to one, begin with something else.
constexpr uint32_t kFirstKind = 0x434c4531;

constexpr size_t kLongestName = 255;

std::string Text(int number) { return number < 0 ? "" : std::to_string(number); }

// A whole number from 0 to `most`.
bool IsNumber(const std::string& text, int most, int& number) {
  const std::optional<int> read = WholeNumber(text);
  if (!read.has_value() || *read > most) return false;
  number = *read;
  return true;
}

Fields Write(const Hello&) { return {}; }
Fields Write(const JoinRequest& join) {
  return {Text(join.rank.value_or(-1)), Text(join.ranks), Text(join.local_rank), join.host, join.secret};
}
Fields Write(const Welcome& welcome) {
  Fields fields = {Text(welcome.rank)};
  fields.insert(fields.end(), welcome.hosts.begin(), welcome.hosts.end());
  return fields;
}
Fields Write(const Offer& offer) { return {offer.text}; }
Fields Write(const Offers& offers) { return offers.texts; }
Fields Write(const Question&) { return {}; }
Fields Write(const Answer& answer) { return {answer.text}; }
Fields Write(const Answers& answers) { return answers.texts; }
Fields Write(const Departure&) { return {}; }
Fields Write(const Goodbye&) { return {}; }
Fields Write(const End& end) { return {Text(static_cast<int>(end.code)), end.message}; }

bool Read(Fields& fields, Hello&) { return fields.empty(); }

bool Read(Fields& fields, JoinRequest& join) {
  if (fields.size() != 5) return false;
  int rank = 0;
  if (!IsNumber(fields[1], kMostRanks, join.ranks) || join.ranks < 1) return false;
  if (!fields[0].empty() && !IsNumber(fields[0], join.ranks - 1, rank)) return false;
  if (!fields[0].empty()) join.rank = rank;
  if (!fields[2].empty() && !IsNumber(fields[2], kMostRanks, join.local_rank)) return false;
  if (fields[3].empty() || fields[3].size() > kLongestName) return false;
  join.host = Printable(fields[3]);
  join.secret = std::move(fields[4]);
  return true;
}

bool Read(Fields& fields, Welcome& welcome) {
  if (fields.size() < 2 || !IsNumber(fields[0], static_cast<int>(fields.size()) - 2, welcome.rank)) return false;
  for (size_t i = 1; i < fields.size(); ++i) welcome.hosts.push_back(Printable(fields[i]));
  return true;
}

bool ReadText(Fields& fields, std::string& text) {
  if (fields.size() != 1) return false;
  text = std::move(fields[0]);
  return true;
}

bool Read(Fields& fields, Offer& offer) { return ReadText(fields, offer.text); }
bool Read(Fields& fields, Offers& offers) {
  offers.texts = std::move(fields);
  return !offers.texts.empty();
}
bool Read(Fields& fields, Question&) { return fields.empty(); }
bool Read(Fields& fields, Answer& answer) {
  if (!ReadText(fields, answer.text)) return false;
  answer.text = Printable(answer.text);
  return true;
}
bool Read(Fields& fields, Answers& answers) {
  for (const std::string& field : fields) answers.texts.push_back(Printable(field));
  return !answers.texts.empty();
}
bool Read(Fields& fields, Departure&) { return fields.empty(); }
bool Read(Fields& fields, Goodbye&) { return fields.empty(); }

bool Read(Fields& fields, End& end) {
  int code = 0;
  if (fields.size() != 2 || !IsNumber(fields[0], 255, code)) return false;
  end.message = Printable(fields[1]);
  end.code = static_cast<ExitCode>(code);
  for (const ExitCode known : {ExitCode::kUsage, ExitCode::kInput, ExitCode::kEnvironment, ExitCode::kFailed}) {
    if (end.code == known) return true;
  }
  return false;
}

// Reads the packet as alternative number `kIndex` of Message, or as a later one.
template <size_t kIndex = 0>
std::optional<Message> ReadAs(size_t index, Fields& fields) {
  if constexpr (kIndex < std::variant_size_v<Message>) {
    if (index != kIndex) return ReadAs<kIndex + 1>(index, fields);
    std::variant_alternative_t<kIndex, Message> message;
    if (Read(fields, message)) return Message(std::move(message));
  }
  return std::nullopt;
}

}  // namespace

Packet PacketOf(const Message& message) {
  const uint32_t kind = kFirstKind + static_cast<uint32_t>(message.index());
  return {kind, std::visit([](const auto& one) { return Write(one); }, message)};
}

std::optional<Message> MessageOf(Packet packet) { return ReadAs(packet.kind - kFirstKind, packet.fields); }

std::string Printable(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const int byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown += Format("\\x%02x", byte);
    }
  }
  return shown;
}

}  // namespace cleave::runtime

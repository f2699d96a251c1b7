// What strangers send to a meeting point: it must not break it, and must not end the job.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"
#include "runtime/rendezvous/meeting.h"
#include "runtime/rendezvous/membership.h"
#include "runtime/rendezvous/message.h"
#include "runtime/rendezvous/socket.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr int kPackets = 100000;
constexpr int kPacketsOfConnection = 10;
constexpr char kSecret[] = "the secret of this job";

using Random = std::mt19937;

// A number that a field might have: small, at a limit, beyond all, or none.
std::string AnyNumber(Random& random) {
  static const char* const kNumbers[] = {"",        "0",          "1",          "2",   "3",    "4",  "-1", "1048576",
                                         "1048577", "2000000000", "4294967296", "1e3", "0x10", " 1", "1 ", "nan"};
  return kNumbers[random() % std::size(kNumbers)];
}

std::string AnyText(Random& random) {
  std::string text(random() % 8 == 0 ? random() % 600 : random() % 12, '\0');
  for (char& c : text) c = static_cast<char>(random());
  // Never the secret: who knows it may end the job.
  return random() % 4 == 0 ? std::string(kSecret, random() % (sizeof kSecret - 1)) : text;
}

// A packet of any kind, which often has as many fields as that kind has.
Packet AnyPacket(Random& random) {
  static const Message kMessages[] = {Hello{},
                                      JoinRequest{0, 4, 0, "host", ""},
                                      Welcome{0, {"host"}},
                                      Offer{"x"},
                                      Offers{{}},
                                      Question{},
                                      Answer{"y"},
                                      Answers{{}},
                                      Departure{},
                                      Goodbye{},
                                      End{}};
  Packet packet = PacketOf(kMessages[random() % 3 == 0 ? random() % std::size(kMessages) : 1]);
  for (std::string& field : packet.fields) {
    if (random() % 3 == 0) field = random() % 2 == 0 ? AnyNumber(random) : AnyText(random);
  }
  while (random() % 8 == 0) packet.fields.push_back(AnyText(random));
  if (random() % 8 == 0 && !packet.fields.empty()) packet.fields.pop_back();
  if (random() % 16 == 0) packet.kind = static_cast<uint32_t>(random());
  return packet;
}

void AppendNumber(size_t number, std::string& bytes) {
  const uint32_t in_order = htonl(static_cast<uint32_t>(number));
  bytes.append(reinterpret_cast<const char*>(&in_order), sizeof in_order);
}

std::string BytesOf(const Packet& packet) {
  std::string body;
  AppendNumber(packet.kind, body);
  for (const std::string& field : packet.fields) {
    AppendNumber(field.size(), body);
    body += field;
  }
  std::string bytes;
  AppendNumber(body.size(), bytes);
  return bytes + body;
}

std::string AnyBytes(Random& random) {
  std::string bytes = BytesOf(AnyPacket(random));
  while (random() % 4 == 0) bytes[random() % bytes.size()] = static_cast<char>(random());
  if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
  return bytes;
}

// Whether a message is what its type promises, for what a meeting point takes.
bool KeepsItsPromise(const JoinRequest& join) {
  return join.ranks >= 1 && join.ranks <= kMostRanks && join.rank.value_or(0) >= 0 &&
         join.rank.value_or(0) < join.ranks && join.local_rank >= -1 && join.local_rank <= kMostRanks &&
         !join.host.empty() && join.host == Printable(join.host);
}

TEST(Strangers, APacketBecomesAMessageOnlyIfItsFieldsAreInTheirRanges) {
  Random random(1);
  int joins = 0;
  for (int i = 0; i < kPackets; ++i) {
    const std::optional<Message> message = MessageOf(AnyPacket(random));
    if (!message.has_value()) continue;
    if (const auto* join = std::get_if<JoinRequest>(&*message)) {
      ASSERT_TRUE(KeepsItsPromise(*join)) << "packet " << i;
      ++joins;
    }
    if (const auto* welcome = std::get_if<Welcome>(&*message)) {
      ASSERT_LT(static_cast<size_t>(welcome->rank), welcome->hosts.size());
    }
  }
  EXPECT_GT(joins, kPackets / 100);
  EXPECT_FALSE(MessageOf(PacketOf(JoinRequest{2000000000, 4, 0, "host", ""})).has_value());
  EXPECT_FALSE(MessageOf(PacketOf(JoinRequest{4, 4, 0, "host", ""})).has_value());
  EXPECT_FALSE(MessageOf(PacketOf(JoinRequest{0, kMostRanks + 1, 0, "host", ""})).has_value());
  EXPECT_FALSE(MessageOf(PacketOf(JoinRequest{0, 4, 0, "", ""})).has_value());
  EXPECT_FALSE(MessageOf(PacketOf(Welcome{2, {"a", "b"}})).has_value());
}

TEST(Strangers, NamesArePrintable) {
  EXPECT_EQ(Printable("node-1\x1b[2J\n\xc2\x9b"), "node-1\\x1b[2J\\x0a\\xc2\\x9b");
  const std::optional<Message> join = MessageOf(PacketOf(JoinRequest{0, 4, 0, "\x1b]0;x\a", ""}));
  ASSERT_TRUE(join.has_value());
  EXPECT_EQ(std::get<JoinRequest>(*join).host, "\\x1b]0;x\\x07");
}

// Sends some packets on one connection, as long as the other side takes them.
void Annoy(const Address& address, Random& random) {
  const Result<Socket> socket = Connect(address, Now() + 20);
  ASSERT_TRUE(socket.ok()) << socket.error().message;
  std::string bytes;
  for (int i = 0; i < kPacketsOfConnection; ++i) bytes += AnyBytes(random);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket.value().descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    pollfd wait = {socket.value().descriptor(), POLLOUT, 0};
    if (errno != EAGAIN || poll(&wait, 1, 20000) <= 0) return;
  }
}

Placement PlacementOf(int local_rank, const Address& meeting) {
  Placement placement;
  placement.local_rank = local_rank;
  placement.meeting = meeting;
  placement.has_scheduler = true;
  return placement;
}

// A job of four ranks, of which three meet before and one after the strangers have come.
TEST(Strangers, AJobWithASecretTakesPlaceAmongThem) {
  testing::internal::CaptureStderr();
  Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"127.0.0.1", 0}, {4, 120, true, {}, kSecret});
  ASSERT_TRUE(meeting.ok());
  const Address address = meeting.value()->address();
  std::future<MeetingEnd> end = std::async(std::launch::async, [&] { return meeting.value()->Run(); });
  const auto join = [&](int local_rank) {
    Result<std::unique_ptr<Membership>> joined = Membership::Join(PlacementOf(local_rank, address), {4, 120, kSecret});
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    joined.value()->Watch([](const Error& error) { ADD_FAILURE() << error.message; }, [] { return ""; });
    const Result<std::vector<std::string>> all = joined.value()->Exchange(std::to_string(local_rank));
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all.value(), (std::vector<std::string>{"0", "1", "2", "3"}));
    EXPECT_EQ(joined.value()->Leave(), std::nullopt);
  };
  std::vector<std::thread> ranks;
  for (int local_rank = 0; local_rank < 3; ++local_rank) ranks.emplace_back(join, local_rank);
  Random random(2);
  for (int sent = 0; sent < kPackets; sent += kPacketsOfConnection) Annoy(address, random);
  ranks.emplace_back(join, 3);
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(end.get().code, ExitCode::kDone);
  // Each is told why, and the log does not grow with them.
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("was turned away from this job"), std::string::npos) << log;
  EXPECT_LT(log.size(), 4000u);
}

// Without a secret as well, as long as they do not say that they are ranks of this job.
TEST(Strangers, ARankOfAnotherJobIsToldAndTheJobGoesOn) {
  for (const char* secret : {"", kSecret}) {
    SCOPED_TRACE(secret);
    Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"127.0.0.1", 0}, {2, 120, true, {}, secret});
    ASSERT_TRUE(meeting.ok());
    const Address address = meeting.value()->address();
    std::future<MeetingEnd> end = std::async(std::launch::async, [&] { return meeting.value()->Run(); });
    const Result<std::unique_ptr<Membership>> other = Membership::Join(PlacementOf(0, address), {3, 20, ""});
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, ExitCode::kInput);
    const std::string why = *secret == '\0' ? "a program with a plan for 3 ranks joined from host "
                                            : "its CLEAVE_SECRET is not the one of this job";
    EXPECT_NE(other.error().message.find("turned away by the job that meets at " + ToString(address) + ": " + why),
              std::string::npos)
        << other.error().message;
    std::vector<std::thread> ranks;
    for (const int local_rank : {0, 1}) {
      ranks.emplace_back([&, local_rank] {
        Result<std::unique_ptr<Membership>> joined =
            Membership::Join(PlacementOf(local_rank, address), {2, 120, secret});
        ASSERT_TRUE(joined.ok()) << joined.error().message;
        joined.value()->Watch([](const Error& error) { ADD_FAILURE() << error.message; }, [] { return ""; });
        EXPECT_EQ(joined.value()->Leave(), std::nullopt);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(end.get().code, ExitCode::kDone);
  }
}

TEST(Strangers, AMeetingPointThatOthersReachSaysSo) {
  for (const auto& [host, secret, notes] :
       {std::tuple("0.0.0.0", "", 1), {"0.0.0.0", kSecret, 0}, {"127.0.0.1", "", 0}}) {
    testing::internal::CaptureStderr();
    Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({host, 0}, {1, 0.01, true, {}, secret});
    ASSERT_TRUE(meeting.ok());
    EXPECT_EQ(meeting.value()->Run().code, ExitCode::kFailed);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("can join this job and end it: set CLEAVE_SECRET") != std::string::npos, notes == 1) << log;
  }
}

// More connections that say nothing than a meeting point keeps.
TEST(Strangers, IdleConnectionsMakePlaceForRanks) {
  Result<std::unique_ptr<Meeting>> meeting = Meeting::Listen({"127.0.0.1", 0}, {1, 120, true, {}, kSecret});
  ASSERT_TRUE(meeting.ok());
  const Address address = meeting.value()->address();
  std::future<MeetingEnd> end = std::async(std::launch::async, [&] { return meeting.value()->Run(); });
  std::vector<Socket> idle;
  for (int i = 0; i < 200; ++i) {
    Result<Socket> socket = Connect(address, Now() + 20);
    ASSERT_TRUE(socket.ok());
    idle.push_back(std::move(socket.value()));
  }
  Result<std::unique_ptr<Membership>> joined = Membership::Join(PlacementOf(0, address), {1, 120, kSecret});
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  joined.value()->Watch([](const Error& error) { ADD_FAILURE() << error.message; }, [] { return ""; });
  EXPECT_EQ(joined.value()->Leave(), std::nullopt);
  EXPECT_EQ(end.get().code, ExitCode::kDone);
  // The first of them have been closed.
  Inbox inbox;
  while (inbox.state() == Inbox::State::kOpen) {
    ASSERT_TRUE(WaitToReceive(idle.front(), Now() + 20));
    inbox.Receive(idle.front());
  }
  EXPECT_EQ(inbox.state(), Inbox::State::kClosed);
}

}  // namespace
}  // namespace cleave::runtime

// Tests which send a recv gets, and which calls do not match.
#include "frontend/manual/mailbox.h"

#include <gtest/gtest.h>

namespace cleave::frontend {
namespace {

// Calls are distinguished by their values.
SendCall SendOf(int64_t value, std::vector<int64_t> to, int64_t tag = 0) {
  return {.span = {}, .value = ir::OpId(value), .to = std::move(to), .tag = tag};
}

// What a recv gets: the value sent, "zeros", or the mistake.
std::string Get(Mailbox& mailbox, std::vector<int64_t> from, int64_t tag = 0) {
  const Delivery delivery = mailbox.Receive({.span = {}, .from = std::move(from), .tag = tag});
  if (delivery.mistake) return delivery.mistake->message;
  return delivery.send ? std::to_string(delivery.send->value.value()) : "zeros";
}

std::vector<std::string> Lost(const Mailbox& mailbox) {
  std::vector<std::string> messages;
  for (const Diagnostic& error : mailbox.Unreceived()) messages.push_back(error.message);
  return messages;
}

TEST(MailboxTest, ARingMeetsAtOnce) {
  Mailbox mailbox;
  mailbox.Send(SendOf(7, {1, 2, 0}));
  EXPECT_EQ(Get(mailbox, {2, 0, 1}), "7");
  EXPECT_EQ(Lost(mailbox), std::vector<std::string>());
}

TEST(MailboxTest, OrderAndTagsTellMessagesApart) {
  Mailbox mailbox;
  mailbox.Send(SendOf(1, {1, -1}));
  mailbox.Send(SendOf(2, {1, -1}, 5));
  mailbox.Send(SendOf(3, {1, -1}));
  EXPECT_EQ(Get(mailbox, {-1, 0}, 5), "2");
  EXPECT_EQ(Get(mailbox, {-1, 0}), "1");
  EXPECT_EQ(Get(mailbox, {-1, 0}), "3");
  EXPECT_EQ(Get(mailbox, {-1, -1}), "zeros");
  EXPECT_EQ(Lost(mailbox), std::vector<std::string>());
}

TEST(MailboxTest, MistakesNameTheRanks) {
  {
    Mailbox mailbox;
    EXPECT_EQ(Get(mailbox, {-1, 0}), "rank 1 waits for a message of rank 0, which sends none");
  }
  {
    Mailbox mailbox;
    mailbox.Send(SendOf(1, {1, -1}, 3));
    EXPECT_EQ(Get(mailbox, {-1, 0}), "rank 1 waits for a message of rank 0, which sends none");
    EXPECT_EQ(Lost(mailbox), std::vector<std::string>{"rank 0 sends to rank 1, which never receives it"});
  }
  {
    // Rank 2 gets nothing from what rank 1 sends in the same call.
    Mailbox mailbox;
    mailbox.Send(SendOf(1, {1, 2, -1}));
    EXPECT_EQ(Get(mailbox, {-1, 0, -1}), "rank 2 does not receive what rank 1 sends");
  }
  {
    Mailbox mailbox;
    mailbox.Send(SendOf(1, {1, -1, -1}));
    mailbox.Send(SendOf(2, {-1, 2, -1}));
    EXPECT_EQ(Get(mailbox, {-1, 0, 1}), "ranks receive what two calls of `send` sent");
  }
  {
    Mailbox mailbox;
    mailbox.Send(SendOf(1, {1, 0}));
    mailbox.Send(SendOf(2, {-1, -1}));
    EXPECT_EQ(Lost(mailbox), std::vector<std::string>{"rank 0 sends to rank 1, which never receives it"});
  }
}

}  // namespace
}  // namespace cleave::frontend

#include "runtime/placement/node_list.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

TEST(NodeList, TheFirstName) {
  EXPECT_EQ(FirstNode("login"), "login");
  EXPECT_EQ(FirstNode("a,b"), "a");
  EXPECT_EQ(FirstNode("node[01-04,7]"), "node01");
  EXPECT_EQ(FirstNode("node[9-11].lab,x"), "node9.lab");
  EXPECT_EQ(FirstNode("r[1-2]n[3,5]"), "r1n3");
}

TEST(NodeList, LongListsTakeNoLonger) {
  std::string brackets;
  for (int i = 0; i < 100000; ++i) brackets += "[0-999999999]";
  EXPECT_EQ(FirstNode("n" + brackets), "n" + std::string(100000, '0'));
}

TEST(NodeList, WhatIsNoListIsRefused) {
  for (const char* text : {"", ",", "a,", "node[", "node]", "node[]", "node[1-]", "node[3-1]", "node[x]", "node[1[2]]",
                           "node[1,]", "a,node[3-1]", "a,,b"}) {
    EXPECT_EQ(FirstNode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cleave::runtime

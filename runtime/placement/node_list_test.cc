#include "runtime/placement/node_list.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

using Names = std::vector<std::string>;

TEST(NodeList, NamesAndRanges) {
  EXPECT_EQ(ExpandNodeList("login"), Names({"login"}));
  EXPECT_EQ(ExpandNodeList("a,b"), Names({"a", "b"}));
  EXPECT_EQ(ExpandNodeList("node[01-04,7]"), Names({"node01", "node02", "node03", "node04", "node7"}));
  EXPECT_EQ(ExpandNodeList("node[9-11].lab,x"), Names({"node9.lab", "node10.lab", "node11.lab", "x"}));
  EXPECT_EQ(ExpandNodeList("r[1-2]n[3,5]"), Names({"r1n3", "r1n5", "r2n3", "r2n5"}));
}

TEST(NodeList, WhatIsNoListIsRefused) {
  for (const char* text : {"", ",", "a,", "node[", "node]", "node[]", "node[1-]", "node[3-1]", "node[x]", "node[1[2]]",
                           "node[1,]", "node[0-2000000]", "a[0-999]b[0-999]c[0-999]"}) {
    EXPECT_EQ(ExpandNodeList(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cleave::runtime

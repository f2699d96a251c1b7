#include "runtime/launch/cores.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace cleave::runtime {
namespace {

RankCores OnHost(const char* host, std::vector<bool> cores) { return {host, std::move(cores), std::nullopt}; }

TEST(Threads, RanksShareTheCoresOfTheirHost) {
  const std::vector<bool> four(4, true);
  EXPECT_EQ(ThreadsOf({OnHost("a", four)}, 0), 4);
  EXPECT_EQ(ThreadsOf({OnHost("a", four), OnHost("b", four), OnHost("a", four)}, 0), 2);
  EXPECT_EQ(ThreadsOf({OnHost("a", four), OnHost("b", four), OnHost("a", four)}, 1), 4);
  const std::vector<RankCores> many(9, OnHost("a", four));
  EXPECT_EQ(ThreadsOf(many, 8), 1);
}

TEST(Threads, BoundRanksUseTheirOwnCores) {
  EXPECT_EQ(ThreadsOf({OnHost("a", {true, true, false, false}), OnHost("a", {false, false, true, true})}, 1), 2);
  EXPECT_EQ(ThreadsOf({OnHost("a", {true}), OnHost("a", {false, true, true, true})}, 0), 1);
  // All on the same cores of a larger machine.
  EXPECT_EQ(ThreadsOf({OnHost("a", {false, true, false, true}), OnHost("a", {false, true, false, true})}, 0), 1);
}

TEST(Threads, QuotasAreShared) {
  RankCores rank = OnHost("a", std::vector<bool>(8, true));
  rank.quota = 5.5;
  EXPECT_EQ(ThreadsOf({rank}, 0), 5);
  EXPECT_EQ(ThreadsOf({rank, rank}, 0), 2);
  rank.quota = 0.5;
  EXPECT_EQ(ThreadsOf({rank}, 0), 1);
}

void Write(const std::string& folder, const char* name, const char* text) {
  mkdir(folder.c_str(), 0755);
  std::ofstream(folder + "/" + name) << text;
}

TEST(Quota, IsTheLeastOfTheGroupsAboveTheProcess) {
  const std::string root = testing::TempDir() + "/groups";
  mkdir(root.c_str(), 0755);
  EXPECT_FALSE(QuotaOf("0::/a/b\n", root).has_value());
  Write(root + "/a", "cpu.max", "250000 100000\n");
  EXPECT_EQ(QuotaOf("0::/a/b\n", root), 2.5);
  Write(root + "/a/b", "cpu.max", "max 100000\n");
  EXPECT_EQ(QuotaOf("0::/a/b\n", root), 2.5);
  Write(root + "/a/b", "cpu.max", "150000 100000\n");
  EXPECT_EQ(QuotaOf("0::/a/b\n", root), 1.5);
  EXPECT_EQ(QuotaOf("0::/a\n", root), 2.5);
  // Version 1, and a container that sees its own group as the root.
  Write(root + "/cpu", "cpu.cfs_quota_us", "-1\n");
  Write(root + "/cpu", "cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(QuotaOf("3:cpuset:/\n2:cpu,cpuacct:/elsewhere\n", root).has_value());
  Write(root + "/cpu", "cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(QuotaOf("3:cpuset:/\n2:cpu,cpuacct:/elsewhere\n", root), 3);
}

TEST(Cores, TheProcessHasSome) {
  EXPECT_NE(OwnCores().host, "");
  EXPECT_GE(ThreadsOf({OwnCores()}, 0), 1);
}

}  // namespace
}  // namespace cleave::runtime

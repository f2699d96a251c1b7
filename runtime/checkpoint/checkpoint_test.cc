#include "runtime/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/checkpoint/slices.h"
#include "runtime/checkpoint/writer.h"

namespace cleave::runtime {
namespace {

// A folder that is removed at the end.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/checkpoint_test.XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    if (std::system(("rm -rf " + path_).c_str()) != 0) std::perror("rm");
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  bool is_local = false;
};

// What stands at an element of the whole tensor, as it is stored.
float ValueAt(size_t tensor, int64_t element) {
  return static_cast<float>(static_cast<int64_t>(tensor) * 1000003 + element);
}

// One job: tensors that lie in a random way on a mesh, with the values of all ranks.
class TestJob {
 public:
  TestJob(const std::vector<Tensor>& tensors, Mesh mesh, std::mt19937& random) : mesh_(std::move(mesh)) {
    for (const Tensor& tensor : tensors) {
      TensorLayout layout = {tensor.shape, {}, tensor.is_local};
      if (!tensor.is_local) layout.axes.resize(tensor.shape.size());
      for (size_t axis = 0; axis < mesh_.size() && !tensor.is_local && !tensor.shape.empty(); ++axis) {
        const size_t place = random() % (tensor.shape.size() + 1);
        if (place < tensor.shape.size()) layout.axes[place].push_back(static_cast<int>(axis));
      }
      layouts_.push_back(layout);
      names_.push_back(tensor.name);
    }
    values_.resize(static_cast<size_t>(MeshSize(mesh_)));
  }

  const Mesh& mesh() const { return mesh_; }
  int64_t ranks() const { return MeshSize(mesh_); }

  // The rank's state, with the values that it should have or with none.
  std::vector<StateTensor> State(int64_t rank, bool has_values) {
    std::vector<std::vector<float>>& own = values_[static_cast<size_t>(rank)];
    own.clear();
    std::vector<StateTensor> state;
    for (size_t i = 0; i < layouts_.size(); ++i) own.push_back(Expected(i, rank, has_values));
    for (size_t i = 0; i < layouts_.size(); ++i) state.push_back({names_[i], layouts_[i], own[i].data()});
    return state;
  }

  void ExpectValues(int64_t rank) const {
    for (size_t i = 0; i < layouts_.size(); ++i) {
      EXPECT_EQ(values_[static_cast<size_t>(rank)][i], Expected(i, rank, true)) << names_[i] << " of rank " << rank;
    }
  }

  // All ranks write, and the first one completes.
  std::optional<Error> Save(const std::string& folder, int64_t step, int64_t keep = 100,
                            const std::optional<BestSoFar>& best = std::nullopt) {
    std::vector<Shard> shards;
    std::vector<StateTensor> state;
    for (int64_t rank = ranks(); rank-- > 0;) {
      state = State(rank, true);
      ShardWriter writer(folder, state, mesh_, rank);
      writer.Start(step);
      // What is saved is what it was then.
      for (std::vector<float>& tensor : values_[static_cast<size_t>(rank)]) tensor.assign(tensor.size(), -1);
      Result<Shard> shard = writer.Take();
      if (!shard.ok()) return shard.error();
      shards.insert(shards.begin(), shard.value());
    }
    return Complete(folder, {.model = "Net", .step = step, .seed = 7, .settings = {{"batch", "64"}}, .best = best},
                    mesh_, state, shards, keep);
  }

  // The first Error of any rank.
  std::optional<Error> Load(const std::string& folder) {
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      const Result<Checkpoint> checkpoint = Checkpoint::Open(folder);
      if (!checkpoint.ok()) return checkpoint.error();
      const std::vector<StateTensor> state = State(rank, false);
      if (auto error = checkpoint.value().CheckFits(state, mesh_)) return error;
      if (auto error = checkpoint.value().Load(state, mesh_, rank)) return error;
    }
    return std::nullopt;
  }

 private:
  std::vector<float> Expected(size_t i, int64_t rank, bool has_values) const {
    const Region held = RegionOf(StoredLayout(layouts_[i], mesh_), mesh_, rank);
    std::vector<float> values(static_cast<size_t>(ElementCount(held.size)), 0);
    if (!has_values) return values;
    ForEachRun(held, [&](int64_t global, int64_t local, int64_t count) {
      for (int64_t j = 0; j < count; ++j) values[static_cast<size_t>(local + j)] = ValueAt(i, global + j);
    });
    return values;
  }

  Mesh mesh_;
  std::vector<std::string> names_;
  std::vector<TensorLayout> layouts_;
  std::vector<std::vector<std::vector<float>>> values_;  // By rank and tensor.
};

// Large enough to be written by several ranks, with several blocks; small; uneven; scalar; more ranks than rows.
std::vector<Tensor> Tensors() {
  return {{"w", {601, 353}}, {"long", {3, 500000}}, {"bias", {7}},
          {"scalar", {}},    {"thin", {2, 3, 5}},   {"table", {70000, 2}}};
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

TEST(Checkpoint, IsReadOnAnyMesh) {
  const char* const seed = std::getenv("CLEAVE_TEST_SEED");
  std::mt19937 random(seed == nullptr ? 1 : static_cast<unsigned>(std::atoi(seed)));
  const std::vector<Mesh> meshes = {
      {}, {{"m0", 2}}, {{"m0", 3}}, {{"m0", 2}, {"m1", 2}}, {{"m0", 2}, {"m1", 3}}, {{"m0", 2}, {"m1", 2}, {"m2", 2}}};
  for (const Mesh& from : meshes) {
    const Folder folder;
    TestJob writes(Tensors(), from, random);
    ASSERT_FALSE(writes.Save(folder.path(), 500).has_value());
    for (const Mesh& to : meshes) {
      TestJob reads(Tensors(), to, random);
      const std::optional<Error> error = reads.Load(CheckpointFolder(folder.path(), 500));
      ASSERT_FALSE(error.has_value()) << error->message;
      for (int64_t rank = 0; rank < reads.ranks(); ++rank) reads.ExpectValues(rank);
    }
  }
}

TEST(Checkpoint, EachElementIsWrittenOnce) {
  std::mt19937 random(3);
  const Mesh mesh = {{"m0", 2}, {"m1", 3}, {"m2", 2}};
  for (int round = 0; round < 50; ++round) {
    TensorLayout layout = {{static_cast<int64_t>(1 + random() % 40), static_cast<int64_t>(1 + random() % 30000)},
                           {{}, {}}};
    for (int axis = 0; axis < 3; ++axis) {
      if (const size_t place = random() % 3; place < 2) layout.axes[place].push_back(axis);
    }
    std::vector<int> written(static_cast<size_t>(ElementCount(layout.shape)), 0);
    for (int64_t rank = 0; rank < MeshSize(mesh); ++rank) {
      const std::optional<Region> slice = SliceOf(layout, mesh, rank);
      if (!slice.has_value()) continue;
      ForEachRun(*slice, [&](int64_t global, int64_t, int64_t count) {
        for (int64_t j = 0; j < count; ++j) ++written[static_cast<size_t>(global + j)];
      });
    }
    EXPECT_EQ(written, std::vector<int>(written.size(), 1));
  }
}

TEST(Checkpoint, WholeNumbersStayAsTheyAre) {
  const Folder folder;
  const Mesh mesh = {{"m0", 2}};
  const auto state = [](Reals values, bool is_cut) {
    return std::vector<StateTensor>{{"seen", {{6}, {is_cut ? std::vector<int>{0} : std::vector<int>{}}}, values}};
  };
  // Floats have none of the first two.
  std::vector<int32_t> halves[] = {{16777217, -2147483647, 0}, {-1, 7, 2147483647}};
  std::vector<Shard> shards;
  for (int64_t rank = 0; rank < 2; ++rank) {
    ShardWriter writer(folder.path(), state(halves[rank].data(), true), mesh, rank);
    writer.Start(5);
    const Result<Shard> shard = writer.Take();
    ASSERT_TRUE(shard.ok());
    shards.push_back(shard.value());
  }
  const CheckpointFacts facts = {"Net", 5, 7};
  ASSERT_FALSE(Complete(folder.path(), facts, mesh, state(NoIntegers(), true), shards, 9).has_value());
  const Result<Checkpoint> checkpoint = Checkpoint::Open(folder.path() + "/step_5");
  ASSERT_TRUE(checkpoint.ok());
  std::vector<int32_t> read(6);
  ASSERT_FALSE(checkpoint.value().CheckFits(state(read.data(), false), {}).has_value());
  ASSERT_FALSE(checkpoint.value().Load(state(read.data(), false), {}, 0).has_value());
  EXPECT_EQ(read, (std::vector<int32_t>{16777217, -2147483647, 0, -1, 7, 2147483647}));
  std::vector<float> floats(6);
  const std::optional<Error> error = checkpoint.value().CheckFits(state(floats.data(), false), {});
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->message.find("`seen` is I32 there and F32 here"), std::string::npos) << error->message;
}

TEST(Checkpoint, ValuesOf16BitsAreFloatsInFiles) {
  const Folder folder;
  std::vector<BFloat16> written;
  std::vector<float> expected, floats(70 * 3, -1);
  for (int i = 0; i < 70 * 3; ++i) {
    written.push_back(BFloat16(static_cast<float>(i) / 7));
    expected.push_back(written.back());
  }
  const auto state = [](Reals values) { return std::vector<StateTensor>{{"w", {{70, 3}}, values}}; };
  ShardWriter writer(folder.path(), state(written.data()), {}, 0);
  writer.Start(5);
  const Result<Shard> shard = writer.Take();
  ASSERT_TRUE(shard.ok());
  ASSERT_FALSE(Complete(folder.path(), {"Net", 5, 7}, {}, state(written.data()), {shard.value()}, 9).has_value());
  const Result<Checkpoint> checkpoint = Checkpoint::Open(folder.path() + "/step_5");
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_FALSE(checkpoint.value().Load(state(floats.data()), {}, 0).has_value());
  EXPECT_EQ(floats, expected);
  std::vector<BFloat16> narrow(written.size());
  ASSERT_FALSE(checkpoint.value().Load(state(narrow.data()), {}, 0).has_value());
  EXPECT_EQ(std::vector<float>(narrow.begin(), narrow.end()), expected);
}

TEST(Checkpoint, LocalTensorsNeedTheSameNumberOfRanks) {
  const std::vector<Tensor> tensors = {{"own", {5, 3}, true}};
  std::mt19937 random(1);
  const Folder folder;
  TestJob writes(tensors, {{"m0", 3}}, random);
  ASSERT_FALSE(writes.Save(folder.path(), 1).has_value());
  EXPECT_FALSE(writes.Load(CheckpointFolder(folder.path(), 1)).has_value());
  for (int64_t rank = 0; rank < 3; ++rank) writes.ExpectValues(rank);
  TestJob other(tensors, {{"m0", 2}}, random);
  const std::optional<Error> error = other.Load(CheckpointFolder(folder.path(), 1));
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->message.find("`own` is [3, 5, 3] there and [2, 5, 3] here"), std::string::npos) << error->message;
}

TEST(Checkpoint, OfAnotherModelIsRefused) {
  std::mt19937 random(1);
  const Folder folder;
  TestJob writes({{"w", {4, 4}}, {"b", {4}}, {"w.adam_m", {4, 4}}}, {{"m0", 2}}, random);
  ASSERT_FALSE(writes.Save(folder.path(), 1).has_value());
  TestJob other({{"w", {4, 5}}, {"c", {4}}, {"w.adam_m", {4, 4}}}, {{"m0", 2}}, random);
  const std::optional<Error> error = other.Load(CheckpointFolder(folder.path(), 1));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ExitCode::kInput);
  EXPECT_EQ(error->message,
            "`" + CheckpointFolder(folder.path(), 1) +
                "` is of another model (Net); `w` is [4, 4] there and [4, 5] here; it does not have `c`; "
                "this program does not have `b`");
}

TEST(Checkpoint, FactsAndKeptOnes) {
  std::mt19937 random(1);
  const Folder folder;
  TestJob job({{"w", {4, 4}}}, {{"m0", 2}, {"m1", 2}}, random);
  EXPECT_TRUE(CheckpointSteps(folder.path() + "/none").empty());
  for (const int64_t step : {5, 10, 15, 20}) ASSERT_FALSE(job.Save(folder.path(), step, 2).has_value());
  EXPECT_EQ(CheckpointSteps(folder.path()), (std::vector<int64_t>{20, 15}));
  const Result<Checkpoint> checkpoint = Checkpoint::Open(CheckpointFolder(folder.path(), 20));
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint.value().facts().model, "Net");
  EXPECT_EQ(checkpoint.value().facts().step, 20);
  EXPECT_EQ(checkpoint.value().facts().seed, 7u);
  EXPECT_EQ(checkpoint.value().facts().settings, (decltype(CheckpointFacts::settings){{"batch", "64"}}));
  EXPECT_EQ(checkpoint.value().mesh().size(), 2u);
  ASSERT_FALSE(SetAside(folder.path(), 20).has_value());
  EXPECT_EQ(CheckpointSteps(folder.path()), (std::vector<int64_t>{15}));
}

TEST(Checkpoint, TheBestStays) {
  Folder folder;
  std::mt19937 random(1);
  TestJob job(Tensors(), {{"a", 2}}, random);
  const std::string link = folder.path() + "/best";
  const BestSoFar first = {"min(loss)", 0.1, 1, 0};
  ASSERT_FALSE(job.Save(folder.path(), 1, 1, first).has_value());
  EXPECT_EQ(LinkedBest(folder.path()), 1);
  EXPECT_EQ(CheckpointsIn(link), std::vector<std::string>{folder.path() + "/step_1"});
  EXPECT_EQ(CheckpointsIn(link + "/"), std::vector<std::string>{folder.path() + "/step_1"});
  const BestSoFar since = {"min(loss)", 0.1, 1, 2};
  ASSERT_FALSE(job.Save(folder.path(), 2, 1, since).has_value());
  ASSERT_FALSE(job.Save(folder.path(), 3, 1, since).has_value());
  EXPECT_EQ(CheckpointSteps(folder.path()), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(Checkpoint::Open(folder.path() + "/step_3").value().facts().best, since);
  const BestSoFar second = {"min(loss)", -1.0 / 3, 4, 0};
  ASSERT_FALSE(job.Save(folder.path(), 4, 1, second).has_value());
  EXPECT_EQ(CheckpointSteps(folder.path()), std::vector<int64_t>{4});
  EXPECT_EQ(Checkpoint::Open(link).value().facts().best, second) << "to the last digit";
  EXPECT_FALSE(job.Load(link).has_value());
  // Training that looks for nothing leaves it there.
  ASSERT_FALSE(job.Save(folder.path(), 5, 1).has_value());
  EXPECT_EQ(CheckpointSteps(folder.path()), (std::vector<int64_t>{5, 4}));
  EXPECT_FALSE(Checkpoint::Open(folder.path() + "/step_5").value().facts().best.has_value());
  // A link to what is not there is none.
  ASSERT_FALSE(LinkBest(folder.path(), 3).has_value());
  EXPECT_EQ(LinkedBest(folder.path()), 0);
  EXPECT_FALSE(LinkBest(folder.path(), 0).has_value());
  EXPECT_FALSE(LinkBest(folder.path() + "/nowhere", 0).has_value());
}

// Somebody's folder of this name is neither followed nor removed.
TEST(Checkpoint, AFolderInPlaceOfTheLinkIsSaid) {
  Folder folder;
  std::mt19937 random(1);
  TestJob job(Tensors(), {{"a", 1}}, random);
  ASSERT_EQ(std::system(("mkdir " + folder.path() + "/best").c_str()), 0);
  const std::optional<Error> error = job.Save(folder.path(), 1, 1, BestSoFar{"min(loss)", 0.1, 1, 0});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ExitCode::kEnvironment);
  EXPECT_EQ(error->message.rfind("cannot write `" + folder.path() + "/best`: ", 0), 0u) << error->message;
  EXPECT_EQ(CheckpointSteps(folder.path()), std::vector<int64_t>{1}) << "what was saved is good";
}

TEST(Checkpoint, WhatIsNotFinishedIsNone) {
  std::mt19937 random(1);
  const Folder folder;
  TestJob job({{"w", {4, 4}}}, {}, random);
  ShardWriter writer(folder.path(), job.State(0, true), {}, 0);
  writer.Start(3);
  ASSERT_TRUE(writer.Take().ok());
  EXPECT_TRUE(CheckpointSteps(folder.path()).empty());
  RemoveUnfinished(folder.path());
  EXPECT_NE(access(UnfinishedFolder(folder.path(), 3).c_str(), F_OK), 0);
}

// A thousand bytes at random places of all files, one after another, each found; and each file cut, empty and missing.
TEST(Checkpoint, EveryDamageIsFound) {
  std::mt19937 random(5);
  const Folder folder;
  TestJob job({{"w", {61, 53}}, {"bias", {7}}, {"table", {9000, 4}}}, {{"m0", 2}}, random);
  ASSERT_FALSE(job.Save(folder.path(), 1).has_value());
  const std::string checkpoint = CheckpointFolder(folder.path(), 1);
  const std::vector<std::string> names = {"checkpoint.json", "rank_0.safetensors", "rank_1.safetensors"};
  std::vector<std::string> contents;
  size_t total = 0;
  for (const std::string& name : names) total += contents.emplace_back(ContentOf(checkpoint + "/" + name)).size();
  for (int i = 0; i < 1000; ++i) {
    // Headers are small, so each third byte is in one.
    size_t file = i % 3 == 0 ? static_cast<size_t>(i / 3 % 3) : 0;
    size_t place = i % 3 == 0 ? random() % std::min<size_t>(contents[file].size(), 600) : random() % total;
    while (place >= contents[file].size()) place -= contents[file++].size();
    std::string changed = contents[file];
    changed[place] = static_cast<char>(changed[place] ^ static_cast<char>(1 << random() % 8));
    Write(checkpoint + "/" + names[file], changed);
    const std::optional<Error> error = job.Load(checkpoint);
    ASSERT_TRUE(error.has_value()) << "byte " << place << " of " << names[file];
    EXPECT_EQ(error->code, ExitCode::kInput);
    EXPECT_NE(error->message.find(names[file]), std::string::npos) << error->message;
    Write(checkpoint + "/" + names[file], contents[file]);
  }
  for (size_t file = 0; file < names.size(); ++file) {
    const std::string path = checkpoint + "/" + names[file];
    for (const size_t length : {size_t{0}, size_t{5}, contents[file].size() / 2, contents[file].size() - 1}) {
      Write(path, contents[file].substr(0, length));
      EXPECT_TRUE(job.Load(checkpoint).has_value()) << names[file] << " of " << length << " bytes";
    }
    Write(path, contents[file] + "x");
    EXPECT_TRUE(job.Load(checkpoint).has_value()) << names[file] << " with a byte more";
    std::remove(path.c_str());
    EXPECT_TRUE(job.Load(checkpoint).has_value()) << "no " << names[file];
    Write(path, contents[file]);
  }
  EXPECT_FALSE(job.Load(checkpoint).has_value());
}

TEST(Checkpoint, WhatCannotBeWrittenIsSaid) {
  std::mt19937 random(1);
  TestJob job({{"w", {4, 4}}}, {}, random);
  const std::optional<Error> error = job.Save("/proc/none", 1);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ExitCode::kEnvironment);
  EXPECT_NE(error->message.find("cannot write `/proc/none/step_1.unfinished/rank_0.safetensors`: "), std::string::npos)
      << error->message;
}

}  // namespace
}  // namespace cleave::runtime

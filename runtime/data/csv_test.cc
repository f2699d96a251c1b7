#include "runtime/data/csv.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/testing.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

class CsvTest : public testing::Test {
 protected:
  CsvTest()
      : folder_(testing::TempDir() + "/csv_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_") {}

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + name;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    return path;
  }

  // Two features and a label, in batches of two.
  std::vector<ModelInput> Inputs() { return {{"x", WholeRegion({2, 2}), x_}, {"label", WholeRegion({2}), label_, 3}}; }

  Result<std::unique_ptr<Batches>> Open(const std::vector<InputFile>& files, int64_t skip_bad = 0,
                                        const std::vector<std::string>& features = {"b", "a"}) {
    DataSpec spec = Csv(files, {{"label", {"class"}}, {"x", features}}, skip_bad);
    spec.shuffle = false;
    return Batches::Open(spec, Inputs(), 1);
  }

  std::string Mistake(const std::string& text, int64_t skip_bad = 0,
                      const std::vector<std::string>& features = {"b", "a"}) {
    return MistakeOf(Open({{"train", Write("t", text)}}, skip_bad, features), folder_);
  }

  const std::string folder_;
  float x_[4];
  int32_t label_[2];
};

TEST_F(CsvTest, ColumnsByTheirNames) {
  // A byte order mark, CRLF, quotes with commas and quotes in them, blanks, an empty line, no newline at the end.
  const std::string train = Write("1",
                                  "\xEF\xBB\xBFid,a , \"b\",class,\"what, \"\"if\"\"\"\r\n"
                                  "7,1.5,-2e3,0,\"x\"\r\n\r\n"
                                  "8, +3 ,\"4\",1,\"two\nlines\"\r\n");
  Write("2", "class,b,a\n2,6,5\n1,8,7");
  const std::string test = Write("test", "a,b,class\n9,10,2\n");
  const auto batches = Open({{"train", folder_ + "[12]"}, {"test", test}});
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 4);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 1);
  EXPECT_EQ(batches.value()->note(), "");
  batches.value()->LoadTraining(0);
  EXPECT_EQ(std::vector<float>(x_, x_ + 4), (std::vector<float>{-2000, 1.5, 4, 3}));
  EXPECT_EQ(std::vector<int32_t>(label_, label_ + 2), (std::vector<int32_t>{0, 1}));
  batches.value()->LoadTraining(1);
  EXPECT_EQ(std::vector<float>(x_, x_ + 4), (std::vector<float>{6, 5, 8, 7}));
  EXPECT_EQ(batches.value()->LoadPart(DataPart::kTest, 0), 1);
  EXPECT_EQ(std::vector<float>(x_, x_ + 2), (std::vector<float>{10, 9}));
  EXPECT_TRUE(Open({{"train", train}}, 0, {"b", "id"}).ok());
}

TEST_F(CsvTest, AllOtherColumns) {
  const auto batches = Open({{"train", Write("t", "b,class,a\n1,0,2\n3,1,4\n")}}, 0, {"*"});
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  batches.value()->LoadTraining(0);
  EXPECT_EQ(std::vector<float>(x_, x_ + 4), (std::vector<float>{1, 2, 3, 4})) << "in the order of the file";
  EXPECT_EQ(Mistake("b,class,a,c\n1,0,2,3\n", 0, {"*"}),
            "`t` has 3 columns for input `x` is f32[2, 2], which has 2 values per sample");
}

TEST_F(CsvTest, LinesThatAreLeftOut) {
  const std::string text = "a,b,class\n1,2,0\n1,2\n1,x,0\n1,2,3\n1,2,-1\n1,2,1.0\n,2,0\n1,nan,0\n1,1e40,0\n3,4,1\n";
  const auto batches = Open({{"train", Write("t", text)}}, 8);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->note(),
            "csv: 8 lines without such numbers left out: line 3, line 4, line 5, line 6, line 7, …");
  EXPECT_EQ(batches.value()->train_samples(), 2);
  batches.value()->LoadTraining(0);
  EXPECT_EQ(std::vector<float>(x_, x_ + 4), (std::vector<float>{2, 1, 4, 3}));
  EXPECT_EQ(Mistake(text, 7),
            "line 10 of `t`: `1e40` in column `b` is no number of f32; 7 before it are left out, as many as `skip_bad` "
            "allows");
  EXPECT_EQ(Mistake(text), "line 3 of `t`: 2 fields, and 3 columns");
}

TEST_F(CsvTest, Mistakes) {
  EXPECT_EQ(Mistake(""), "`t` has no line that names its columns");
  EXPECT_EQ(Mistake("a,class\n1,0\n"), "`t` has no column `b`");
  EXPECT_EQ(Mistake("a,b,class,a\n1,0,0,0\n"), "`t` has two columns `a`");
  EXPECT_EQ(Mistake("a,b,class\n1,2,3\n"),
            "line 2 of `t`: `3` in column `class` is out of range: the model has 3 classes");
  EXPECT_EQ(Mistake("a,b,class\n\n1,2,\"3\n1,1,1\n"), "line 3 of `t`: a quote has no end");
  EXPECT_EQ(Mistake("a,b,class\n1,2,\x01\xff\n"), "line 2 of `t`: `??` in column `class` is no integer of i32");
  EXPECT_EQ(Mistake("a,b,class\n1,2,0\n"), "csv `t` has 1 training samples, fewer than one batch of 2");
}

}  // namespace
}  // namespace cleave::runtime

// Rolled programs unroll to what was rolled, and a mistake in any part of them is seen.
#include "codegen/roll/unroll.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/testing/seed.h"

namespace cleave::codegen {
namespace {

constexpr ir::TextPlace kOuterLoop = 1;
constexpr ir::TextPlace kInnerLoop = 2;

// Some lists of statements over layers, with buffers that lie at random in up to four pieces.
struct Sample {
  std::vector<std::vector<Statement>> lists;
  std::map<int, Buffer> buffers;
  int64_t micro_batches = 1;

  std::function<Buffer(int)> BufferOf() const {
    return [this](int buffer) { return buffers.at(buffer); };
  }
  absl::Status Check(const RolledProgram& rolled) const {
    return CheckUnrolled(rolled, lists, micro_batches, BufferOf());
  }
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Sample Run() {
    sample_.micro_batches = 1 + Below(4);
    layers_ = 3 + Below(6);
    const int ops = 2 + Below(4);
    for (int op = 0; op < ops; ++op) columns_.push_back(ColumnOf(absl::StrCat("op", op)));
    const bool is_nested = Below(3) == 0;
    std::vector<Statement> forward, backward;
    forward.push_back(Plain("head"));
    for (int layer = 0; layer < layers_; ++layer) AddLayer(layer, is_nested, forward);
    forward.push_back(Plain("tail"));
    for (int layer = layers_ - 1; layer >= 0; --layer) AddLayer(layer, is_nested, backward);
    backward.push_back(Plain("end"));
    sample_.lists = {forward, backward};
    return std::move(sample_);
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }

  Statement Plain(const std::string& name) {
    const int buffer = Add({name, {}, {.kind = Place::Kind::kDevice, .begin = Below(1000)}});
    return {name, {buffer}, {{name, 1}}};
  }

  int Add(Buffer buffer) {
    const int number = static_cast<int>(sample_.buffers.size());
    sample_.buffers[number] = std::move(buffer);
    return number;
  }

  // A buffer for each layer, mostly at equal distances.
  std::vector<int> ColumnOf(const std::string& name) {
    const int64_t base = Below(1000), stride = Below(3) * 64;
    const int64_t pieces = 1 + Below(static_cast<int>(sample_.micro_batches));
    std::vector<int> column;
    for (int layer = 0; layer < layers_; ++layer) {
      const bool is_odd = Below(6) == 0;
      Place place = {.kind = Place::Kind::kDevice, .begin = is_odd ? Below(5000) : base + layer * stride};
      place.pieces = Below(8) == 0 ? 1 : pieces;
      place.stride = place.pieces > 1 ? 4096 : 0;
      column.push_back(Add({absl::StrCat("x.", layer, ".", name), {{kOuterLoop, layer}}, place}));
    }
    return column;
  }

  void AddLayer(int layer, bool is_nested, std::vector<Statement>& list) {
    for (size_t op = 0; op < columns_.size(); ++op) {
      const int before = layer == 0 ? columns_[op][0] : columns_[op][static_cast<size_t>(layer) - 1];
      Statement::Name name = {absl::StrCat("x.", layer, ".op", op), layer == 0 ? 6 : 7, {{kOuterLoop, layer}}};
      if (is_nested) {
        absl::StrAppend(&name.text, ".y.0.mul");
        name.passes.push_back({kInnerLoop, 0});
      }
      list.push_back({absl::StrCat("op", op), {before, columns_[op][static_cast<size_t>(layer)]}, {name}});
    }
  }

  std::mt19937_64 random_;
  Sample sample_;
  int layers_ = 0;
  std::vector<std::vector<int>> columns_;  // By op and layer.
};

RolledProgram Rolled(const Sample& sample) {
  return Roll(sample.lists, {.micro_batches = sample.micro_batches}, sample.BufferOf());
}

constexpr int kSamples = 300;

TEST(UnrollTest, GivesWhatWasRolled) {
  const uint64_t seed = ir::TestSeed();
  int said_once = 0;
  for (int i = 0; i < kSamples; ++i) {
    SCOPED_TRACE(absl::StrCat("seed ", seed + static_cast<uint64_t>(i)));
    const Sample sample = Generator(seed + static_cast<uint64_t>(i)).Run();
    const RolledProgram rolled = Rolled(sample);
    EXPECT_TRUE(sample.Check(rolled).ok()) << sample.Check(rolled);
    said_once += !rolled.bodies.empty();
  }
  EXPECT_GT(said_once, kSamples * 3 / 4);
}

// One mistake of each kind, wherever it can be made. `used`: a field that some body refers to.
struct Mutation {
  std::string name;
  std::function<bool(RolledProgram& rolled, std::mt19937_64& random)> apply;  // False where there is no such place.
};

LayerField* AnyField(RolledProgram& rolled, std::mt19937_64& random,
                     const std::function<bool(const LayerField&)>& fits) {
  std::vector<LayerField*> fields;
  for (LayerGroup& group : rolled.groups) {
    for (LayerField& field : group.fields) {
      if (fits(field)) fields.push_back(&field);
    }
  }
  return fields.empty() ? nullptr : fields[random() % fields.size()];
}

BodyLoop* AnyLoop(RolledProgram& rolled) {
  for (std::vector<RolledItem>& list : rolled.lists) {
    for (RolledItem& item : list) {
      auto* loop = std::get_if<BodyLoop>(&item);
      if (loop != nullptr && loop->passes > 1) return loop;
    }
  }
  return nullptr;
}

// Whether two fields lie at different places in a layer of the body.
bool LieApart(const LayerField& a, const LayerField& b, const LayerBody& body) {
  return std::any_of(body.occurrences.begin(), body.occurrences.end(),
                     [&](const LayerBody::Occurrence& of) { return a.begin.At(of.layer) != b.begin.At(of.layer); });
}

std::vector<Mutation> Mutations() {
  const auto any = [](const LayerField&) { return true; };
  return {
      {"offset",
       [=](RolledProgram& rolled, std::mt19937_64& random) {
         LayerField* field = AnyField(rolled, random, any);
         if (field == nullptr) return false;
         field->begin.base += 64;
         for (int64_t& number : field->begin.table) number += 64;
         return true;
       }},
      {"stride",
       [=](RolledProgram& rolled, std::mt19937_64& random) {
         LayerField* field =
             AnyField(rolled, random, [](const LayerField& of) { return of.begin.kind == NumberForm::Kind::kLine; });
         if (field == nullptr) return false;
         field->begin.stride += 32;
         return true;
       }},
      {"an exception is forgotten",
       [=](RolledProgram& rolled, std::mt19937_64& random) {
         LayerField* field =
             AnyField(rolled, random, [](const LayerField& of) { return !of.begin.exceptions.empty(); });
         if (field == nullptr) return false;
         field->begin.exceptions.erase(field->begin.exceptions.begin());
         return true;
       }},
      {"slots",
       [](RolledProgram& rolled, std::mt19937_64&) {
         for (LayerGroup& group : rolled.groups) {
           if (group.slots > 1) return group.slots = 1, true;
         }
         return false;
       }},
      {"the stride of micro-batches",
       [=](RolledProgram& rolled, std::mt19937_64& random) {
         LayerField* field = AnyField(rolled, random, [](const LayerField& of) { return of.stride.has_value(); });
         if (field == nullptr) return false;
         field->stride.reset();
         return true;
       }},
      {"the memory of the host",
       [=](RolledProgram& rolled, std::mt19937_64& random) {
         LayerField* field = AnyField(rolled, random, any);
         if (field == nullptr) return false;
         field->kind = Place::Kind::kHost;
         return true;
       }},
      {"two fields are exchanged",
       [](RolledProgram& rolled, std::mt19937_64&) {
         for (LayerBody& body : rolled.bodies) {
           const std::vector<LayerField>& fields = rolled.groups[body.group].fields;
           for (std::vector<int>& row : body.fields) {
             const bool differ =
                 row.size() == 2 && row[0] >= 0 && row[1] >= 0 &&
                 LieApart(fields[static_cast<size_t>(row[0])], fields[static_cast<size_t>(row[1])], body);
             if (differ) return std::swap(row[0], row[1]), true;
           }
         }
         return false;
       }},
      {"a field is taken for what all layers share",
       [](RolledProgram& rolled, std::mt19937_64&) {
         for (LayerBody& body : rolled.bodies) {
           for (std::vector<int>& row : body.fields) {
             if (row.empty() || row[0] < 0) continue;
             const NumberForm& begin = rolled.groups[body.group].fields[static_cast<size_t>(row[0])].begin;
             if (begin.kind == NumberForm::Kind::kLine && begin.stride != 0) return row[0] = -1, true;
           }
         }
         return false;
       }},
      {"a name",
       [](RolledProgram& rolled, std::mt19937_64&) {
         if (rolled.bodies.empty()) return false;
         rolled.bodies.front().names.front().front().shift += 1;
         return true;
       }},
      {"a line",
       [](RolledProgram& rolled, std::mt19937_64&) {
         if (rolled.bodies.empty()) return false;
         rolled.bodies.front().names.front().front().other_lines.clear();
         return true;
       }},
      {"a layer is exchanged",
       [](RolledProgram& rolled, std::mt19937_64&) {
         BodyLoop* loop = AnyLoop(rolled);
         return loop == nullptr ? false : (loop->calls.front().layer += 1, true);
       }},
      {"a pass is missing",
       [](RolledProgram& rolled, std::mt19937_64&) {
         BodyLoop* loop = AnyLoop(rolled);
         return loop == nullptr ? false : (--loop->passes, true);
       }},
      {"the order is turned",
       [](RolledProgram& rolled, std::mt19937_64&) {
         BodyLoop* loop = AnyLoop(rolled);
         if (loop == nullptr) return false;
         for (BodyCall& call : loop->calls) call.layer += loop->distance * (loop->passes - 1);
         loop->distance = -loop->distance;
         return true;
       }},
      {"statements are exchanged",
       [](RolledProgram& rolled, std::mt19937_64&) {
         std::vector<RolledItem>& list = rolled.lists.front();
         return list.size() < 2 ? false : (std::swap(list.front(), list.back()), true);
       }},
      {"a body of another list",
       [](RolledProgram& rolled, std::mt19937_64&) {
         BodyLoop* loop = AnyLoop(rolled);
         if (loop == nullptr || rolled.bodies.size() < 2) return false;
         for (BodyCall& call : loop->calls) call.body = rolled.bodies.size();
         return true;
       }},
      {"another owner",
       [](RolledProgram& rolled, std::mt19937_64&) {
         // Owners are asked for outside of bodies alone, so the first body becomes its statements again.
         for (std::vector<RolledItem>& list : rolled.lists) {
           for (RolledItem& item : list) {
             auto* loop = std::get_if<BodyLoop>(&item);
             if (loop == nullptr) continue;
             const LayerBody& body = rolled.bodies[loop->calls.front().body];
             item = body.occurrences.front().begin;
             return true;
           }
         }
         return false;
       }},
  };
}

TEST(UnrollTest, EveryMistakeIsSeen) {
  const uint64_t seed = ir::TestSeed();
  for (const Mutation& mutation : Mutations()) {
    int made = 0;
    for (int i = 0; i < kSamples; ++i) {
      const Sample sample = Generator(seed + static_cast<uint64_t>(i)).Run();
      std::mt19937_64 random(seed + static_cast<uint64_t>(i));
      RolledProgram rolled = Rolled(sample);
      if (!mutation.apply(rolled, random)) continue;
      ++made;
      EXPECT_FALSE(sample.Check(rolled).ok()) << mutation.name << ", seed " << seed + static_cast<uint64_t>(i);
    }
    EXPECT_GT(made, 0) << mutation.name;
  }
}

}  // namespace
}  // namespace cleave::codegen

// Records: made, looked into, copied with other fields, handed to functions.
#include <gtest/gtest.h>

#include <string>

#include "frontend/evaluate/testing.h"

namespace cleave::frontend {
namespace {

constexpr char kRecords[] =
    "record Sizes { width: int; heads: int = 2; hidden: int = 3 * width; rate: float = 1; act: layer = relu; }\n"
    "record Net { first: Sizes = Sizes(width = 6); names: tuple = (\"a\", 2); last: Sizes = first with (act = tanh); "
    "}\n"
    "record Heads { left: layer = layer own(); right: layer = layer own(); }\n"
    "record Mixed { all: tuple; }\n"
    "record Starts { init: initializer = ones(); end: int = 3; }\n"
    "record Bad { x: f32[3]; y: floot; }\n"
    "record Self { other: Back; }\n"
    "record Back { all: tuple = (); self: Self; }\n"
    "record Calls { x: int = made(); }\n"
    "fn made() -> int { return Calls().x; }\n"
    "record int {}\n"
    "record Sizes { x: int; }\n";

constexpr char kUsesOfRecords[] =
    "fn own(x: f32[n, k]) -> f32[n, k] { param w: f32[k] = ones(); return x * w; }\n"
    "fn apply(x: f32[..n], sizes: Sizes) -> f32[..n] { return sizes.act(x); }\n"
    "fn wider(sizes: Sizes) -> Sizes { return sizes with (width = 2 * sizes.width); }\n"
    "fn started(x: f32[n, k], from: Starts) -> f32[n, k] { param w: f32[k] = from.init; return x * w; }\n"
    "fn count(all: tuple) -> int { let mut sum = 0; for n in all { sum = sum + n; } return sum; }\n";

// The first `lines` of the records, and all functions.
std::string RecordLines(int lines) {
  size_t end = 0;
  for (const std::string text = kRecords; lines > 0; --lines) end = text.find('\n', end) + 1;
  return std::string(kRecords, end) + kUsesOfRecords;
}

void CheckRecordBody(const std::string& body, const std::string& expected) {
  EXPECT_EQ(ExpandBody(body, RecordLines(5)).Text(), expected) << body;
}

// Of an int.
void CheckFieldValue(const std::string& expression, int64_t expected) {
  CheckRecordBody(
      "let c = Sizes(width = 4); let _c = c; let v = " + expression + "; let y = reshape(x, (v, -1)); print(y);",
      expected == 0 ? ""
                    : "y.reshape(x): f32[" + std::to_string(expected) + ", " + std::to_string(48 / expected) +
                          "]\nprint y.reshape");
}

TEST(RecordsTest, FieldsAndTheirDefaults) {
  CheckFieldValue("c.hidden", 12);
  CheckFieldValue("c.heads", 2);
  CheckFieldValue("Sizes(4, hidden = 6).hidden", 6);
  CheckFieldValue("Net().first.width", 6);
  CheckFieldValue("Net().names[1]", 2);
  CheckFieldValue("c.width * c.heads - 2", 6);
}

TEST(RecordsTest, WhatNobodyGaveFollowsItsDefaultInCopies) {
  CheckFieldValue("(c with (width = 2)).hidden", 6);
  CheckFieldValue("(c with (hidden = 8) with (width = 2)).hidden", 8);
  CheckFieldValue("(Sizes(width = 4, hidden = 12) with (width = 2)).hidden", 12);
  CheckFieldValue("(Net() with (first = c)).last.hidden", 12);
  CheckFieldValue("wider(c).hidden", 24);
}

TEST(RecordsTest, FunctionsAndLayersAreFields) {
  CheckRecordBody("let y = apply(x, Sizes(1)); print(y);", "y.relu(x): f32[8, 6]\nprint y.relu");
  CheckRecordBody("let y = Net().last.act(x); print(y);", "y.tanh(x): f32[8, 6]\nprint y.tanh");
  CheckRecordBody("let h = Heads(); let y = h.right(h.left(h.left(x))); print(y);",
                  "h.own_0.w(): f32[6]\ny.mul(x, h.own_0.w): f32[8, 6]\ny.mul_1(y.mul, h.own_0.w): f32[8, 6]\n"
                  "h.own_1.w(): f32[6]\ny.mul_2(y.mul_1, h.own_1.w): f32[8, 6]\nprint y.mul_2");
  CheckRecordBody("let y = started(x, Starts()); print(y);", "y.w(): f32[6]\ny.mul(x, y.w): f32[8, 6]\nprint y.mul");
  CheckRecordBody("let y = count((1, 2)) * x; print(y);", "y.scale(x): f32[8, 6]\nprint y.scale");
}

TEST(RecordsTest, MistakesAreTold) {
  CheckRecordBody("let _c = Sizes();", "E0203: `Sizes` takes 1 to 5 fields, not 0");
  CheckRecordBody("let _c = Sizes(width = 1, width = 2);", "E0203: field `width` of `Sizes` is given twice");
  CheckRecordBody("let _c = Sizes(widht = 1);", "E0203: `Sizes` has no field `widht`");
  CheckRecordBody("let _c = Sizes(width = 1.5);", "E0204: field `width` of `Sizes` is `int`");
  CheckRecordBody("let _c = Sizes(width = 1).widht;", "E0218: record `Sizes` has no field `widht`");
  CheckRecordBody("let _c = Sizes(width = 1) with (heds = 2);", "E0203: `Sizes` has no field `heds`");
  CheckRecordBody("let _c = Sizes(width = 1) with (2);", "E0203: field `width` of `Sizes` by position");
  CheckRecordBody("let _c = 3 with (width = 2);", "E0204: `with` makes a changed copy of a record");
  CheckRecordBody("let _c = x.relu;", "E0204: `.relu` of something that is no record");
  CheckRecordBody("let _c = Mixed((x, 2));", "E0204: field `all` of `Mixed` is `tuple`");
  CheckRecordBody("let _c = apply(x, 3);", "E0204: argument `sizes` of `apply` is `Sizes`");
  CheckRecordBody("let _c: Sizes = Net();", "E0204: `_c` is declared `Sizes`");
  CheckRecordBody("let mut c = Net(); c = Sizes(1);", "E0204: `c` changes its kind of value");
  CheckRecordBody("let _c = layer Sizes(1);", "E0204: `layer` fixes the arguments of a function");
  CheckRecordBody("print(Sizes(1));", "E0204: `print` takes a tensor");
  CheckRecordBody("let y = x + Sizes(1); print(y);", "E0204: `+` does not take these values");
}

TEST(RecordsTest, DeclarationsAreChecked) {
  EXPECT_EQ(ExpandBody("", RecordLines(12)).Text(),
            "E0202: record `Sizes` is defined twice\n"
            "E0205: record `Calls` calls itself\n"
            "E0204: field `x` of `Bad` is a tensor\n"
            "E0201: unknown type `floot`\n"
            "E0202: record `int` has the name of another type\n"
            "E0219: record `Self` contains itself");
}

}  // namespace
}  // namespace cleave::frontend

#include "runtime/digits/digits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

constexpr float kPi = 3.14159265f;

struct Point {
  float x = 0;  // To the right.
  float y = 0;  // Down.
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// Draws glyphs: the ways in which people write each digit, as strokes of points.
class Scribe {
 public:
  // From here on another way to write `digit`.
  Scribe& Digit(int digit) {
    ways_ = &digits_[static_cast<size_t>(digit)];
    ways_->emplace_back();
    return Lift();
  }

  // Another stroke begins.
  Scribe& Lift() {
    ways_->back().emplace_back();
    return *this;
  }

  Scribe& To(float x, float y) {
    ways_->back().back().push_back({x, y});
    return *this;
  }

  // Part of an ellipse, angles in degrees, clockwise on the page from the right.
  Scribe& Arc(float centre_x, float centre_y, float radius_x, float radius_y, float from, float to) {
    constexpr int kSteps = 14;
    for (int i = 0; i <= kSteps; ++i) {
      const float angle = (from + (to - from) * static_cast<float>(i) / kSteps) * kPi / 180;
      To(centre_x + radius_x * std::cos(angle), centre_y + radius_y * std::sin(angle));
    }
    return *this;
  }

  const std::vector<std::vector<Glyph>>& digits() const { return digits_; }

 private:
  std::vector<std::vector<Glyph>> digits_ = std::vector<std::vector<Glyph>>(kDigitClasses);
  std::vector<Glyph>* ways_ = nullptr;
};

std::vector<std::vector<Glyph>> MakeGlyphs() {
  Scribe scribe;
  scribe.Digit(0).Arc(.5f, .5f, .27f, .40f, -90, 275);
  scribe.Digit(0).Arc(.5f, .5f, .20f, .40f, -60, 300);
  scribe.Digit(1).To(.50f, .10f).To(.50f, .90f);
  scribe.Digit(1).To(.34f, .27f).To(.54f, .10f).To(.52f, .90f);
  scribe.Digit(1).To(.36f, .26f).To(.52f, .11f).To(.52f, .89f).Lift().To(.34f, .90f).To(.70f, .90f);
  scribe.Digit(2).Arc(.49f, .33f, .25f, .23f, -170, 40).To(.25f, .90f).To(.77f, .88f);
  scribe.Digit(2)
      .Arc(.49f, .32f, .24f, .22f, -170, 50)
      .Arc(.36f, .82f, .10f, .09f, -20, -340)
      .To(.60f, .88f)
      .To(.80f, .84f);
  scribe.Digit(3).Arc(.46f, .30f, .24f, .20f, -150, 80).Arc(.46f, .70f, .27f, .21f, -80, 150);
  scribe.Digit(3).To(.26f, .12f).To(.72f, .12f).To(.48f, .42f).Arc(.46f, .67f, .27f, .24f, -80, 150);
  scribe.Digit(4).To(.60f, .10f).To(.22f, .63f).To(.82f, .61f).Lift().To(.64f, .36f).To(.62f, .92f);
  scribe.Digit(4).To(.28f, .12f).To(.25f, .50f).To(.70f, .50f).Lift().To(.72f, .12f).To(.68f, .92f);
  scribe.Digit(5).To(.74f, .11f).To(.34f, .12f).To(.30f, .46f).Arc(.48f, .66f, .26f, .24f, -130, 150);
  scribe.Digit(5)
      .To(.36f, .12f)
      .To(.32f, .44f)
      .Arc(.47f, .66f, .27f, .24f, -120, 140)
      .Lift()
      .To(.36f, .12f)
      .To(.76f, .10f);
  scribe.Digit(6).To(.66f, .10f).To(.42f, .32f).To(.29f, .60f).Arc(.50f, .68f, .22f, .21f, 180, -190);
  scribe.Digit(6).Arc(.62f, .55f, .34f, .44f, -100, -190).Arc(.49f, .70f, .20f, .19f, 190, -160);
  scribe.Digit(7).To(.22f, .13f).To(.78f, .12f).To(.42f, .90f);
  scribe.Digit(7).To(.24f, .14f).To(.76f, .12f).To(.46f, .90f).Lift().To(.38f, .52f).To(.70f, .50f);
  scribe.Digit(8).Arc(.5f, .30f, .20f, .19f, 90, 450).Lift().Arc(.5f, .70f, .25f, .21f, -90, 270);
  scribe.Digit(8).Arc(.5f, .30f, .20f, .19f, -30, -270).Arc(.5f, .70f, .23f, .20f, -90, 200).To(.68f, .22f);
  scribe.Digit(9).Arc(.49f, .32f, .22f, .21f, 0, -360).To(.71f, .40f).To(.66f, .90f);
  scribe.Digit(9).Arc(.49f, .32f, .22f, .20f, -20, -350).To(.72f, .55f).Arc(.50f, .66f, .22f, .24f, 0, 140);
  return scribe.digits();
}

// A sample's random numbers, one after another.
class Draws {
 public:
  Draws(uint64_t seed, int64_t sample) : words_({seed, "digits", static_cast<uint64_t>(sample)}) {}

  float Uniform(float low, float high) { return low + (high - low) * UnitFloat(Word()); }

  // Four uniform numbers added: near enough to normal, with no tails that break a shape.
  float Bell(float deviation) {
    constexpr float kRootOfThree = 1.7320508f;  // Of four numbers in [-1, 1] the deviation is 2 / sqrt(3).
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += Uniform(-1, 1);
    return sum * deviation * kRootOfThree / 2;
  }

  uint32_t Word() {
    if (next_ % 4 == 0) block_ = words_.Block(next_ / 4);
    return block_[next_++ % 4];
  }

 private:
  StreamWords words_;
  uint64_t next_ = 0;
  PhiloxBlock block_ = {};
};

// The way one sample is written: from the unit square to pixels.
class Hand {
 public:
  explicit Hand(Draws& draws) {
    const float angle = draws.Bell(0.16f);
    const float slant = draws.Bell(0.18f);
    const float width = draws.Uniform(14, 21);
    const float height = draws.Uniform(17, 22);
    across_ = {width * std::cos(angle), width * std::sin(angle)};
    down_ = {height * (-std::sin(angle) - slant * std::cos(angle)),
             height * (std::cos(angle) - slant * std::sin(angle))};
    centre_ = {kDigitSide / 2.0f + draws.Bell(1.3f), kDigitSide / 2.0f + draws.Bell(1.3f)};
    for (Wave& wave : waves_) wave = {draws.Bell(0.035f), draws.Uniform(3, 8), draws.Uniform(0, 2 * kPi)};
  }

  Point Place(Point point) const {
    const float x = point.x - 0.5f + waves_[0].At(point.y) + waves_[1].At(point.x);
    const float y = point.y - 0.5f + waves_[2].At(point.x) + waves_[3].At(point.y);
    return {centre_.x + x * across_.x + y * down_.x, centre_.y + x * across_.y + y * down_.y};
  }

 private:
  struct Wave {
    float size = 0;
    float frequency = 0;
    float phase = 0;
    float At(float place) const { return size * std::sin(frequency * place + phase); }
  };

  Point across_;
  Point down_;
  Point centre_;
  Wave waves_[4];
};

// Ink on one image, 0 to 1.
class Page {
 public:
  // A straight line of a pen with this radius in pixels: full inside, fading over one pixel at its edge.
  void Line(Point from, Point to, float radius, float ink) {
    const float reach = radius + 1;
    const int left = std::max(0, static_cast<int>(std::floor(std::min(from.x, to.x) - reach)));
    const int right = std::min(kDigitSide - 1, static_cast<int>(std::ceil(std::max(from.x, to.x) + reach)));
    const int top = std::max(0, static_cast<int>(std::floor(std::min(from.y, to.y) - reach)));
    const int bottom = std::min(kDigitSide - 1, static_cast<int>(std::ceil(std::max(from.y, to.y) + reach)));
    const Point along = {to.x - from.x, to.y - from.y};
    const float length = std::max(1e-6f, along.x * along.x + along.y * along.y);
    for (int row = top; row <= bottom; ++row) {
      for (int column = left; column <= right; ++column) {
        const Point offset = {static_cast<float>(column) - from.x, static_cast<float>(row) - from.y};
        const float place = std::clamp((offset.x * along.x + offset.y * along.y) / length, 0.0f, 1.0f);
        const Point gap = {offset.x - place * along.x, offset.y - place * along.y};
        const float distance = std::sqrt(gap.x * gap.x + gap.y * gap.y);
        float& pixel = ink_[row][column];
        pixel = std::max(pixel, ink * std::clamp(radius + 0.5f - distance, 0.0f, 1.0f));
      }
    }
  }

  // Adds grain, and rounds as a scanner does.
  void Store(Draws& draws, uint8_t* pixels) const {
    const float grain = draws.Uniform(0.0f, 0.16f);
    for (int row = 0; row < kDigitSide; ++row) {
      for (int column = 0; column < kDigitSide; column += 4) {
        const uint32_t word = draws.Word();
        for (int i = 0; i < 4; ++i) {
          const float noise = (static_cast<float>(word >> (8 * i) & 0xFF) / 255 - 0.5f) * 2 * grain;
          const float value = std::clamp(ink_[row][column + i] + noise, 0.0f, 1.0f);
          *pixels++ = static_cast<uint8_t>(value * 255 + 0.5f);
        }
      }
    }
  }

 private:
  float ink_[kDigitSide][kDigitSide] = {};
};

void DrawGlyph(const Glyph& glyph, Draws& draws, uint8_t* pixels) {
  Page page;
  const Hand hand(draws);
  const float radius = draws.Uniform(0.55f, 1.5f);
  const float ink = draws.Uniform(0.65f, 1.0f);
  for (const Stroke& stroke : glyph) {
    // Every stroke begins and ends a little beside its place.
    const Point nudge = {draws.Bell(0.02f), draws.Bell(0.02f)};
    Point last;
    for (size_t i = 0; i < stroke.size(); ++i) {
      const Point point = hand.Place({stroke[i].x + nudge.x, stroke[i].y + nudge.y});
      if (i > 0) page.Line(last, point, radius, ink);
      last = point;
    }
  }
  // Now and then a trace of something else on the page.
  if (draws.Uniform(0, 1) < 0.25f) {
    const Point from = {draws.Uniform(0, kDigitSide), draws.Uniform(0, kDigitSide)};
    // One statement each: compilers evaluate the arguments of a call in different orders.
    const float faint = draws.Uniform(0.3f, 0.9f);
    const Point to = {from.x + draws.Bell(4), from.y + draws.Bell(4)};
    page.Line(from, to, 0.6f, faint);
  }
  page.Store(draws, pixels);
}

// Which digit a sample shows: the first of its draws.
uint32_t DrawClass(Draws& draws) { return draws.Word() % kDigitClasses; }

}  // namespace

uint8_t DigitOf(uint64_t seed, int64_t sample) {
  Draws draws(seed, sample);
  return static_cast<uint8_t>(DrawClass(draws));
}

void DrawDigit(uint64_t seed, int64_t sample, uint8_t* pixels) {
  static const std::vector<std::vector<Glyph>>* const glyphs = new std::vector<std::vector<Glyph>>(MakeGlyphs());
  Draws draws(seed, sample);
  const std::vector<Glyph>& ways = (*glyphs)[DrawClass(draws)];
  DrawGlyph(ways[draws.Word() % ways.size()], draws, pixels);
}

}  // namespace cleave::runtime

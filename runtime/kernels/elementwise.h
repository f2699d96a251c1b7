// Functions of one element, for the loops of generated programs. Each is inline and without branches that keep a loop
// from being vectorised. A value that is not a number stays one.
#ifndef CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_
#define CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_

#include <cmath>
#include <cstdint>
#include <cstring>

namespace cleave::runtime {

// 2^n for n in [-126, 127].
inline float PowerOfTwo(int32_t n) {
  const int32_t bits = (n + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// e^x within two units in the last place. The library's function is no more exact, but a loop that calls it is not
// vectorised. x = n ln 2 + r with |r| <= ln 2 / 2 and n whole; e^r by the polynomial of Cephes' expf (Moshier, 1992).
inline float Exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves no digits after the point.
  const float low = x < -104.0f ? -104.0f : x;
  const float at = low > 89.0f ? 89.0f : low;
  const float n = at * 1.44269504f + kRound - kRound;
  const float r = at - n * 0.693359375f + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  // In two halves, so that the largest and the denormal results are reached. Not a number stays one: y is.
  const int32_t whole = static_cast<int32_t>(x == x ? n : 0.0f);
  const int32_t half = whole >> 1;
  return y * PowerOfTwo(half) * PowerOfTwo(whole - half);
}

inline float Square(float x) { return x * x; }
inline float Sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
inline float Relu(float x) { return x < 0.0f ? 0.0f : x; }
inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

// gelu(x) = x (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3): Hendrycks and Gimpel (2016), the tanh form.
// With s = sigmoid(2 u) that is x s, and tanh(u) = 2 s - 1.
constexpr float kGeluSlope = 1.5957691216057308f;  // 2 sqrt(2 / pi)
constexpr float kGeluCube = 0.044715f;
inline float Gelu(float x) { return x * Sigmoid(kGeluSlope * (x + kGeluCube * x * x * x)); }

// Gradients by the op's input, given that by its output (dy) and the op's result (y) or its input (x).
inline float ReluGradient(float dy, float y) { return y > 0.0f ? dy : 0.0f; }
inline float TanhGradient(float dy, float y) { return dy * (1.0f - y * y); }
inline float SigmoidGradient(float dy, float y) { return dy * y * (1.0f - y); }
inline float GeluGradient(float dy, float x) {
  const float s = Sigmoid(kGeluSlope * (x + kGeluCube * x * x * x));
  return dy * (s + x * s * (1.0f - s) * kGeluSlope * (1.0f + 3.0f * kGeluCube * x * x));
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_

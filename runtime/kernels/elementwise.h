// Functions of one element, for the loops of generated programs. Each is inline and without branches that keep a loop
// from being vectorised. A value that is not a number stays one.
#ifndef CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_
#define CLEAVE_RUNTIME_KERNELS_ELEMENTWISE_H_

#include <cmath>

namespace cleave::runtime {

inline float Square(float x) { return x * x; }
inline float Sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
inline float Relu(float x) { return x < 0.0f ? 0.0f : x; }
inline float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

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

// A value on the heap: what lets a syntax node contain a node of its own kind and stay a plain value.
//
//   struct Negate { Box<Expression> operand; };
//
// A Box always holds a value; copies are deep and `==` compares what is inside. A moved-from Box may only be destroyed
// or assigned to.
#ifndef CLEAVE_DSL_SYNTAX_BOX_H_
#define CLEAVE_DSL_SYNTAX_BOX_H_

#include <memory>
#include <utility>

namespace cleave::dsl::syntax {

template <typename T>
class Box {
 public:
  Box(T value)
      : value_(std::make_unique<T>(std::move(value))) {}  // Implicit: a node goes where a Box of it is asked for.
  Box(const Box& other) : value_(std::make_unique<T>(*other.value_)) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    value_ = std::make_unique<T>(*other.value_);
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T& operator*() { return *value_; }
  T* operator->() { return value_.get(); }

  friend bool operator==(const Box& a, const Box& b) { return *a.value_ == *b.value_; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace cleave::dsl::syntax

#endif  // CLEAVE_DSL_SYNTAX_BOX_H_

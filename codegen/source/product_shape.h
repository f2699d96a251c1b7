// The sizes of a matrix product as text. Private to codegen/source.
#ifndef CLEAVE_CODEGEN_SOURCE_PRODUCT_SHAPE_H_
#define CLEAVE_CODEGEN_SOURCE_PRODUCT_SHAPE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/source/sizes.h"

namespace cleave {

// The fields of a MatMulShape (runtime/math), without those that keep their default.
struct ProductShape {
  SizeProduct batch = SizeProduct(1);
  SizeProduct m;
  SizeProduct n;
  SizeProduct k;
  bool transpose_a = false;
  bool transpose_b = false;

  std::string Text() const {
    std::string text = "{";
    if (!batch.is_one()) absl::StrAppend(&text, ".batch = ", batch.Text(), ", ");
    absl::StrAppend(&text, ".m = ", m.Text(), ", .n = ", n.Text(), ", .k = ", k.Text());
    if (transpose_a) absl::StrAppend(&text, ", .transpose_a = true");
    if (transpose_b) absl::StrAppend(&text, ", .transpose_b = true");
    return absl::StrCat(text, "}");
  }
};

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_PRODUCT_SHAPE_H_

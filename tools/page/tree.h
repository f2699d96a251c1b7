// Private to tools/page: what modules of a model take, by the parts of names.
//
//   "x.0.attn.out.matmul", "x.1.attn.out.matmul", … -> x.0..11 / attn / out / matmul
#ifndef CLEAVE_TOOLS_PAGE_TREE_H_
#define CLEAVE_TOOLS_PAGE_TREE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/json/json.h"

namespace cleave::tools {

// What a module takes, with what is in it.
struct Taken {
  double seconds = 0;  // Of the kernels and collectives of a step.
  double bytes = 0;    // Held where a step needs most memory.
  double sent = 0;     // By a rank.
};

class ModuleTree {
 public:
  // Of ops or tensors of equal layers together. REQUIRES: at least one name; all have the same place
  // (base/layer_names).
  void Add(absl::Span<const std::string> names, const Taken& taken);

  // {"name", "seconds", "bytes", "sent", "parts": […]}; parts in the order in which they came.
  Json ToJson() const;

 private:
  struct Node {
    std::set<std::string> names;  // "x.0", "x.1"
    Taken taken;
    std::vector<std::unique_ptr<Node>> parts;
    std::map<std::string, Node*> part_of;  // By place: "x.#".
  };

  static Json NodeJson(const std::string& name, const Node& node);

  Node root_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PAGE_TREE_H_

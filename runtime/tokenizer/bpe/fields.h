// Private to runtime/tokenizer/bpe: members of objects of a tokenizer.json. A member that nobody knows is an Error, so
// that nothing that a file asks for is passed over.
//
//   const Fields fields(json, "the decoder `Strip`");
//   if (auto error = fields.Only({"type", "content", "start", "stop"})) return *error;
//   Result<int64_t> start = fields.Integer("start");
//
// Messages are the ends of sentences whose subject is the file.
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_FIELDS_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_FIELDS_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"

namespace cleave::runtime {

// The Error of a file that asks for what is not done here, or that is not a tokenizer.json.
Error WrongTokenizer(const std::string& message);

class Fields {
 public:
  // `what` names the object in errors. REQUIRES: `object` outlives this.
  Fields(const Json& object, std::string what) : object_(object), what_(std::move(what)) {}

  const std::string& what() const { return what_; }

  // An Error unless this is an object with no other members than these.
  std::optional<Error> Only(std::initializer_list<const char*> names) const;

  // The member; null where it is missing, or is null in the file.
  const Json* Find(const char* name) const;

  // An Error where the member is missing or of another kind. Those with a second argument take it where the member is
  // missing or null.
  Result<std::string> String(const char* name) const;
  Result<std::string> String(const char* name, const std::string& otherwise) const;
  Result<int64_t> Integer(const char* name) const;
  Result<bool> Bool(const char* name) const;
  Result<bool> Bool(const char* name, bool otherwise) const;
  Result<const std::vector<Json>*> Array(const char* name) const;

  // "has `VALUE` as the `NAME` of WHAT, which is not supported"
  Error NotSupported(const char* name, const std::string& value) const;

 private:
  // An Error where the member is missing or not `is_expected`.
  Result<const Json*> Expect(const char* name, Json::Kind kind, const char* expected) const;

  const Json& object_;
  const std::string what_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_FIELDS_H_

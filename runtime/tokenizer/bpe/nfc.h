// Private to runtime/tokenizer/bpe: Normalization Forms C and D (Unicode Standard Annex 15).
#ifndef CLEAVE_RUNTIME_TOKENIZER_BPE_NFC_H_
#define CLEAVE_RUNTIME_TOKENIZER_BPE_NFC_H_

#include <string>

namespace cleave::runtime {

// Letters and their marks as one character where there is one. REQUIRES: the text is UTF-8.
std::string ComposedText(const std::string& text);

// Normalization Form D: letters without their marks, which stand behind them. REQUIRES: the text is UTF-8.
std::string DecomposedText(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_BPE_NFC_H_

" Cleave's models.
if exists("b:current_syntax")
  finish
endif

syntax keyword cleaveTodo contained TODO FIXME XXX
syntax match cleaveComment "//.*$" contains=cleaveTodo,@Spell
syntax region cleaveComment start="/\*" end="\*/" contains=cleaveTodo,@Spell
syntax match cleaveEscape contained "\\[\"\\nt]"
syntax region cleaveString start=+"+ skip=+\\.+ end=+"\|$+ contains=cleaveEscape
syntax region cleaveAttribute matchgroup=cleavePreProc start="#\[" end="\]" contains=cleaveString,cleaveNumber,cleaveSize,cleaveBrackets
syntax region cleaveBrackets contained transparent start="\[" end="\]" contains=cleaveString,cleaveNumber,cleaveSize,cleaveBrackets

syntax keyword cleaveStatement let mut return
syntax keyword cleaveRepeat for in
syntax keyword cleaveConditional if else
syntax keyword cleaveOperator with
syntax keyword cleaveBoolean true false
syntax keyword cleaveConstant auto
syntax keyword cleaveType f32 i32 bf16 tf32 f16 i8 int float bool string tuple initializer
" These words are names wherever the grammar does not ask for them.
syntax match cleaveItem "^\s*\(import\ze\s*\"\|parallel\ze\s*{\|\(model\|record\|train\|op\)\ze\s\+\h\)"
syntax match cleaveItem "\<fn\ze\s\+\h" nextgroup=cleaveFunctionName skipwhite
syntax match cleaveFunctionName contained "\h\w*"
syntax match cleaveStatement "\(^\|[{;\]]\)\@<=\s*\(input\|param\|state\)\ze\s\+\h\w*\s*:"
syntax match cleaveStatement "\(^\|[{;\]]\)\@<=\s*\(loss\|metric\|update\|pin\)\ze\s\+[\"A-Za-z_(-]"
syntax match cleaveStatement "\(^\|[{;]\)\@<=\s*\(print\|assert_finite\)\ze\s*("
syntax match cleaveOperator "\<layer\ze\s\+\h"
syntax match cleaveFunction "\<\h\w*\ze\s*("
syntax match cleaveNumber "\<\d[0-9_]*\(\.\d[0-9_]*\)\?\([eE][+-]\?\d[0-9_]*\)\?\>"
syntax match cleaveSize "\<\d[0-9_]*\(\.\d[0-9_]*\)\?\(B\|[KMGT]i\?B\)\>"

highlight default link cleaveTodo Todo
highlight default link cleaveComment Comment
highlight default link cleaveString String
highlight default link cleaveEscape SpecialChar
highlight default link cleavePreProc PreProc
highlight default link cleaveAttribute PreProc
highlight default link cleaveStatement Statement
highlight default link cleaveRepeat Repeat
highlight default link cleaveConditional Conditional
highlight default link cleaveOperator Operator
highlight default link cleaveBoolean Boolean
highlight default link cleaveConstant Constant
highlight default link cleaveType Type
highlight default link cleaveItem Structure
highlight default link cleaveFunctionName Function
highlight default link cleaveFunction Function
highlight default link cleaveNumber Number
highlight default link cleaveSize Number

let b:current_syntax = "cleave"

" Comments and indents of Cleave's models, as `cleave fmt` writes them.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,://
setlocal expandtab shiftwidth=4 softtabstop=4 textwidth=120 formatoptions-=t
setlocal formatprg=cleave\ fmt
setlocal suffixesadd=.model
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< textwidth< formatoptions< formatprg< suffixesadd<"

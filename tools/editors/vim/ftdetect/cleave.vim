autocmd BufRead,BufNewFile *.model setfiletype cleave

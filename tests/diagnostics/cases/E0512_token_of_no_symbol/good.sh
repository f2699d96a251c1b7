# Each of these letters with a zero behind it is a number of 16 bits.
seq 40 | tr -d '\n' | sed 's/./&@/g' | tr '@' '\000' > train.bin
compile good.model --quiet

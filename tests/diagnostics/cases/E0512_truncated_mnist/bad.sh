mkdir mnist
for part in train t10k; do
  { printf '\000\000\010\003\000\000\000\010\000\000\000\034\000\000\000\034'; head -c 6000 /dev/zero; } > mnist/$part-images-idx3-ubyte
  { printf '\000\000\010\001\000\000\000\010'; head -c 8 /dev/zero; } > mnist/$part-labels-idx1-ubyte
done
compile bad.model --quiet

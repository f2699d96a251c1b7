{ printf '\223NUMPY\001\000\075\000'; printf "{'descr': '<i8', 'fortran_order': False, 'shape': (16, 4), }\n"; head -c 512 /dev/zero; } > x.npy
{ printf '\223NUMPY\001\000\075\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 3), }\n"; head -c 192 /dev/zero; } > y.npy
compile bad.model --plan-only --quiet

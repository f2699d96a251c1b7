{ printf '\223NUMPY\001\000\074\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 4), }\n"; head -c 128 /dev/zero; } > x.npy
{ printf '\223NUMPY\001\000\074\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 3), }\n"; head -c 96 /dev/zero; } > y.npy
compile good.model --plan-only --quiet

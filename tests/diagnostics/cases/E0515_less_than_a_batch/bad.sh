{ printf '\223NUMPY\001\000\074\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 4), }\n"; head -c 112 /dev/zero; } > x.npy
{ printf '\223NUMPY\001\000\074\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 3), }\n"; head -c 84 /dev/zero; } > y.npy
compile bad.model --plan-only --quiet

{ printf '\223NUMPY\001\000\074\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }\n"; head -c 48 /dev/zero; } > w.npy
compile good.model --plan-only --quiet

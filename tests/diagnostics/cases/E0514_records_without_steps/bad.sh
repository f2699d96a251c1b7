{ printf '\223NUMPY\001\000\074\000'; printf "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"; head -c 48 /dev/zero; } > class.npy
compile bad.model --plan-only --quiet

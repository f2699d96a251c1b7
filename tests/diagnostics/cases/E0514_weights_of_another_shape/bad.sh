{ printf '\071\000\000\000\000\000\000\000%s' '{"w":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}}'; head -c 48 /dev/zero; } > w.safetensors
compile bad.model --plan-only --quiet

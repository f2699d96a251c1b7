{ printf '\156\000\000\000\000\000\000\000%s' '{"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[4,3],"data_offsets":[4,52]}}'; head -c 52 /dev/zero; } > w.safetensors
compile good.model --plan-only --quiet

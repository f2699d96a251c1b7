{ printf '\071\000\000\000\000\000\000\000%s' '{"w":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]}}'; head -c 48 /dev/zero; } > w.safetensors
printf '{"rope_theta": 500000.0}' > config.json
compile bad.model --plan-only --quiet

cat >lab.json <<'END'
{"format": "cleave-cluster", "version": 1, "name": "lab",
 "device": {"peak": {"f32": "150GFLOP/s"}, "memory_bandwidth": "10GB/s"},
 "links": [{"name": "host", "count": 4, "bandwidth": "4GB/s", "latency": "5us"}]}
END
cat lab.json | compile good.model --cluster /dev/stdin --plan-only --quiet

cat >lab.json <<'END'
{"format": "cleave-cluster", "version": 1, "name": "lab", "hosts": ["node1", "node2"],
 "device": {"peak": {"f32": "150GFLOP/s"}, "memory_bandwidth": "10GB/s"},
 "links": [{"name": "host", "count": 2, "bandwidth": "4GB/s", "latency": "5us"}],
 "network": {"bandwidth": "NaN GB/s", "latency": "30us"}}
END
compile good.model --cluster lab.json --plan-only --quiet

cat >ranks.json <<'END'
{"version": "1.0", "server_count": "1", "status": "completed",
 "server_list": [{"server_id": "10.0.0.1", "host_nic_ip": "reserve",
                  "device": [{"device_id": "0", "device_ip": "192.168.1.6", "rank_id": "0"},
                             {"device_id": "1", "device_ip": "192.168.1.7", "rank_id": "1"}]}]}
END
compile good.model --devices 2 --launch rank-table ranks.json --quiet

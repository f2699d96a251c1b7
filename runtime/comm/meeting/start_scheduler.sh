# For tests, which read it: `scheduler` is the program, `folder` one for their files.

# Starts a scheduler for $1 ranks on a free port; `address` is where it listens, `pids` what to wait for.
start_scheduler() {
  rm -f "$folder/address"
  mkfifo "$folder/address"
  CLEAVE_SCHEDULER=127.0.0.1:0 CLEAVE_WORKERS=$1 "$scheduler" >"$folder/address" &
  pids=$!
  read -r address <"$folder/address"
}

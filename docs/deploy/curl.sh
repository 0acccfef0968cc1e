#!/bin/sh
# Ask, play, tell, with curl alone. LSDT is the address of a service, LSDT_KEY a key where it needs one.
set -eu
LSDT=${LSDT:-http://127.0.0.1:8900}
call() { curl --silent --show-error --fail-with-body --header "Authorization: Bearer ${LSDT_KEY:-}" "$@"; }

call --json '{"name": "drinks", "arms": ["tea", "coffee", "juice"], "similar": [["tea", "coffee"]],
              "epsilon": 0.1, "policy": "ucb1"}' "$LSDT/v1/experiments"
echo

# The same key again gives the same decision: a retry after a timeout asks once.
answer=$(call --header 'Idempotency-Key: visit-1' --json '{}' "$LSDT/v1/experiments/drinks/ask")
decision=$(printf '%s' "$answer" | sed 's/.*"id":"\([^"]*\)".*/\1/')
echo "$answer"

call --json "{\"decision\": \"$decision\", \"reward\": 1}" "$LSDT/v1/experiments/drinks/tell"
echo
call "$LSDT/v1/experiments/drinks/best"
echo

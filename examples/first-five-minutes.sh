#!/usr/bin/env bash
# The tour of README.md, as a script: it ends with 0 only if every step ends as the README says.
# Needs `palisade` on the PATH. Works in a directory of its own and leaves nothing behind.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PALISADE_STATE="$work/state"

# Runs a command that must end with the given status.
ends_with() {
  local expected=$1 status=0
  shift
  "$@" || status=$?
  [ "$status" -eq "$expected" ] || { echo "expected exit status $expected, got $status: $*" >&2; exit 1; }
}

# A call, and its receipt.
palisade call palisade.echo --input '{"message":"hello"}' --as agent:ada --receipt receipt.json

# A stranger with the public keys verifies the receipt, without the state directory.
palisade keys export --out keys.json
HOME=$work env -u PALISADE_STATE palisade verify receipt.json --key keys.json

# A changed receipt does not verify.
sed 's/"payload":"eyJ/"payload":"eyK/' receipt.json > forged.json
ends_with 1 palisade verify forged.json --key keys.json

# A call that needs a person: refused, explained, approved, run once.
ends_with 2 palisade call palisade.sleep --input '{"ms":10001}' --as agent:ada
ends_with 2 palisade policy explain palisade.sleep --input '{"ms":10001}' --as agent:ada
request=$(palisade approvals list --only pending | awk 'NR == 2 { print $1 }')
ends_with 2 palisade approvals approve "$request" --as agent:ada
palisade approvals approve "$request" --as user:grace --note "once, for the tour"
palisade call palisade.sleep --input '{"ms":10001}' --as agent:ada
ends_with 2 palisade call palisade.sleep --input '{"ms":10001}' --as agent:ada

# What it cost, and what is on record.
palisade budget list
palisade journal tail
palisade journal verify

# What to keep elsewhere: a later journal must be a continuation of it.
palisade journal checkpoint --out checkpoint.json
palisade journal verify --checkpoint checkpoint.json

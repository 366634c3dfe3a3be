#!/usr/bin/env bash
# Commands in a sandbox, from their output to what they leave behind. Works in a directory of its own; needs no set-up
# beside `palisade` on the PATH, and bubblewrap.
set -euo pipefail

place=$(mktemp -d /var/tmp/palisade-tour-XXXXXX)
trap 'rm -rf "$place"' EXIT
export PALISADE_STATE="$place/state"
mkdir "$place/project"
cd "$place/project"
# Palisade works in projects: where it finds .git, package.json, a Makefile or their like, or where --workspace says.
touch Makefile

# It behaves like the command: output, errors and exit status come through.
palisade exec -- uname
printf 'b\na\n' | palisade exec --stdin -- sort
palisade exec -- sh -c 'exit 3' || echo "the status is $?"

# The jail has no network, none of your files and none of your variables. A failure says what would allow a path.
echo mine > "$place/notes"
palisade exec -- cat "$place/notes" || echo "kept out with $?"
SECRET=1 palisade exec -- sh -c 'echo "secret: ${SECRET:-unseen}"'

# Limits end what does not end by itself.
palisade exec --timeout 500ms -- sleep 60 || echo "ended with $?"
palisade exec --limit output_bytes=1k --output-overflow kill -- yes > /dev/null || echo "ended with $?"

# What a run changed, and what of that is dangerous.
palisade exec --diff -- sh -c 'echo hello > greeting; mkfifo trap'

# What would run, and why it may; nothing does.
palisade exec --dry-run --json -- touch canary > "$place/plan.json"
palisade exec --dry-run -- touch canary | grep -E '^(program|tier|workspace|allowed)'
test ! -e canary

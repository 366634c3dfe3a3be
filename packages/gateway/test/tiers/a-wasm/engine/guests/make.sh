#!/bin/sh
# Makes the components of these tests from their sources: `make.sh DIRECTORY-OF-WASI-WIT`. It needs clang with wasm-ld and
# wasm-tools; the tests need neither, since what comes out is kept beside the sources.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/wit/deps"
cp ../../../../../../guest/wit/*.wit worlds.wit "$work/wit/"
cp -r "$1"/* "$work/wit/deps/"
for name in skill wasi forger sockets files; do
  clang --target=wasm32 -nostdlib -Os -mbulk-memory -Wall -Wno-unused -Wno-builtin-requires-header \
    -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 -o "$work/$name.wasm" "$name.c"
  wasm-tools component embed --all-features --world "guest-$name" "$work/wit" "$work/$name.wasm" -o "$work/embedded.wasm"
  wasm-tools component new "$work/embedded.wasm" -o "$name.component.wasm"
done
# A dummy imports all that an interface has; that of files has only what is there.
rm -r "$work"/wit/deps/*filesystem*
mkdir "$work/wit/deps/filesystem"
cp no-files.wit "$work/wit/deps/filesystem/package.wit"
wasm-tools component embed --all-features --dummy --world guest-every "$work/wit" -o "$work/embedded.wasm"
wasm-tools component new "$work/embedded.wasm" -o every.component.wasm

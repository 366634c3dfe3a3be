#!/bin/sh
# Compiles every kernel of this directory; needs clang and lld. The modules are kept beside their sources.
set -eu
cd "$(dirname "$0")"
for source in *.c; do
  clang --target=wasm32 -O2 -Wall -Wextra -Werror -ffreestanding -fno-builtin -nostdlib \
    -Wl,--no-entry -Wl,--strip-all -o "${source%.c}.wasm" "$source"
done
chmod 644 ./*.wasm

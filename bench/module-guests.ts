import loadWabt from 'wabt';

const wabt = await loadWabt();

function wat(text: string): Uint8Array<ArrayBuffer> {
  const parsed = wabt.parseWat('guest.wat', text, {});
  try {
    return new Uint8Array(parsed.toBinary({}).buffer);
  } finally {
    parsed.destroy();
  }
}

/** Copies its input, byte by byte, and returns the copy: by our ABI. */
export function echoOfOurs(): Uint8Array<ArrayBuffer> {
  return wat(`(module (memory (export "memory") 1 16)
    (func (export "palisade_alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "tool") (param $at i32) (param $length i32) (result i64) (local $i i32)
      (block $done (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $length)))
        (i32.store8 (i32.add (i32.const 32768) (local.get $i))
          (i32.load8_u (i32.add (local.get $at) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
      (i64.or (i64.shl (i64.const 32768) (i64.const 32)) (i64.extend_i32_u (local.get $length)))))`);
}

/** The same as a component, as the linker leaves it: text in, text out, by the canonical ABI. */
export function echoOfComponent(): Uint8Array<ArrayBuffer> {
  return wat(`(module (memory (export "memory") 1 16)
    (global $free (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $free)
      (global.set $free (i32.and (i32.add (i32.add (global.get $free) (local.get 3)) (i32.const 7)) (i32.const -8))))
    (func (export "run") (param i32 i32) (param $at i32) (param $length i32) (result i32) (local $i i32)
      (block $done (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $length)))
        (i32.store8 (i32.add (i32.const 32768) (local.get $i))
          (i32.load8_u (i32.add (local.get $at) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
      (i32.store (i32.const 516) (i32.const 32768))
      (i32.store (i32.const 520) (local.get $length))
      (i32.const 512)))`);
}

/** The same work by Extism's, whose memory is another module's: it is read and written through calls, eight bytes each. */
export function echoOfExtism(): Uint8Array<ArrayBuffer> {
  return wat(`(module
    (import "extism:host/env" "input_length" (func $length (result i64)))
    (import "extism:host/env" "input_load_u8" (func $load (param i64) (result i32)))
    (import "extism:host/env" "input_load_u64" (func $loadMany (param i64) (result i64)))
    (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
    (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
    (import "extism:host/env" "store_u64" (func $storeMany (param i64 i64)))
    (import "extism:host/env" "output_set" (func $output (param i64 i64)))
    (memory (export "memory") 1)
    (func (export "tool") (result i32) (local $i i64) (local $n i64) (local $to i64)
      (local.set $n (call $length))
      (local.set $to (call $alloc (local.get $n)))
      (block $few (loop $many
        (br_if $few (i64.gt_u (i64.add (local.get $i) (i64.const 8)) (local.get $n)))
        (call $storeMany (i64.add (local.get $to) (local.get $i)) (call $loadMany (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 8)))
        (br $many)))
      (block $done (loop $next
        (br_if $done (i64.ge_u (local.get $i) (local.get $n)))
        (call $store (i64.add (local.get $to) (local.get $i)) (call $load (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next)))
      (call $output (local.get $to) (local.get $n))
      (i32.const 0)))`);
}

;; {"page":"home"} → {"page":"home","visits":n}: one visit more, whoever else counts at the same time.
(module
  (import "palisade_v1" "fail" (func $fail (param $place i32) (param $length i32)))
  (import "palisade_v1" "capability_handle" (func $handle (param $kind i32) (param $index i32) (result i32)))
  (import "palisade_v1" "result_read" (func $read (param $place i32) (param $length i32) (result i32)))
  (import "palisade_v1" "storage_get"
    (func $get (param $handle i32) (param $key i32) (param $length i32) (result i32)))
  (import "palisade_v1" "storage_put"
    (func $put
      (param $handle i32) (param $key i32) (param $length i32)
      (param $value i32) (param $value_length i32) (param $version f64) (result i32)))

  (memory (export "memory") 1)
  (data (i32.const 16) "{\"page\":\"")
  (data (i32.const 32) "\",\"visits\":")
  (data (i32.const 48) "visits/")
  (data (i32.const 128) "{\"code\":\"wrong-input\",\"message\":\"expected an object with a page: 1 to 64 small letters, digits and dashes\"}")
  (data (i32.const 240) "{\"code\":\"no-storage\",\"message\":\"the visits cannot be read\"}")
  (data (i32.const 304) "{\"code\":\"no-count\",\"message\":\"what is stored is no count\"}")
  (data (i32.const 368) "{\"code\":\"no-storage\",\"message\":\"the visit cannot be written\"}")
  (data (i32.const 432) "{\"code\":\"busy\",\"message\":\"too many others count at the same time\"}")

  ;; The key, what was stored (eight bytes with the version, then digits), what is written, and the answer.
  (global $key i32 (i32.const 1024))
  (global $stored i32 (i32.const 2048))
  (global $value i32 (i32.const 3072))
  (global $output i32 (i32.const 4096))
  (global $free (mut i32) (i32.const 8192))

  (func (export "palisade_alloc") (param $length i32) (result i32)
    (local $place i32)
    (local.set $place (global.get $free))
    (global.set $free (i32.add (local.get $place) (local.get $length)))
    (block $fits
      (loop $grow
        (br_if $fits
          (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $grow (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0))))
      (unreachable))
    (local.get $place))

  ;; The input is canonical JSON: an object with a page and nothing else has one spelling, and a page no escapes.
  (func (export "visit") (param $place i32) (param $length i32) (result i64)
    (local $page i32) (local $size i32)
    (local.set $page (i32.add (local.get $place) (i32.const 9)))
    (local.set $size (i32.sub (local.get $length) (i32.const 11)))
    (if (i32.or
          (i32.lt_u (local.get $length) (i32.const 12))
          (i32.gt_u (local.get $size) (i32.const 64)))
      (then (return (call $refuse (i32.const 128) (i32.const 107)))))
    (if (i32.eqz
          (i32.and
            (call $same (local.get $place) (i32.const 16) (i32.const 9))
            (call $is_name (local.get $page) (local.get $size))))
      (then (return (call $refuse (i32.const 128) (i32.const 107)))))
    (if (i32.ne
          (i32.load16_u (i32.add (local.get $page) (local.get $size)))
          (i32.const 0x7d22))
      (then (return (call $refuse (i32.const 128) (i32.const 107)))))
    (memory.copy (global.get $key) (i32.const 48) (i32.const 7))
    (memory.copy (i32.add (global.get $key) (i32.const 7)) (local.get $page) (local.get $size))
    (call $visited (local.get $page) (local.get $size)))

  (func $visited (param $page i32) (param $size i32) (result i64)
    (local $left i32) (local $length i32) (local $visits i32) (local $version f64) (local $put i32)
    (local.set $left (i32.const 100))
    (loop $again
      (local.set $length
        (call $get
          (call $handle (i32.const 3) (i32.const 0))
          (global.get $key)
          (i32.add (local.get $size) (i32.const 7))))
      (local.set $visits (i32.const 0))
      (local.set $version (f64.const 0))
      (if (i32.lt_s (local.get $length) (i32.const 0))
        (then
          ;; -2: nothing is stored yet, which is no error.
          (if (i32.ne (local.get $length) (i32.const -2))
            (then (return (call $refuse (i32.const 240) (i32.const 59))))))
        (else
          (local.set $visits (call $count (local.get $length)))
          (if (i32.lt_s (local.get $visits) (i32.const 0))
            (then (return (call $refuse (i32.const 304) (i32.const 58)))))
          (local.set $version (f64.load (global.get $stored)))))
      (local.set $visits (i32.add (local.get $visits) (i32.const 1)))
      (local.set $put
        (call $put
          (call $handle (i32.const 3) (i32.const 0))
          (global.get $key)
          (i32.add (local.get $size) (i32.const 7))
          (global.get $value)
          (i32.sub (call $digits (global.get $value) (local.get $visits)) (global.get $value))
          (local.get $version)))
      (if (i32.eqz (local.get $put))
        (then (return (call $answer (local.get $page) (local.get $size) (local.get $visits)))))
      ;; -5: another call was faster, so read again what it has written.
      (if (i32.ne (local.get $put) (i32.const -5))
        (then (return (call $refuse (i32.const 368) (i32.const 61)))))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (call $refuse (i32.const 432) (i32.const 66)))

  ;; The number that is stored, by the length of the answer; -1 where it is no count.
  (func $count (param $length i32) (result i32)
    (local $at i32) (local $number i32) (local $digit i32)
    (if (i32.or
          (i32.lt_u (local.get $length) (i32.const 9))
          (i32.gt_u (local.get $length) (i32.const 17)))
      (then (return (i32.const -1))))
    (drop (call $read (global.get $stored) (i32.const 17)))
    (local.set $at (i32.const 8))
    (loop $next
      (local.set $digit
        (i32.sub
          (i32.load8_u (i32.add (global.get $stored) (local.get $at)))
          (i32.const 0x30)))
      (if (i32.gt_u (local.get $digit) (i32.const 9)) (then (return (i32.const -1))))
      (local.set $number
        (i32.add (i32.mul (local.get $number) (i32.const 10)) (local.get $digit)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $length))))
    (local.get $number))

  ;; Whether all bytes are small letters, digits or dashes; there is one at least.
  (func $is_name (param $at i32) (param $size i32) (result i32)
    (local $byte i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.eqz
            (i32.or
              (i32.or
                (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x61)) (i32.const 26))
                (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10)))
              (i32.eq (local.get $byte) (i32.const 0x2d))))
        (then (return (i32.const 0))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (local.tee $size (i32.sub (local.get $size) (i32.const 1)))))
    (i32.const 1))

  (func $answer (param $page i32) (param $size i32) (param $visits i32) (result i64)
    (local $at i32)
    (memory.copy (global.get $output) (i32.const 16) (i32.const 9))
    (local.set $at (i32.add (global.get $output) (i32.const 9)))
    (memory.copy (local.get $at) (local.get $page) (local.get $size))
    (local.set $at (i32.add (local.get $at) (local.get $size)))
    (memory.copy (local.get $at) (i32.const 32) (i32.const 11))
    (local.set $at (call $digits (i32.add (local.get $at) (i32.const 11)) (local.get $visits)))
    (i32.store8 (local.get $at) (i32.const 0x7d))
    (i64.or
      (i64.shl (i64.extend_i32_u (global.get $output)) (i64.const 32))
      (i64.extend_i32_u
        (i32.sub (i32.add (local.get $at) (i32.const 1)) (global.get $output)))))

  ;; Writes the digits of a number; gives the place behind them.
  (func $digits (param $at i32) (param $number i32) (result i32)
    (if (i32.ge_u (local.get $number) (i32.const 10))
      (then
        (local.set $at
          (call $digits (local.get $at) (i32.div_u (local.get $number) (i32.const 10))))))
    (i32.store8
      (local.get $at)
      (i32.add (i32.const 0x30) (i32.rem_u (local.get $number) (i32.const 10))))
    (i32.add (local.get $at) (i32.const 1)))

  (func $same (param $a i32) (param $b i32) (param $length i32) (result i32)
    (loop $next
      (if (i32.eqz (local.get $length)) (then (return (i32.const 1))))
      (local.set $length (i32.sub (local.get $length) (i32.const 1)))
      (br_if $next
        (i32.eq
          (i32.load8_u (i32.add (local.get $a) (local.get $length)))
          (i32.load8_u (i32.add (local.get $b) (local.get $length))))))
    (i32.const 0))

  ;; Says what went wrong; what is returned after that does not matter.
  (func $refuse (param $place i32) (param $length i32) (result i64)
    (call $fail (local.get $place) (local.get $length))
    (i64.const 0)))

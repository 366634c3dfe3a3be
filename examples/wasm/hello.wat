;; A guest of palisade with one tool, which takes {"name":"Ada"} and returns {"greeting":"Hello, Ada!"}.
(module
  (import "palisade_v1" "fail" (func $fail (param $place i32) (param $length i32)))

  (memory (export "memory") 1)
  (data $before (i32.const 16) "{\"name\":\"")
  (data $hello (i32.const 32) "{\"greeting\":\"Hello, ")
  (data $after (i32.const 64) "!\"}")
  (data $error (i32.const 80) "{\"code\":\"wrong-input\",\"message\":\"expected an object with a name and nothing else\"}")

  ;; Where the next bytes go. Every call has a new guest, so nothing is ever freed.
  (global $free (mut i32) (i32.const 1024))

  ;; Allocates that many bytes; traps when there is no more memory.
  (func $alloc (export "palisade_alloc") (param $length i32) (result i32)
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

  ;; The input is canonical JSON: no spaces, keys in order. So an object with a name and nothing else has one spelling.
  (func (export "greet") (param $place i32) (param $length i32) (result i64)
    (local $name i32) (local $end i32) (local $answer i32) (local $size i32)
    (local.set $name (i32.add (local.get $place) (i32.const 9)))
    (local.set $end (i32.sub (i32.add (local.get $place) (local.get $length)) (i32.const 2)))
    (if (i32.or
          (i32.lt_u (local.get $length) (i32.const 11))
          (i32.eqz (call $same (local.get $place) (i32.const 16) (i32.const 9))))
      (then (return (call $refuse))))
    (if (i32.ne (call $end_of_text (local.get $name) (local.get $end)) (local.get $end))
      (then (return (call $refuse))))

    (local.set $size (i32.sub (local.get $end) (local.get $name)))
    (local.set $answer (call $alloc (i32.add (local.get $size) (i32.const 23))))
    (memory.copy (local.get $answer) (i32.const 32) (i32.const 20))
    (memory.copy (i32.add (local.get $answer) (i32.const 20)) (local.get $name) (local.get $size))
    (memory.copy
      (i32.add (local.get $answer) (i32.add (local.get $size) (i32.const 20)))
      (i32.const 64)
      (i32.const 3))
    (call $pack (local.get $answer) (i32.add (local.get $size) (i32.const 23))))

  ;; The place of the quote that ends a JSON string, or the end.
  (func $end_of_text (param $at i32) (param $end i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (br_if $done (i32.eq (i32.load8_u (local.get $at)) (i32.const 34)))
        ;; A backslash escapes the next character.
        (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 92))
          (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.get $at))

  (func $same (param $a i32) (param $b i32) (param $length i32) (result i32)
    (loop $next
      (if (i32.eqz (local.get $length)) (then (return (i32.const 1))))
      (local.set $length (i32.sub (local.get $length) (i32.const 1)))
      (br_if $next
        (i32.eq
          (i32.load8_u (i32.add (local.get $a) (local.get $length)))
          (i32.load8_u (i32.add (local.get $b) (local.get $length))))))
    (i32.const 0))

  ;; Reports the failure; what is returned after that does not matter.
  (func $refuse (result i64)
    (call $fail (i32.const 80) (i32.const 82))
    (i64.const 0))

  ;; A result: its place in the upper half, its length in the lower.
  (func $pack (param $place i32) (param $length i32) (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $place)) (i64.const 32))
      (i64.extend_i32_u (local.get $length)))))

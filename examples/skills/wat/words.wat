;; {"text":"…"} → {"longest":"…","words":n}: how many words a text has, and the first of its longest.
;; The input is canonical JSON, in which every text has one spelling: it is read, and given back, as it is spelled.
(module
  (import "palisade_v1" "fail" (func $fail (param $place i32) (param $length i32)))

  (memory (export "memory") 1)
  (data (i32.const 16) "{\"text\":\"")
  (data (i32.const 32) "{\"longest\":\"")
  (data (i32.const 48) "\",\"words\":")
  (data (i32.const 64) "{\"code\":\"wrong-input\",\"message\":\"expected an object with a text and nothing else\"}")

  ;; Where the next bytes go. Every call has a new guest, so nothing is ever given back.
  (global $free (mut i32) (i32.const 1024))

  ;; A place for so many bytes; traps where there is no more memory.
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

  (func (export "words") (param $place i32) (param $length i32) (result i64)
    (local $at i32) (local $end i32) (local $from i32) (local $characters i32)
    (local $count i32) (local $most i32) (local $longest i32) (local $size i32)
    (local.set $at (i32.add (local.get $place) (i32.const 9)))
    (local.set $end (i32.sub (i32.add (local.get $place) (local.get $length)) (i32.const 2)))
    (if (i32.or
          (i32.lt_u (local.get $length) (i32.const 11))
          (i32.eqz (call $same (local.get $place) (i32.const 16) (i32.const 9))))
      (then (return (call $refuse))))
    (if (i32.ne (call $end_of_text (local.get $at) (local.get $end)) (local.get $end))
      (then (return (call $refuse))))

    (block $done
      (loop $next_word
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $from (local.get $at))
        (local.set $characters (i32.const 0))
        (block $word_ends
          (loop $next_character
            (br_if $word_ends (i32.ge_u (local.get $at) (local.get $end)))
            (br_if $word_ends (call $space (local.get $at)))
            (local.set $characters (i32.add (local.get $characters) (i32.const 1)))
            (local.set $at (i32.add (local.get $at) (call $character (local.get $at))))
            (br $next_character)))
        (local.set $count
          (i32.add (local.get $count) (i32.ne (local.get $characters) (i32.const 0))))
        (if (i32.gt_u (local.get $characters) (local.get $most))
          (then
            (local.set $most (local.get $characters))
            (local.set $longest (local.get $from))
            (local.set $size (i32.sub (local.get $at) (local.get $from)))))
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $at (i32.add (local.get $at) (call $space (local.get $at))))
        (br $next_word)))

    (call $answer (local.get $longest) (local.get $size) (local.get $count)))

  ;; How many bytes of white space, as Unicode has it, are spelled here: 0 where another character is.
  (func $space (param $at i32) (result i32)
    (local $first i32) (local $two i32)
    (local.set $first (i32.load8_u (local.get $at)))
    (if (i32.eq (local.get $first) (i32.const 0x20)) (then (return (i32.const 1))))
    ;; \t \n \f \r, and \u000b, which has no letter.
    (if (i32.eq (local.get $first) (i32.const 0x5c))
      (then
        (local.set $first (i32.load8_u offset=1 (local.get $at)))
        (if (i32.or
              (i32.or (i32.eq (local.get $first) (i32.const 0x74)) (i32.eq (local.get $first) (i32.const 0x6e)))
              (i32.or (i32.eq (local.get $first) (i32.const 0x66)) (i32.eq (local.get $first) (i32.const 0x72))))
          (then (return (i32.const 2))))
        (if (i32.eq (local.get $first) (i32.const 0x75))
          (then
            (return
              (select
                (i32.const 6)
                (i32.const 0)
                (i32.eq (i32.load offset=2 (local.get $at)) (i32.const 0x62303030))))))
        (return (i32.const 0))))
    ;; U+0085, U+00A0
    (local.set $two (i32.load16_u (local.get $at)))
    (if (i32.or
          (i32.eq (local.get $two) (i32.const 0x85c2))
          (i32.eq (local.get $two) (i32.const 0xa0c2)))
      (then (return (i32.const 2))))
    (select
      (i32.const 3)
      (i32.const 0)
      (call $wide_space (local.get $two) (i32.load8_u offset=2 (local.get $at)))))

  ;; Whether three bytes are white space: U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000.
  (func $wide_space (param $two i32) (param $third i32) (result i32)
    (if (i32.eq (local.get $two) (i32.const 0x80e2))
      (then
        (return
          (i32.or
            (i32.or
              (i32.le_u (local.get $third) (i32.const 0x8a))
              (i32.eq (local.get $third) (i32.const 0xaf)))
            (i32.or
              (i32.eq (local.get $third) (i32.const 0xa8))
              (i32.eq (local.get $third) (i32.const 0xa9)))))))
    (if (i32.eq (local.get $two) (i32.const 0x81e2))
      (then (return (i32.eq (local.get $third) (i32.const 0x9f)))))
    (i32.and
      (i32.or
        (i32.eq (local.get $two) (i32.const 0x9ae1))
        (i32.eq (local.get $two) (i32.const 0x80e3)))
      (i32.eq (local.get $third) (i32.const 0x80))))

  ;; How many bytes the character here is spelled with.
  (func $character (param $at i32) (result i32)
    (local $first i32)
    (local.set $first (i32.load8_u (local.get $at)))
    (if (i32.eq (local.get $first) (i32.const 0x5c))
      (then
        (return
          (select
            (i32.const 6)
            (i32.const 2)
            (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 0x75))))))
    (if (i32.lt_u (local.get $first) (i32.const 0x80)) (then (return (i32.const 1))))
    (if (i32.lt_u (local.get $first) (i32.const 0xe0)) (then (return (i32.const 2))))
    (select (i32.const 3) (i32.const 4) (i32.lt_u (local.get $first) (i32.const 0xf0))))

  (func $answer (param $longest i32) (param $size i32) (param $count i32) (result i64)
    (local $start i32) (local $at i32)
    (local.set $start (call $alloc (i32.add (local.get $size) (i32.const 64))))
    (memory.copy (local.get $start) (i32.const 32) (i32.const 12))
    (local.set $at (i32.add (local.get $start) (i32.const 12)))
    (memory.copy (local.get $at) (local.get $longest) (local.get $size))
    (local.set $at (i32.add (local.get $at) (local.get $size)))
    (memory.copy (local.get $at) (i32.const 48) (i32.const 10))
    (local.set $at (call $digits (i32.add (local.get $at) (i32.const 10)) (local.get $count)))
    (i32.store8 (local.get $at) (i32.const 0x7d))
    (call $pack
      (local.get $start)
      (i32.sub (i32.add (local.get $at) (i32.const 1)) (local.get $start))))

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

  ;; The place of the quote that ends a JSON string, or the first place from the end on.
  (func $end_of_text (param $at i32) (param $end i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (br_if $done (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x22)))
        (local.set $at (i32.add (local.get $at) (call $character (local.get $at))))
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

  ;; Says what went wrong; what is returned after that does not matter.
  (func $refuse (result i64)
    (call $fail (i32.const 64) (i32.const 82))
    (i64.const 0))

  ;; An answer: its place above, its length below.
  (func $pack (param $place i32) (param $length i32) (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $place)) (i64.const 32))
      (i64.extend_i32_u (local.get $length)))))

;; A guest that can say something, if its host gives it a voice.
(module
  (import "env" "say" (func $say (param $pointer i32) (param $length i32)))
  (memory (export "memory") 1)
  (data (i32.const 8) "hello from the guest")

  (func (export "greet")
    (call $say (i32.const 8) (i32.const 20)))

  ;; Reaches past its own memory, and traps.
  (func (export "stray") (result i32)
    (i32.load (i32.const 65536))))

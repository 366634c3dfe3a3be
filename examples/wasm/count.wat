;; A guest that computes and wants nothing of its host.
(module
  ;; 1 + 2 + … + n, for n above zero.
  (func (export "sum") (param $n i32) (result i32)
    (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (local.get $n)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum))

  (func (export "forever")
    (loop $again (br $again))))

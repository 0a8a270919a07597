;; A valid module that exports nothing of the contract.
;;
;; The host must refuse it before compiling, and name the exports that it misses (`lifecycle`, and one of
;; `handler`, `reconciler`, `timer`).
(module
  (memory (export "memory") 1)
  (func (export "add") (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1))))

;; Answers every event with a failure whose text has 16 MiB.
;;
;; The host must not take that in: the bytes that one call may hand to the host are bounded, and the instance ends.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  (func (export "informant:plugin/handler@0.1.0#handle") (param i32) (result i32)
    (drop (memory.grow (i32.const 257)))
    ;; 384: a failure with its text at 65536, to be tried again
    (i32.store8 (i32.const 384) (i32.const 1))
    (i32.store (i32.const 392) (i32.const 65536))
    (i32.store (i32.const 396) (i32.const 16777216))
    (i32.const 384)))

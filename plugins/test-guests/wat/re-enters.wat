;; Calls the host while the host is handing it an answer: when memory is asked for a line of the log is written.
;;
;; The host must end the instance, and must neither hang nor call itself.
(module
  (import "informant:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
  (import "informant:plugin/event-data@0.1.0" "json" (func $json (param i32 i32)))
  ;; include ../parts/memory.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (global $sinning (mut i32) (i32.const 0))
  (func $before_realloc
    (if (global.get $sinning)
      (then (call $log (i32.const 2) (i32.const 512) (i32.const 10) (i32.const 0) (i32.const 0)))))
  (func $sin
    (global.set $sinning (i32.const 1))
    ;; side `new`, the answer's place
    (call $json (i32.const 0) (i32.const 336))))

;; Logs a text that is not UTF-8 on every event.
;;
;; The host must end the instance and say that the text is not UTF-8; nothing of it may reach the log.
(module
  (import "informant:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (data (i32.const 640) "before\ff\feafter")
  (func $sin
    (call $log (i32.const 2) (i32.const 640) (i32.const 13) (i32.const 0) (i32.const 0))))

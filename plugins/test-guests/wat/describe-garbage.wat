;; Its descriptor is not JSON.
;;
;; The host must refuse it, show where the text stops being JSON, and keep an older version running.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (func $sin)
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\12\00\00\00")
  (data (i32.const 512) "certainly not JSON"))

;; Its descriptor has a misspelt key, `resuorce`.
;;
;; The host must refuse it and name the nearest known key, `resource`.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (func $sin)
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\4d\00\00\00")
  (data (i32.const 512) "{\"version\":\"0.1.0\",\"subscriptions\":[{\"name\":\"v1/pods\",\"resuorce\":\"v1/pods\"}]}"))

;; Subscribes to Secrets.
;;
;; The host must not give it any, must not begin to cache them for it, and must say why it does not run.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (func $sin)
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\3f\00\00\00")
  (data (i32.const 512) "{\"version\":\"0.1.0\",\"subscriptions\":[{\"resource\":\"v1/secrets\"}]}"))

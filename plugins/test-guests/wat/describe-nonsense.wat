;; Subscribes to what cannot be: its resource is not written as one.
;;
;; The host must refuse it before any informer is asked for, and say in which subscription and how a resource is written.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (func $sin)
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\49\00\00\00")
  (data (i32.const 512) "{\"version\":\"0.1.0\",\"subscriptions\":[{\"resource\":\"all the pods, please\"}]}"))

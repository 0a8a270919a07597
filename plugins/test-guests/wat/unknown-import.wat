;; Imports an interface that this host does not offer: one that would write to the cluster.
;;
;; The host must refuse it before compiling, and name the interface and those that it offers.
(module
  (import "informant:plugin/kube@0.1.0" "record-event"
    (func $record (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (func $sin))

;; Exports the contract's names with other types: its `handle` takes nothing and answers nothing.
;;
;; The host must refuse it before compiling, and say that it does not keep the contract.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  (func (export "informant:plugin/handler@0.1.0#handle")))

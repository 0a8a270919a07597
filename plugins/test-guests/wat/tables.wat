;; Lets a table grow without end on every event.
;;
;; The host must end the instance at the limit of tables' elements and name that limit as the cause.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (table $table 1 funcref)
  (func $sin
    (loop $more
      (drop (table.grow $table (ref.null func) (i32.const 1000)))
      (br $more))))

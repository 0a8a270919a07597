;; Calls itself without end on every event.
;;
;; The host must end the instance when its stack is used up, name the function, and keep its own stack.
(module
  ;; include ../parts/memory.wat
  ;; include ../parts/plain-realloc.wat
  ;; include ../parts/pods.wat
  ;; include ../parts/lifecycle.wat
  ;; include ../parts/handle.wat
  (func $sin (call $deeper))
  (func $deeper (call $deeper)))

;; Imports an interface that this host does not offer: WASI's own way to HTTP servers, past what is granted.
;;
;; The host must refuse it before compiling, and name the interface and those that it offers.
(component
  (import "wasi:http/outgoing-handler@0.2.6" (instance))
  (instance $nothing)
  (export "informant:plugin/lifecycle@0.1.0" (instance $nothing))
  (export "informant:plugin/handler@0.1.0" (instance $nothing)))

  ;; parts/lifecycle.wat: describes itself, starts and stops without sin.
  (func (export "informant:plugin/lifecycle@0.1.0#describe") (param i32 i32) (result i32) (i32.const 256))
  (func (export "informant:plugin/lifecycle@0.1.0#start") (param i32 i32) (result i32) (i32.const 320))
  (func (export "informant:plugin/lifecycle@0.1.0#stop"))

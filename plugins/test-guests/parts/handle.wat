  ;; parts/handle.wat: takes the event and says nothing about it, unless the sin does something first.
  (func (export "informant:plugin/handler@0.1.0#handle") (param i32) (result i32)
    (call $sin)
    (i32.const 320))
  (func (export "cabi_post_informant:plugin/handler@0.1.0#handle") (param i32)
    (global.set $heap (i32.const 1024)))

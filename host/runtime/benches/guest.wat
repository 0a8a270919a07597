;; A plugin that does nothing, so that what is left is the host's work. DESCRIPTOR and LENGTH are filled in.
(module
  (memory (export "memory") 2)
  ;; 256: result<json, string>, ok with the descriptor at 512; 320: every other result, ok.
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\LENGTH\00\00")
  (data (i32.const 512) "DESCRIPTOR")
  ;; Handed out upwards, and all free again after each call; 128 KiB hold any event of the bench.
  (global $heap (mut i32) (i32.const 1024))
  (func (export "cabi_realloc") (param i32 i32) (param $align i32) (param $size i32) (result i32)
    (local $block i32)
    (local.set $block
      (i32.and
        (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $block) (local.get $size)))
    (local.get $block))
  (func (export "informant:plugin/lifecycle@0.1.0#describe") (param i32 i32) (result i32)
    (i32.const 256))
  (func (export "informant:plugin/lifecycle@0.1.0#start") (param i32 i32) (result i32)
    (i32.const 320))
  (func (export "informant:plugin/lifecycle@0.1.0#stop"))
  (func (export "informant:plugin/handler@0.1.0#handle") (param i32) (result i32)
    (global.set $heap (i32.const 1024))
    (i32.const 320)))

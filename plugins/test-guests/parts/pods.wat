  ;; parts/pods.wat: the descriptor, which asks for all pods.
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\4d\00\00\00")
  (data (i32.const 512) "{\"version\":\"0.1.0\",\"subscriptions\":[{\"name\":\"v1/pods\",\"resource\":\"v1/pods\"}]}")

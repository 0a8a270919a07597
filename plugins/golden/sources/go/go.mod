module github.com/informant-dev/informant/plugins/golden

go 1.24

require github.com/informant-dev/informant/plugin-sdk/go v0.0.0

replace github.com/informant-dev/informant/plugin-sdk/go => ../../../../plugin-sdk/go

module github.com/informant-dev/informant/plugin-sdk/go

go 1.24

//go:build !wasip1

package informant

import "github.com/informant-dev/informant/plugin-sdk/go/internal/native"

func enabled(uint32) bool { return true }

func write(level uint32, message string, fields [][2]string) {
	native.Log(level, message, fields)
}

// Name is the plugin's, which is that of its file.
func Name() string { return native.Get().Name }

// IsLeader says whether this host is the one that acts.
func IsLeader() bool { return true }

//go:build !wasip1

package informant

import "github.com/informant-dev/informant/plugin-sdk/go/internal/native"

func enabled(uint32) bool { return true }

func write(level uint32, message string, fields [][2]string) {
	native.Log(level, message, fields)
}

// Name returns the plugin's name, which is that of its file.
func Name() string { return native.Get().Name }

// IsLeader returns whether this host leads.
func IsLeader() bool { return true }

// Shard returns the number of this instance, from 0, and the number of instances.
func Shard() (number, count int) { return native.Get().Shard[0], native.Get().Shard[1] }
